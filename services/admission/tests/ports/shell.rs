//! What the shell does around any handler: bounds, panics, ids, and the gate's own form of refusal.

use std::future::{Pending, pending};
use std::sync::Arc;

use anteroom_admission::{
    Handled, PortService, RouteInfo, Shell, hot::PUBLIC, port as ports, whole_body,
};
use anteroom_authorize::Problem;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use axum::routing::any;
use futures_util::FutureExt as _;
use futures_util::stream;
use utoipa_axum::router::OpenApiRouter;

use crate::support::{app, ask, problem, request};

const WORK: &str = "/work";
const GATE: &str = "/v1/queues/{queue}/authorize/{*path}";
const AT_GATE: &str = "/v1/queues/shop/authorize/a";

/// A port whose routes answer, panic, hang or read the body, as the header `do` says.
fn port(more: &str) -> PortService {
    let app = app(more);
    let state = app.clone();
    let work = async move |request: Request| -> Result<&'static str, Problem> {
        let (parts, body) = request.into_parts();
        match parts.headers.get("do").and_then(|todo| todo.to_str().ok()) {
            Some("panic") => panic!("on purpose"),
            Some("hang") => pending().await,
            Some("read") => drop(whole_body(&parts.headers, body, &state).await?),
            _ => {}
        }
        Ok("done")
    };
    let routes = OpenApiRouter::new().route(WORK, any(work.clone())).route(GATE, any(work));
    // Of the calls that go around the router, the gate's.
    ports(&app, true, routes, &PUBLIC[..1])
}

#[tokio::test]
async fn a_panic_is_a_problem_and_the_next_request_is_served() {
    let port = port("");
    let body = problem(ask(&port, request("GET", WORK, &[("do", "panic")])).await).await;
    assert_eq!((&body["status"], &body["code"]), (&500.into(), &"internal".into()));
    assert!(!body.to_string().contains("on purpose"), "the cause is for the log only");
    assert_eq!(ask(&port, request("GET", WORK, &[])).await.status(), 200);
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_ended() {
    let port = port("request_timeout = \"100ms\"");
    let response = ask(&port, request("GET", WORK, &[("do", "hang")])).await;
    assert_eq!(problem(response).await["code"], "request_timeout");
}

#[tokio::test]
async fn past_the_cap_the_answer_is_503_at_once_and_who_goes_away_frees_its_room() {
    let port = port("max_concurrent_requests = 1");
    let mut first = Box::pin(ask(&port, request("GET", WORK, &[("do", "hang")])));
    assert!(first.as_mut().now_or_never().is_none(), "it is under way");
    for path in [WORK, "/v1/queues/shop/token", "/v1/queues/none/token"] {
        let crowded = ask(&port, request("GET", path, &[])).await;
        let after: u64 =
            crowded.headers()["retry-after"].to_str().expect("text").parse().expect("seconds");
        assert!((1..=15).contains(&after), "{after}");
        let body = problem(crowded).await;
        assert_eq!((&body["status"], &body["code"]), (&503.into(), &"overloaded".into()));
    }
    for path in [AT_GATE, "/v1/queues/shop/authorize"] {
        let crowded = ask(&port, request("GET", path, &[])).await;
        assert_eq!(crowded.headers()["x-anteroom-room"], "https://shop.example/queues/shop");
        let body = problem(crowded).await;
        assert_eq!((&body["status"], &body["code"]), (&403.into(), &"overloaded".into()));
    }
    drop(first);
    for _ in 0..3 {
        assert_eq!(ask(&port, request("GET", WORK, &[])).await.status(), 200);
    }
}

#[tokio::test]
async fn at_the_gate_even_a_fault_of_ours_is_403_with_our_headers() {
    let port = port("request_timeout = \"100ms\"");
    for (todo, code) in [("panic", "internal"), ("hang", "request_timeout")] {
        let response = ask(&port, request("GET", AT_GATE, &[("do", todo)])).await;
        is_gate_refusal(response, code).await;
    }
}

async fn is_gate_refusal(response: Response, code: &str) {
    assert_eq!(response.status(), 403, "{code}");
    assert_eq!(response.headers()["x-anteroom-place"], "");
    assert_eq!(response.headers()["x-anteroom-refusal"], code);
    assert_eq!(problem(response).await["code"], code);
}

/// A handler that has its answer at once is as safe as one that makes it.
#[tokio::test]
async fn a_panic_before_anything_is_awaited_is_the_same() {
    let app = app("request_timeout = \"100ms\"");
    let routes = [(WORK, RouteInfo::default()), (GATE, RouteInfo::GATE)];
    let metrics = app.metrics.http("public", routes.into_iter());
    let shell = Arc::new(Shell::new(app, true, metrics));
    let panics = |_: Request| -> Handled<Pending<Response>> { panic!("on purpose") };
    let hangs = |_: Request| Handled::Pending(pending());
    let (gate, work) = (shell.route(Some(GATE)), shell.route(Some(WORK)));
    is_gate_refusal(
        shell.answer(&gate, false, request("GET", AT_GATE, &[]), panics).await,
        "internal",
    )
    .await;
    let hung = shell.answer(&gate, false, request("GET", AT_GATE, &[]), hangs).await;
    is_gate_refusal(hung, "request_timeout").await;
    let response = shell.answer(&work, false, request("GET", WORK, &[]), panics).await;
    assert_eq!(problem(response).await["code"], "internal");
    assert_eq!(shell.in_flight.count(), 0);
}

/// A client that sends its body late, or breaks off, gets an error for it, on every route; and that
/// is no failure of ours, also where the body takes as long as the whole request may.
#[tokio::test(start_paused = true)]
async fn a_slow_body_is_the_clients_own_fault() {
    let app = app("request_timeout = \"1s\"");
    let (public, operations) = (anteroom_admission::public(&app), app.operations.clone());
    let slow = || stream::pending::<Result<Bytes, std::io::Error>>();
    let broken =
        || stream::iter([Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("gone"))]);
    let post = |path: &str, kind: &str, body: Body| {
        let request = Request::post(path).header("host", "shop.example");
        request.header("content-type", kind).body(body).expect("a request")
    };
    for (path, kind) in [
        ("/v1/queues/shop/tokens", "application/json"),
        ("/queues/shop", "application/x-www-form-urlencoded"),
    ] {
        let late = ask(&public, post(path, kind, Body::from_stream(slow()))).await;
        let body = problem(late).await;
        assert_eq!((&body["status"], &body["code"]), (&408.into(), &"body_timeout".into()));
        let cut = ask(&public, post(path, kind, Body::from_stream(broken()))).await;
        assert_eq!(problem(cut).await["code"], "invalid_body", "{path}");
    }
    assert_eq!(operations.success_ratio(), 1.0);
    let port = port("request_timeout = \"1s\"");
    let mut late = post(WORK, "text/plain", Body::from_stream(slow()));
    late.headers_mut().insert("do", http::HeaderValue::from_static("read"));
    assert_eq!(problem(ask(&port, late).await).await["code"], "body_timeout");
}

#[tokio::test]
async fn every_answer_has_an_id_and_a_sane_one_is_kept() {
    let port = port("");
    let answer = async |id: &str| {
        let response = ask(&port, request("GET", WORK, &[("x-request-id", id)])).await;
        response.headers()["x-request-id"].clone()
    };
    assert_eq!(answer("an-id.of_mine-1").await, "an-id.of_mine-1");
    assert_ne!(answer("not {sane}").await, "not {sane}");
}
