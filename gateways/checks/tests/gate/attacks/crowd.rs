//! Streams by the hundred, of one address or of many: the other visitors are served.

use std::net::IpAddr;

use anteroom_testkit::{PATIENCE, until};
use reqwest::{Client, Response, StatusCode};

use super::Attacked;
use crate::site::{Plan, Site};

/// A site whose places all may wait, behind an NGINX of few connections.
async fn narrow(more: &[(&'static str, &'static str)]) -> Site {
    let mut narrower = vec![("worker_connections 16000;", "worker_connections 512;")];
    narrower.extend(more);
    Site::with(Plan { queue: "capacity = 1", edits: &narrower, ..Plan::default() }).await
}

/// A client with an address of its own.
fn client(last: u8) -> Client {
    let address = IpAddr::from([127, 0, 0, last]);
    Client::builder().local_address(address).no_proxy().build().expect("a client")
}

impl Attacked<'_> {
    /// Opens two streams for each of so many places; returns those that opened. All others must
    /// have been sent to polling.
    async fn crowd(&self, client: &Client, places: usize) -> Vec<Response> {
        let mut open = Vec::new();
        for _ in 0..places {
            let place = self.join().await;
            for _ in 0..2 {
                match self.stream(client, &place.token).await {
                    Ok(response) if response.status() == 200 => open.push(response),
                    Ok(response) => assert_eq!(response.status(), StatusCode::NO_CONTENT),
                    Err(error) => panic!("after {} streams: {error}", open.len()),
                }
            }
        }
        open
    }

    async fn stream(&self, client: &Client, token: &str) -> reqwest::Result<Response> {
        let url = format!("http://{}/v1/queues/concert/token/events", self.address);
        client.get(url).header("x-anteroom-token", token).send().await
    }

    /// The status of a visit, from another address.
    async fn visit(&self, path: &str, token: &str) -> u16 {
        let request = client(9).get(format!("http://{}{path}", self.address));
        let answer = request.header("x-anteroom-token", token).send().await;
        answer.map_or(0, |answer| answer.status().as_u16())
    }
}

#[tokio::test]
async fn streams_of_one_address_shut_no_other_visitor_out() {
    let site = narrow(&[]).await;
    let gateway = Attacked::of(&site);
    let first = gateway.join().await;
    let open = gateway.crowd(&client(1), 150).await;
    for (path, token) in [("/seats", &*first.token), ("/public/logo", "")] {
        assert_eq!(gateway.visit(path, token).await, 200, "{path}, with {} streams", open.len());
    }
    assert_eq!(gateway.visit("/queues/concert", &first.token).await, 200);
    let other = gateway.stream(&client(2), &first.token).await.expect("an answer");
    assert_eq!(other.status(), 200, "another address has an allowance of its own");
    assert_eq!(open.len(), 100, "as the example says");
}

#[tokio::test]
async fn streams_of_many_addresses_shut_no_other_visitor_out() {
    let site =
        narrow(&[("limit_conn anteroom_streams 4000;", "limit_conn anteroom_streams 6;")]).await;
    let gateway = Attacked::of(&site);
    let first = gateway.join().await;
    let mut open = Vec::new();
    for last in 1..=5 {
        open.extend(gateway.crowd(&client(last), 1).await);
    }
    assert_eq!(open.len(), 6);
    assert_eq!(gateway.visit("/seats", &first.token).await, 200);
    drop(open);
    until("the room for streams is free", PATIENCE, async || {
        gateway.stream(&client(6), &first.token).await.is_ok_and(|answer| answer.status() == 200)
    })
    .await;
}

/// The sizes of the example go together: also where all streams are one worker's, half of its
/// connections are left for all others.
#[test]
fn the_example_has_connections_for_all_its_streams() {
    let number = |text: &str, before: &str| -> u64 {
        let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before:?}"));
        let (number, _) = rest.split_once(';').expect("an end");
        number.parse().unwrap_or_else(|_| panic!("{before:?} has no number"))
    };
    let server = include_str!("../../../../nginx/anteroom-server.conf");
    let whole = include_str!("../../../../nginx/nginx.conf");
    let streams = number(server, "limit_conn anteroom_streams ");
    let connections = number(whole, "worker_connections ");
    assert!(connections >= 4 * streams, "{connections} for {streams} streams");
    assert!(number(whole, "worker_rlimit_nofile ") >= connections + connections / 8);
    assert!(number(server, "limit_conn anteroom_streams_of_address ") <= streams / 20);
}
