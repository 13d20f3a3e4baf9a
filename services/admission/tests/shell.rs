//! What the shell does around any handler: bounds, panics, ids, and the gate's own form of refusal.

mod port_support;

use std::sync::Arc;

use anteroom_admission::http::shell::{Shell, ShellLayer};
use axum::Router;
use axum::routing::any;
use futures_util::FutureExt as _;
use port_support::{app, problem, request};
use tower::ServiceExt as _;

const WORK: &str = "/work";
const GATE: &str = "/v1/queues/{queue}/authorize";

/// A port whose routes answer, panic or hang, as the header `do` says.
fn port(more: &str) -> Router {
    async fn work(headers: http::HeaderMap) -> &'static str {
        match headers.get("do").and_then(|todo| todo.to_str().ok()) {
            Some("panic") => panic!("as told"),
            Some("hang") => std::future::pending().await,
            _ => {}
        }
        "done"
    }
    let app = app(more);
    let metrics = app.metrics.http([WORK, GATE].into_iter());
    Router::new()
        .route(WORK, any(work))
        .route(GATE, any(work))
        .layer(ShellLayer(Arc::new(Shell::new(app, true, metrics))))
}

#[tokio::test]
async fn a_panic_is_a_problem_and_the_next_request_is_served() {
    let port = port("");
    let response = port.clone().oneshot(request("GET", WORK, &[("do", "panic")])).await;
    let body = problem(response.expect("infallible")).await;
    assert_eq!((&body["status"], &body["code"]), (&500.into(), &"internal".into()));
    assert!(!body.to_string().contains("as told"), "the cause is for the log only");
    let response = port.oneshot(request("GET", WORK, &[])).await.expect("infallible");
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_ended() {
    let port = port("request_timeout = \"100ms\"");
    let response = port.clone().oneshot(request("GET", WORK, &[("do", "hang")])).await;
    assert_eq!(problem(response.expect("infallible")).await["code"], "request_timeout");
}

#[tokio::test]
async fn past_the_cap_the_answer_is_503_at_once_and_who_goes_away_frees_its_room() {
    let port = port("max_concurrent_requests = 1");
    let mut first = Box::pin(port.clone().oneshot(request("GET", WORK, &[("do", "hang")])));
    assert!(first.as_mut().now_or_never().is_none(), "it is under way");
    for _ in 0..3 {
        let crowded = port.clone().oneshot(request("GET", WORK, &[])).await.expect("infallible");
        let after: u64 =
            crowded.headers()["retry-after"].to_str().expect("text").parse().expect("seconds");
        assert!((1..=15).contains(&after), "{after}");
        let body = problem(crowded).await;
        assert_eq!((&body["status"], &body["code"]), (&503.into(), &"overloaded".into()));
    }
    drop(first);
    for _ in 0..3 {
        let served = port.clone().oneshot(request("GET", WORK, &[])).await.expect("infallible");
        assert_eq!(served.status(), 200);
    }
}

#[tokio::test]
async fn at_the_gate_even_a_fault_of_ours_is_403_with_our_headers() {
    let port = port("request_timeout = \"100ms\"");
    for todo in ["panic", "hang"] {
        let path = "/v1/queues/shop/authorize";
        let response = port.clone().oneshot(request("GET", path, &[("do", todo)])).await;
        let response = response.expect("infallible");
        assert_eq!(response.status(), 403, "{todo}");
        assert_eq!(response.headers()["x-anteroom-place"], "");
        problem(response).await;
    }
}

#[tokio::test]
async fn every_answer_has_an_id_and_a_sane_one_is_kept() {
    let port = port("");
    let answer = async |id: &str| {
        let response = port.clone().oneshot(request("GET", WORK, &[("x-request-id", id)])).await;
        response.expect("infallible").headers()["x-request-id"].clone()
    };
    assert_eq!(answer("an-id.of_mine-1").await, "an-id.of_mine-1");
    assert_ne!(answer("not {sane}").await, "not {sane}");
}
