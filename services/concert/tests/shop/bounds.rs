//! What is no call, or too much of one.

use anteroom_testkit::PATIENCE;
use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{Answer, Concert};

#[tokio::test]
async fn addresses_methods_and_bodies_are_checked() {
    let concert = Concert::start(&["--think", "0s"]).await;
    for path in ["/none", "/api", "/api/", "/shows/1", "/api/readyz", "/shows/1/seats/1"] {
        concert.get(path).await.refuses(404, "not_found");
    }
    for (method, path, allow) in [
        (Method::DELETE, "/api/shows", "GET, HEAD"),
        (Method::POST, "/", "GET, HEAD"),
        (Method::GET, "/api/shows/1/seats/1/reservation", "POST"),
        (Method::PUT, "/api/reservations/x/payment", "POST"),
    ] {
        let answer = Answer::of(concert.call(method, path)).await;
        assert_eq!(answer.refuses(405, "method_not_allowed").header("allow"), allow);
    }
    let reserve = "/api/shows/1/seats/1/reservation";
    let large = concert.call(Method::POST, reserve).body("x".repeat((16 << 10) + 1));
    Answer::of(large).await.refuses(413, "body_too_large");
    assert_eq!(concert.state(1).await, "free");
    let small = concert.call(Method::POST, reserve).body("{}");
    Answer::of(small).await.is(201);
    let head = Answer::of(concert.call(Method::HEAD, "/api/shows")).await;
    assert_eq!((head.status.as_u16(), &*head.text), (200, ""));
}

#[tokio::test]
async fn a_body_that_does_not_come_and_a_head_that_is_too_long_are_refused() {
    let concert = Concert::start(&["--think", "0s"]).await;
    let address = concert.url.trim_start_matches("http://");
    let ask = async |text: String| {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(text.as_bytes()).await.expect("sent");
        let mut answer = vec![0; 1024];
        let read = timeout(PATIENCE, stream.read(&mut answer)).await.expect("in time");
        String::from_utf8_lossy(&answer[..read.expect("an answer")]).into_owned()
    };
    let begin = "POST /api/shows/1/seats/1/reservation HTTP/1.1\r\nhost: a\r\n";
    let slow = ask(format!("{begin}content-length: 9\r\n\r\nx")).await;
    assert!(slow.starts_with("HTTP/1.1 408 "), "{slow}");
    let long = ask(format!("{begin}x: {}\r\n\r\n", "x".repeat(64 << 10))).await;
    assert!(long.starts_with("HTTP/1.1 431 "), "{long}");
    assert_eq!(concert.state(1).await, "free");
}
