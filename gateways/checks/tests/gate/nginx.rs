//! Who passes the gate, who does not, and what the protected service gets to see.

use anteroom_testkit::{Answer, PATIENCE, until};
use bytes_of::chunked;
use http::Method;
use serde_json::{Value, json};

use crate::browser::{AtGate, COOKIE_NAME};
use crate::program::Program;
use crate::site::{Plan, Site};

const ROOM: &str = "/queues/concert?return_to=%2Fseats";

pub async fn get_post_and_options_pass_with_a_place(plan: impl Into<Plan<'static>>) {
    let site = Site::of(plan).await;
    let token = site.token().await;

    // The first pass claims.
    let answer = site.call(Method::GET, "/seats?row=1", &token).await;
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (200, "hello 1"));
    let place = site.call(Method::GET, "/v1/queues/concert/token", &token).await;
    assert_eq!(place.json()["status"], "active");
    assert_eq!(site.shop.last().path, "/seats?row=1");

    for method in [Method::POST, Method::PUT, Method::PATCH] {
        let body = vec![b'x'; 700_000];
        let request = site.client.request(method.clone(), format!("{}/orders", site.url));
        let request = request.header("x-anteroom-token", &token).body(body.clone());
        assert_eq!(request.send().await.expect("an answer").status(), 200);
        let arrival = site.shop.last();
        assert_eq!((arrival.method, arrival.path.as_str()), (method, "/orders"));
        assert!(arrival.body == body, "the body arrived changed: {} bytes", arrival.body.len());
    }

    let pieces = ["first,", "second,", "third"];
    let request = site.client.post(format!("{}/orders", site.url)).body(chunked(&pieces));
    let request = request.header("x-anteroom-token", &token);
    assert_eq!(request.send().await.expect("an answer").status(), 200);
    assert_eq!(site.shop.last().body, pieces.concat());

    for method in [Method::OPTIONS, Method::HEAD, Method::DELETE] {
        let answer = site.call(method.clone(), "/seats", &token).await;
        assert_eq!(answer.status, 200, "{method}");
        assert_eq!(site.shop.last().method, method);
    }
}

/// A body whose length is not known beforehand.
mod bytes_of {
    use std::convert::Infallible;

