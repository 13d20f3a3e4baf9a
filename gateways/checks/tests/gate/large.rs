//! Requests with many headers, and with a large body.

use http::Method;

use crate::browser::AtGate as _;
use crate::program::Program;
use crate::site::Site;

/// Beside those that each client sends.
const HEADERS: usize = 100;
const BODY: usize = 10 << 20;

pub async fn a_request_with_100_headers_passes(program: Program) {
    let site = Site::of(program).await;
    let (passes, waits) = (site.token().await, site.token().await);
    for (token, status) in [("", 401), (&*waits, 403), (&*passes, 200)] {
        let mut ask = site.client.get(format!("{}/seats", site.url));
        for number in 0..HEADERS {
            ask = ask.header(format!("x-shop-{number}"), number);
        }
        if !token.is_empty() {
            ask = ask.header("x-anteroom-token", token);
        }
        let answer = ask.header("x-anteroom-visitor", "admin").send().await.expect("an answer");
        assert_eq!(answer.status(), status);
        assert_eq!(site.shop.arrivals().is_empty(), status != 200);
    }
    let arrival = site.shop.last();
    for number in 0..HEADERS {
        assert_eq!(arrival.header(&format!("x-shop-{number}")), [number.to_string()]);
    }
    assert_eq!(arrival.header("x-anteroom-visitor"), ["1"]);
    assert_eq!(arrival.header("x-anteroom-visitor-kind"), ["anonymous"]);
    assert!(arrival.place().len() > 20);
    assert!(arrival.header("x-anteroom-token").is_empty());
}

pub async fn an_upload_of_10_mb_passes_whole(program: Program) {
    let site = Site::of(program).await;
    let (passes, waits) = (site.token().await, site.token().await);
    let body: Vec<u8> = (0..BODY).map(|at| u8::try_from(at % 251).expect("a byte")).collect();
    let upload = async |token: &str| {
        let ask = site.client.request(Method::PUT, format!("{}/files/1", site.url));
        ask.header("x-anteroom-token", token).body(body.clone()).send().await
    };
    for (token, status) in [("art1.none", 401), (&waits, 403)] {
        // A gateway that refuses before it has all of the body may close the connection.
        if let Ok(answer) = upload(token).await {
            assert_eq!(answer.status(), status);
        }
        assert!(site.shop.arrivals().is_empty(), "it arrived with the token {token:?}");
    }
    assert_eq!(upload(&passes).await.expect("an answer").status(), 200);
    let arrival = site.shop.last();
    assert_eq!(arrival.header("x-anteroom-visitor"), ["1"]);
    assert!(arrival.body == body, "the body arrived changed: {} bytes", arrival.body.len());
    // A client that is refused gets its answer on the next connection as ever.
    site.call(Method::GET, "/seats", "").await.is_problem(401, "token_missing");
}
