//! Cross-site request forgery: which pages may start a changing call.

use anteroom_testkit::{Anteroom, PATIENT};
use reqwest::Method;

use crate::support::{Answer, Concert, Reserved as _, client};

const SHOP: &str = "https://shop.example";
const START: [&str; 4] = ["--think", "0s", "--public-url", SHOP];

/// What no page of the shop sends.
const OTHERS: [&[(&str, &str)]; 11] = [
    &[("sec-fetch-site", "cross-site"), ("origin", "https://other.example")],
    &[("sec-fetch-site", "same-site"), ("origin", "https://blog.shop.example")],
    &[("sec-fetch-site", "cross-site"), ("origin", SHOP)],
    &[("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "none"), ("origin", "https://other.example")],
    &[("sec-fetch-site", "Same-Origin")],
    &[("origin", "https://other.example")],
    &[("origin", "null")],
    &[("origin", "http://shop.example")],
    &[("origin", SHOP), ("origin", "https://other.example")],
    &[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
];

async fn post(concert: &Concert, path: &str, headers: &[(&str, &str)]) -> Answer {
    let call = concert.call(Method::POST, path);
    Answer::of(headers.iter().fold(call, |call, (name, value)| call.header(*name, *value))).await
}

#[tokio::test]
async fn pages_of_other_origins_change_nothing() {
    let concert = Concert::start(&START).await;
    let id = concert.reserve(1).await.is(201).reservation();
    for headers in OTHERS {
        for path in [
            "/api/shows/1/seats/2/reservation",
            "/shows/1/seats/2/reservation",
            &format!("/api/reservations/{id}/payment"),
            "/api/finish",
        ] {
            let answer = post(&concert, path, headers).await;
            let problem = answer.refuses(403, "origin_refused").json();
            let detail = problem["detail"].as_str().unwrap_or_default();
            assert!(detail.contains(SHOP) && detail.contains("--public-url"), "{problem}");
        }
    }
    assert_eq!(
        (concert.state(1).await, concert.state(2).await),
        ("reserved".into(), "free".into())
    );
    // The visitor reads the refusal as a page.
    let press = concert.call(Method::POST, "/finish").header("accept", "text/html");
    let page = Answer::of(press.header("sec-fetch-site", "cross-site")).await;
    assert!(page.is(403).text.contains("A page of another site started"), "{page:?}");
}

#[tokio::test]
async fn its_own_pages_and_programs_change_and_any_page_may_link_to_it() {
    let concert = Concert::start(&START).await;
    for (seat, headers) in [
        &[][..],
        &[("sec-fetch-site", "none")],
        &[("sec-fetch-site", "same-origin")],
        &[("sec-fetch-site", "same-origin"), ("origin", SHOP)],
        &[("origin", SHOP)],
    ]
    .iter()
    .enumerate()
    {
        let path = format!("/api/shows/1/seats/{}/reservation", seat + 1);
        post(&concert, &path, headers).await.is(201);
    }
    let linked = concert.call(Method::GET, "/").header("sec-fetch-site", "cross-site");
    Answer::of(linked).await.is(200);
}

#[tokio::test]
async fn a_page_of_another_site_ends_no_visit() {
    let anteroom = Anteroom::start("[queues.concert]\ncapacity = 1\n", &PATIENT).await;
    anteroom.admission.until_ready().await;
    let (public, service) = (anteroom.url("public"), anteroom.url("service"));
    let ask = ["--gate", "ask", "--anteroom", &public, "--anteroom-service", &service];
    let concert = Concert::start(&[&ask[..], &["--think", "0s"]].concat()).await;
    let token = anteroom.admission.join("concert").await;
    // A browser sends the cookie, whichever page it is on.
    let cookie = format!("__Host-anteroom_concert={token}");
    let finish = async |site: &'static str| {
        post(&concert, "/finish", &[("cookie", &cookie), ("sec-fetch-site", site)]).await
    };
    let status = async || {
        let url = format!("{public}/v1/queues/concert/token");
        Answer::of(client().get(url).header("x-anteroom-token", &token)).await.status.as_u16()
    };
    finish("cross-site").await.is(403);
    assert_eq!(status().await, 200, "the place is kept");
    finish("same-origin").await.is(200);
    assert_eq!(status().await, 410, "the place has ended");
}