    use axum::body::Bytes;
    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    pub fn chunked(pieces: &[&'static str]) -> reqwest::Body {
        let frames =
            pieces.iter().map(|piece| Ok::<_, Infallible>(Frame::data(Bytes::from(*piece))));
        let frames: Vec<_> = frames.collect();
        reqwest::Body::wrap(StreamBody::new(stream::iter(frames)))
    }
}

pub async fn promise_06_without_a_place_no_visitor_passes(plan: impl Into<Plan<'static>>) {
    let site = Site::of(plan).await;
    let mut browser = site.browser();
    for method in [Method::GET, Method::HEAD] {
        let answer = browser.open(method, "/seats?row=1").await;
        assert_eq!(answer.leads(302), format!("{}{ROOM}", site.origin));
        assert!(answer.cookies().is_empty());
    }
    // An old browser asks for HTML and says no more; a script says that it is one.
    let old = site.client.get(format!("{}/seats", site.url)).header("accept", "text/html, */*");
    let answer = Answer::of(old).await;
    assert_eq!(answer.leads(302), format!("{}{ROOM}", site.origin));
    let script = browser.script(Method::GET, "/seats").header("accept", "text/html");
    browser.send(script).await.is_problem(401, "token_missing");

    for method in [Method::GET, Method::POST, Method::OPTIONS, Method::DELETE] {
        let answer = browser.fetch(method, "/seats").await;
        answer.is_problem(401, "token_missing");
        assert_eq!(answer.header("x-anteroom-room"), format!("{}{ROOM}", site.origin));
        assert!(answer.header("www-authenticate").starts_with("Bearer"));
    }
    // A form that is sent cannot be sent again after the wait.
    browser.submit("/seats", "row=1").await.is_problem(401, "token_missing");
    // What a browser might take for another site is not a place to come back to.
    let answer = browser.navigate("//evil.example/seats").await;
    let room = format!("{}/queues/concert", site.origin);
    // One that makes one slash of two before it asks.
    let merged = format!("{room}?return_to=%2Fevil.example%2Fseats");
    assert!([room, merged].contains(&answer.leads(302).to_owned()), "{answer:?}");
    assert!(site.shop.arrivals().is_empty());
}

pub async fn a_visitor_waits_and_passes_when_the_service_finishes_another(
    plan: impl Into<Plan<'static>>,
) {
    let site = Site::of(plan).await;
    let mut first = site.joined().await;
    assert_eq!(first.navigate("/seats").await.status, 200);
    let mut second = site.joined().await;
    assert_eq!(second.status().await, "waiting");

    let refused = second.fetch(Method::GET, "/seats").await;
    refused.is_problem(403, "not_admitted");
    assert!(refused.header("retry-after").parse::<u64>().expect("seconds") >= 1);
    assert_eq!(second.navigate("/seats").await.leads(302), format!("{}{ROOM}", site.origin));

    let arrivals = site.shop.arrivals();
    assert_eq!(arrivals.len(), 1);
    site.finish(arrivals[0].place()).await;
    assert_eq!(first.navigate("/seats").await.leads(302), format!("{}{ROOM}", site.origin));
    let second = tokio::sync::Mutex::new(second);
    until("the second is ready", PATIENCE, async || second.lock().await.status().await == "ready")
        .await;
    let mut second = second.into_inner();
    assert_eq!(second.navigate("/seats").await.status, 200);
    assert_eq!(second.status().await, "active");
    assert_eq!(site.shop.last().header("x-anteroom-visitor"), ["2"]);
}

const SPOOFED: [(&str, &str); 10] = [
    ("x-anteroom-visitor", "admin"),
    ("X-Anteroom-Visitor", "root"),
    ("x-anteroom-place", "someone-elses"),
    ("x-anteroom-expires-in", "999999"),
    ("x-anteroom-room", "https://evil.example"),
    ("x-anteroom-refusal", "none"),
    ("x_anteroom_visitor", "admin"),
    // PHP reads it as the same.
    ("x.anteroom.visitor", "admin"),
    ("x-forwarded-uri", "/evil"),
    ("x-forwarded-method", "OPTIONS"),
];

pub async fn the_service_sees_our_headers_and_never_a_client_s(plan: impl Into<Plan<'static>>) {
    let site = Site::with(Plan {
        queue: "capacity = 1\nsession_ttl = \"5m\"\npass_preflight = true",
        ..plan.into()
    })
    .await;
    let token = site.token().await;
    let spoof = |mut request: reqwest::RequestBuilder| {
        for (name, value) in SPOOFED {
            request = request.header(name, value);
        }
        request
    };

    let get = spoof(site.client.get(format!("{}/seats", site.url)));
    let get = get.header("x-anteroom-token", &token).header("cookie", "theme=dark");
    assert_eq!(get.send().await.expect("an answer").status(), 200);
    let arrival = site.shop.last();
    assert_eq!(arrival.header("x-anteroom-visitor"), ["1"]);
    let [expires_in] = arrival.header("x-anteroom-expires-in")[..] else { panic!("{arrival:?}") };
    assert!((290..=300).contains(&expires_in.parse().expect("seconds")), "{expires_in}");
    let place = arrival.place();
    assert_ne!(place, "someone-elses");
    // It is no token: it admits no visitor, alone or in the form of one.
    for token in [place, &format!("art1.{place}")] {
        site.call(Method::GET, "/seats", token).await.is_problem(401, "token_invalid");
    }
    for gone in [
        "x-anteroom-room",
        "x-anteroom-refusal",
        "x-anteroom-token",
        "x_anteroom_visitor",
        "x.anteroom.visitor",
    ] {
        assert!(arrival.header(gone).is_empty(), "{gone}: {arrival:?}");
    }
    assert_eq!(arrival.header("cookie"), ["theme=dark"]);
    let (scheme, _) = site.origin.split_once(':').expect("a scheme");
    assert_eq!(arrival.header("x-forwarded-proto"), [scheme]);

    // A visitor that passes without a place has no name; neither has one without a check.
    let preflight = site.client.request(Method::OPTIONS, format!("{}/seats", site.url));
    let preflight = spoof(preflight).header("origin", "https://app.example");
    let preflight = preflight.header("access-control-request-method", "POST");
    let public = spoof(site.client.get(format!("{}/public/logo", site.url)));
    for request in [preflight, public] {
        assert_eq!(request.send().await.expect("an answer").status(), 200);
        let arrival = site.shop.last();
        let ours = arrival.headers.keys().filter(|name| name.as_str().contains("anteroom"));
        assert_eq!(ours.count(), 0, "{arrival:?}");
    }

    // A client's own headers about its request change nothing.
    let post = spoof(site.client.post(format!("{}/seats", site.url)));
    let post = post.header("origin", "https://app.example");
    let post = post.header("access-control-request-method", "POST");
    let answer = Answer::of(post).await;
    answer.is_problem(401, "token_missing");
    assert_eq!(answer.header("x-anteroom-room"), format!("{}{ROOM}", site.origin));
}

pub async fn a_preflight_needs_a_place_unless_it_may_pass(program: Program) {
    let site = Site::of(program).await;
    let preflight = site.browser().script(Method::OPTIONS, "/seats");
    let preflight = preflight.header("access-control-request-method", "POST");
    let answer = Answer::of(preflight).await;
    answer.is_problem(401, "token_missing");
    assert!(site.shop.arrivals().is_empty());
}

pub async fn promise_6_a_forged_token_never_passes(program: Program) {
    let site = Site::with(Plan { program, queue: "capacity = 10", ..Plan::default() }).await;
    let token = site.token().await;
    let mut forged = vec!["art1.".to_owned(), "art1.AAAA".to_owned(), token[..40].to_owned()];
    for at in [6, 20, 40, token.len() - 2] {
        let other = if token.as_bytes()[at] == b'A' { 'B' } else { 'A' };
        forged.push(format!("{}{other}{}", &token[..at], &token[at + 1..]));
    }
    for token in &forged {
        site.call(Method::GET, "/seats", token).await.is_problem(401, "token_invalid");
        let bearer = site.client.get(format!("{}/seats", site.url)).bearer_auth(token);
        let answer = Answer::of(bearer).await;
        answer.is_problem(401, "token_invalid");

        // A dead cookie is taken away, or the browser would be refused for ever.
        let mut browser = site.browser();
        browser.set_cookie(COOKIE_NAME, token);
        let answer = browser.navigate("/seats").await;
        assert_eq!(answer.leads(302), format!("{}{ROOM}", site.origin));
        assert_eq!(browser.token(), None);
        browser.set_cookie(COOKIE_NAME, token);
        browser.fetch(Method::POST, "/seats").await.is_problem(401, "token_invalid");
        assert_eq!(browser.token(), None);
    }
    assert!(site.shop.arrivals().is_empty());
    // The protected service's own keys are none of ours.
    let bearer = site.client.get(format!("{}/seats", site.url)).bearer_auth("their-own-key");
    let bearer = bearer.header("cookie", format!("{COOKIE_NAME}={token}"));
    assert_eq!(bearer.send().await.expect("an answer").status(), 200);
    assert_eq!(site.shop.last().header("authorization"), ["Bearer their-own-key"]);
    assert!(!site.gateway.access_log().contains("art1."));
}

pub async fn admission_down_lets_no_visitor_pass(program: Program) {
    let mut site = Site::of(program).await;
    let mut browser = site.joined().await;
    assert_eq!(browser.navigate("/seats").await.status, 200);

    // It takes the question and never answers.
    site.processes().for_each(|process| process.freeze());
    let answer = browser.navigate("/seats").await;
    answer.is_problem(503, "gate_unavailable");
    assert_eq!(answer.header("retry-after"), "5");
    site.processes().for_each(|process| process.thaw());
    assert_eq!(browser.navigate("/seats").await.status, 200);
    assert_eq!(site.shop.arrivals().len(), 2);

    // It is gone.
    site.processes().for_each(|process| process.kill());
    for method in [Method::GET, Method::POST, Method::OPTIONS] {
        browser.fetch(method, "/seats").await.is_problem(503, "gate_unavailable");
    }
    browser.navigate("/seats").await.is_problem(503, "gate_unavailable");
    assert_eq!(site.shop.arrivals().len(), 2);
    // What needs no place needs no gate.
    assert_eq!(browser.navigate("/public/logo").await.status, 200);
}

pub async fn the_gate_s_own_call_is_not_for_visitors(program: Program) {
    let site = Site::of(program).await;
    if program == Program::Nginx {
        assert_eq!(site.call(Method::GET, "/_anteroom_gate", "").await.status, 404);
    }
    for path in ["/v1/queues/concert/authorize", "/v1/queues/concert/authorize?join=1"] {
        site.call(Method::GET, path, "").await.is_problem(401, "token_missing");
    }
    for path in ["/v1/admin/queues/concert", "/v1/queues/concert/places/1", "/openapi.json"] {
        site.call(Method::GET, path, "").await.is_problem(401, "token_missing");
    }
    for path in ["/v1/events/coupon", "/v1/events/coupon/applications/ann"] {
        site.call(Method::GET, path, "").await.is_problem(401, "token_missing");
    }
    let state = site.call(Method::GET, "/v1/queues/concert", "").await;
    assert_eq!((state.status.as_u16(), &state.json()["depth"]), (200, &0.into()));
}

/// What has become of an application is admission's to answer; its token is in no log.
pub async fn a_visitor_without_a_place_asks_for_an_application(program: Program) {
    let queue = "capacity = 1\n[events.coupon]\nstock = 1";
    let site = Site::with(Plan { program, queue, ..Plan::default() }).await;
    let event = format!("{}/v1/events/coupon", site.anteroom.url("service"));
    until("the event is created", PATIENCE, async || {
        site.client.get(&event).send().await.expect("an answer").status() == 200
    })
    .await;
    let apply = site.client.post(format!("{event}/applications"));
    let apply = apply.json(&json!({ "visitor_id": "ann" })).send().await.expect("an answer");
    assert_eq!(apply.status(), 202);
    let accepted: Value = apply.json().await.expect("JSON");
    let token = accepted["application_token"].as_str().expect("a token");
    let path = "/v1/events/coupon/application";
    let ask = site.client.get(format!("{}{path}", site.url));
    let ask = ask.header("x-anteroom-application", token);
    let status = Answer::of(ask).await;
    assert_eq!((status.status.as_u16(), &status.json()["status"]), (200, &"pending".into()));
    site.call(Method::GET, path, "").await.is_problem(401, "token_missing");
    let none = site.call(Method::GET, "/v1/events/none/application", "").await;
    none.is_problem(404, "unknown_event");
    if program != Program::Nginx {
        return;
    }
    until("they are logged", PATIENCE, async || {
        site.gateway.access_log().lines().filter(|line| line.contains(path)).count() == 2
    })
    .await;
    assert!(!site.gateway.access_log().contains(token));
}

pub async fn what_the_service_answers_stays_its_own_but_for_caches(program: Program) {
    let opt_out = program == Program::Nginx;
    let site =
        Site::with(Plan { program, queue: "capacity = 1", opt_out, ..Plan::default() }).await;
    let mut browser = site.joined().await;
    for status in [200, 201, 401, 403, 404, 500, 503] {
        let answer = browser.navigate(&format!("/answers/{status}")).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (status, "hello 1"));
        assert_eq!(answer.header("cache-control"), "private, no-store");
        for gone in ["expires", "surrogate-control", "cdn-cache-control"] {
            assert!(!answer.headers.contains_key(gone), "{gone}");
        }
        assert!(answer.header("set-cookie").starts_with("session="));
    }
    if opt_out {
        let asset = browser.navigate("/assets/logo").await;
        assert_eq!(asset.header("cache-control"), "public, max-age=600");
    }
}
