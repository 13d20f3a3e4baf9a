//! The place as a stream of events, through NGINX as the example has it.

use std::time::Duration;

use anteroom_testkit::{PATIENCE, until};
use http::Method;
use reqwest::Response;
use serde_json::Value;

use crate::browser::Browser;
use crate::program::Program;
use crate::site::{Plan, Site};

const EVENTS: &str = "/v1/queues/concert/token/events";

/// An open stream.
struct Events {
    response: Response,
    text: String,
}

impl Events {
    async fn open(browser: &Browser) -> Self {
        let request = browser.script(Method::GET, EVENTS).header("accept", "text/event-stream");
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        Self { response, text: String::new() }
    }

    /// The next event with a name, and its data; `None` at the end of the stream.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                let found = field("event: ").zip(field("data: ")).map(|(name, data)| {
                    (name.to_owned(), serde_json::from_str(data).expect("JSON"))
                });
                self.text = rest.to_owned();
                if found.is_some() {
                    return found;
                }
                continue;
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk()).await;
            let chunk = chunk.expect("something comes in time").expect("the stream is whole")?;
            self.text.push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        }
    }

    /// Waits for the place in this status; whatever comes before must be a place too.
    async fn status(&mut self, status: &str) -> Value {
        loop {
            let (name, data) = self.next().await.expect("the stream goes on");
            assert_eq!(name, "place");
            if data["status"] == status {
                return data;
            }
        }
    }

    /// Waits for the last event, and the end after it.
    async fn last(mut self) -> (String, Value) {
        loop {
            let event = self.next().await.expect("a last event");
            if event.0 != "place" {
                assert_eq!(self.next().await, None);
                return event;
            }
        }
    }
}

pub async fn the_place_comes_as_it_changes(program: Program) {
    let site = Site::of(program).await;
    let mut first = site.joined().await;
    assert_eq!(first.navigate("/seats").await.status, 200);
    let mut second = site.joined().await;
    let mut events = Events::open(&second).await;

    let place = events.status("waiting").await;
    assert_eq!((&place["ticket"], &place["position"]), (&2.into(), &1.into()));
    assert!(place.get("token").is_none());
    first.fetch(Method::DELETE, "/v1/queues/concert/token").await;
    let place = events.status("ready").await;
    assert!(place["expires_in_ms"].as_u64().expect("a time") > 0);
    // Listening never claims.
    assert_eq!(second.status().await, "ready");
    assert_eq!(second.fetch(Method::POST, "/v1/queues/concert/token/claim").await.status, 200);
    events.status("active").await;

    site.finish(&{
        second.navigate("/seats").await;
        site.shop.last().place().to_owned()
    })
    .await;
    let (name, data) = events.last().await;
    assert_eq!((name.as_str(), &data["reason"]), ("gone", &"completed".into()));
}

#[tokio::test]
async fn a_stream_of_a_place_that_leaves_ends() {
    let site = Site::start().await;
    let _holder = site.joined().await;
    let mut browser = site.joined().await;
    let mut events = Events::open(&browser).await;
    events.status("waiting").await;
    assert_eq!(browser.fetch(Method::DELETE, "/v1/queues/concert/token").await.status, 204);
    let (name, data) = events.last().await;
    assert_eq!((name.as_str(), &data["reason"]), ("gone", &"left".into()));
}

#[tokio::test]
async fn a_place_has_two_streams_and_a_third_ends_the_oldest() {
    let site = Site::start().await;
    let browser = site.joined().await;
    let other = site.joined().await;
    let mut others = Events::open(&other).await;
    let mut oldest = Events::open(&browser).await;
    let mut older = Events::open(&browser).await;
    oldest.status("ready").await;
    older.status("ready").await;
    let mut newest = Events::open(&browser).await;
    assert_eq!(oldest.last().await.0, "replaced");
    for events in [&mut older, &mut newest] {
        events.status("ready").await;
    }
    // Each goes on, with more than what it began with.
    for events in [&mut older, &mut newest] {
        events.status("ready").await;
    }
    others.status("waiting").await;
}

#[tokio::test]
async fn past_sse_max_the_answer_is_204_until_a_stream_ends() {
    let env = [("ANTEROOM_ADMISSION__SSE_MAX", "1")];
    let site = Site::with(Plan { queue: "capacity = 1", env: &env, ..Plan::default() }).await;
    let browser = site.joined().await;
    let other = site.joined().await;
    let mut events = Events::open(&browser).await;
    events.status("ready").await;
    let status = async || {
        let answer = other.script(Method::GET, EVENTS).send().await.expect("an answer");
        answer.status().as_u16()
    };
    assert_eq!(status().await, 204);
    assert_eq!(status().await, 204);
    // The visitor has closed: NGINX closes towards admission, and the room in the count is free.
    drop(events);
    until("the stream is counted out", PATIENCE, async || status().await == 200).await;
}

#[tokio::test]
async fn a_stream_needs_a_place() {
    let site = Site::start().await;
    assert_eq!(site.call(Method::GET, EVENTS, "").await.status, 401);
    assert_eq!(site.call(Method::GET, EVENTS, "art1.AAAA").await.status, 401);
    let mut browser = site.joined().await;
    let token = browser.token().expect("a cookie").to_owned();
    browser.fetch(Method::DELETE, "/v1/queues/concert/token").await;
    assert_eq!(site.call(Method::GET, EVENTS, &token).await.status, 410);
}

/// Something comes at least every 15 s (admission's own tests); the example waits longer than that.
#[test]
fn the_example_waits_longer_than_the_pause_between_events() {
    let example = include_str!("../../../nginx/anteroom-server.conf");
    let (_, events) = example.split_once("/token/events)$ {").expect("a location for the stream");
    let (events, _) = events.split_once("\n}").expect("its end");
    assert!(events.contains("proxy_buffering off;"));
    let (_, timeout) = events.split_once("proxy_read_timeout ").expect("a time-out");
    let seconds = timeout.split_once("s;").expect("seconds").0.parse().expect("a number");
    assert!(Duration::from_secs(seconds) >= Duration::from_secs(30));
}
