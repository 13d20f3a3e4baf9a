//! A browser joins through the gate: by the page's call, and at the gate itself (`?join=1`).

use anteroom_testkit::Answer;
use std::net::{IpAddr, Ipv4Addr};

use http::Method;
use reqwest::Client;

use crate::browser::{AtGate, COOKIE_NAME};
use crate::program::Program;
use crate::site::{Plan, Site};

/// The queue's cookie as an answer sets it.
fn place_cookie(answer: &Answer) -> String {
    let cookies = answer.cookies();
    let [cookie] = cookies.iter().filter(|c| c.starts_with(COOKIE_NAME)).collect::<Vec<_>>()[..]
    else {
        panic!("one cookie of ours: {answer:?}")
    };
    (*cookie).to_owned()
}

pub async fn a_browser_joins_on_the_protected_host_and_its_cookie_passes_there(program: Program) {
    let site = Site::of(program).await;
    let mut browser = site.browser();
    let joined = browser.join().await;
    assert_eq!(joined.status, 201);
    assert_eq!(joined.header("cache-control"), "no-store");
    assert!(joined.json().get("token").is_none(), "a script could read it: {joined:?}");
    let cookie = place_cookie(&joined);
    for attribute in ["Secure", "HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(cookie.split("; ").any(|part| part == attribute), "{attribute}: {cookie}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
    assert_eq!(browser.navigate("/seats").await.text, "hello 1");

    // The same place again, from another tab or after a reload.
    let again = browser.join().await;
    assert_eq!((again.status.as_u16(), &again.json()["ticket"]), (200, &1.into()));

    // Another site's page sends the cookie along, and changes nothing.
    let request = browser.misled(Method::DELETE, "/v1/queues/concert/token");
    browser.send(request).await.is_problem(403, "origin_refused");
    assert_eq!(browser.status().await, "active");

    assert_eq!(browser.fetch(Method::DELETE, "/v1/queues/concert/token").await.status, 204);
    assert_eq!(browser.token(), None);
}

pub async fn the_last_position_of_a_client_reaches_anteroom(program: Program) {
    let plan = Plan { program, queue: "capacity = 1", ..Plan::default() };
    let site = Site::with(plan).await;
    let mut token = String::new();
    for _ in 0..4 {
        token = site.token().await;
    }
    let poll = async |position: Option<&str>| {
        let poll = site.client.get(format!("{}/v1/queues/concert/token", site.url));
        let poll = poll.header("x-anteroom-token", &token);
        let poll = position.iter().fold(poll, |poll, it| poll.header("x-anteroom-position", *it));
        Answer::of(poll).await.json()["position"].clone()
    };
    assert_eq!(poll(None).await, 3);
    assert_eq!(poll(Some("2")).await, 2);
    assert_eq!(poll(Some("9")).await, 3);
}

pub async fn a_navigation_joins_at_the_gate_when_it_may(program: Program) {
    let plan = Plan { program, queue: "capacity = 1", join_at_gate: true, ..Plan::default() };
    let site = Site::with(plan).await;
    let room = format!("{}/queues/concert?return_to=%2Fseats", site.url);

    // On a quiet day the room is invisible.
    let mut first = site.browser();
    let answer = first.navigate("/seats").await;
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (200, "hello 1"));
    place_cookie(&answer);
    assert!(answer.cookies().iter().any(|cookie| cookie.starts_with("session=")), "{answer:?}");
    assert_eq!(answer.header("cache-control"), "private, no-store");
    let answer = first.navigate("/seats").await;
    assert_eq!(answer.text, "hello 1");
    assert!(answer.cookies().iter().all(|cookie| !cookie.starts_with(COOKIE_NAME)));

    // The next one has a place in line, and the proof of it.
    let mut second = site.browser();
    let answer = second.navigate("/seats").await;
    assert_eq!(answer.leads(302), room);
    place_cookie(&answer);
    assert_eq!(second.status().await, "waiting");
    assert_eq!(second.navigate("/seats").await.leads(302), room);
    second.fetch(Method::GET, "/seats").await.is_problem(403, "not_admitted");

    // A script or an API client joins where it means to.
    site.browser().fetch(Method::GET, "/seats").await.is_problem(401, "token_missing");
    site.call(Method::POST, "/seats", "").await.is_problem(401, "token_missing");
    let state = site.call(Method::GET, "/v1/queues/concert", "").await;
    assert_eq!(state.status, 200);
    let third = site.joined().await.join().await;
    assert_eq!(third.json()["ticket"], 3, "two have joined before");
}

pub async fn joins_are_counted_by_the_visitor_s_address_and_not_by_the_gate_s(program: Program) {
    let env = [
        ("ANTEROOM_ADMISSION__TRUSTED_PROXIES", "127.0.0.1"),
        ("ANTEROOM_QUEUES__CONCERT__JOINS_PER_ADDRESS", "2/1h"),
    ];
    let site =
        Site::with(Plan { program, queue: "capacity = 1", env: &env, ..Plan::default() }).await;
    for last in [2, 3] {
        let client = Client::builder().local_address(IpAddr::from([127, 0, 0, last]));
        let client = client.no_proxy().build().expect("a client");
        let mut statuses = Vec::new();
        for number in 0..3 {
            let join = client.post(format!("{}/v1/queues/concert/tokens", site.url));
            // What a client says of its address is not believed.
            let join =
                join.header("x-forwarded-for", Ipv4Addr::new(203, 0, 113, number).to_string());
            statuses.push(join.send().await.expect("an answer").status().as_u16());
        }
        assert_eq!(statuses, [201, 201, 429], "127.0.0.{last}");
    }
}
