//! A gateway has called the gate: what it says in its headers counts.

use anteroom_testkit::{Anteroom, PATIENT};
use reqwest::Method;

use crate::support::{Answer, Concert, Reserved as _, client};

const QUEUE: &str = "[queues.concert]\ncapacity = 1\n";

#[tokio::test]
async fn the_gateway_s_word_names_the_visit_and_a_reservation_ends_it() {
    let anteroom = Anteroom::start(QUEUE, &PATIENT).await;
    anteroom.admission.until_ready().await;
    let service = anteroom.url("service");
    let arguments = ["--gate", "headers", "--anteroom-service", &service, "--think", "0s"];
    let concert = Concert::start(&arguments).await;
    let token = anteroom.admission.join("concert").await;
    let room = async |path: &str| {
        let url = format!("{}/v1/queues/concert/{path}", anteroom.url("public"));
        Answer::of(client().get(url).header("x-anteroom-token", &token)).await
    };
    let passed = room("authorize").await;
    let call = |method: Method, path: &str| {
        let call = concert.call(method, path);
        ["x-anteroom-place", "x-anteroom-visitor", "x-anteroom-expires-in"]
            .iter()
            .fold(call, |call, name| call.header(*name, passed.is(200).header(name)))
    };
    let page = Answer::of(call(Method::GET, "/")).await;
    assert!(page.is(200).text.contains("Your visit ends in <time"), "{page:?}");
    let reserve = |seat: u8| format!("/api/shows/1/seats/{seat}/reservation");
    let first = Answer::of(call(Method::POST, &reserve(1))).await.is(201).reservation();
    assert_eq!(room("token").await.is(410).json()["reason"], "completed");
    // A request that was sent again has the same answer; another seat is for another visit.
    let again = Answer::of(call(Method::POST, &reserve(1))).await.is(201).reservation();
    assert_eq!(first, again);
    Answer::of(call(Method::POST, &reserve(2))).await.refuses(409, "already_reserved");
}

#[tokio::test]
async fn blank_headers_are_a_visit_without_a_place() {
    let concert = Concert::start(&["--gate", "headers", "--think", "0s"]).await;
    for seat in 1..=2 {
        let path = format!("/api/shows/1/seats/{seat}/reservation");
        let call = concert.call(Method::POST, &path).header("x-anteroom-place", "");
        Answer::of(call).await.is(201);
    }
}
