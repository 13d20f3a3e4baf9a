//! What visitors, gateways and browsers call.

use reqwest::Method;
use serde_json::json;

use super::{Asker, GATE, IDENTITY, QUEUE, SHOP, TOKEN, TOKENS, methods, start, well_formed};
use crate::{
    answer::Answer,
    joining::vouched,
    room::{Call, Room},
    schema::{Book, METHODS},
};

#[tokio::test]
async fn the_public_port_answers_as_documented() {
    let room = start().await;
    let asker = Asker { book: Book::of(&room, "public").await, room: &room, port: "public" };
    let plain = |call: Call| call;

    let first = asker.tell("POST", TOKENS, json!({}), plain).await;
    let first = first.is(201).token();
    asker.tell("POST", TOKENS, json!({}), |call| call.token(&first)).await.is(200);
    let assertion = json!({ "assertion": vouched(IDENTITY, "concert", "ana", 60) });
    let second = asker.tell("POST", TOKENS, assertion, plain).await.is(201).token();
    asker.tell("POST", TOKENS, json!({}), Call::browser).await.is(201);
    let join_refused = async |change: fn(Call) -> Call, status| {
        asker.ask("POST", TOKENS, &[], change).await.is(status);
    };
    join_refused(|call| call.header("idempotency-key", "short"), 400).await;
    join_refused(|call| call.json(json!({ "x": 1 })), 400).await;
    join_refused(|call| call.token("forged"), 401).await;
    join_refused(|call| call.json(json!({ "assertion": "forged" })), 401).await;
    join_refused(|call| call.header("sec-fetch-site", "cross-site"), 403).await;
    join_refused(|call| call.body("application/json", vec![b' '; 20_000]), 413).await;
    join_refused(|call| call.body("text/plain", "{}"), 415).await;
    for (queue, status) in [("later", 503), ("few", 201), ("few", 429), ("none", 404)] {
        asker.ask("POST", TOKENS, &[("{queue}", queue)], plain).await.is(status);
    }

    for (queue, status) in [("concert", 200), ("later", 200), ("none", 404)] {
        asker.ask("GET", QUEUE, &[("{queue}", queue)], plain).await.is(status);
        asker.ask("GET", "/queues/{queue}", &[("{queue}", queue)], plain).await.is(status);
    }
    asker.ask("POST", "/queues/{queue}", &[], Call::browser).await.is(303);
    asker.ask("POST", "/queues/{queue}", &[("{queue}", "later")], Call::browser).await.is(503);
    let foreign = |call: Call| call.header("sec-fetch-site", "cross-site");
    asker.ask("POST", "/queues/{queue}", &[], foreign).await.is(403);

    holders(&asker, &first, &second).await;
    streams(&room, &asker.book, &second).await;
    gates(&asker, &first).await;
    asker.ask("DELETE", TOKEN, &[], |call| call.token(&second)).await.is(204);
    asker.ask("GET", TOKEN, &[], |call| call.token(&second)).await.is(410);
    application(&asker).await;
    asker.book.is_complete();
    well_formed(&asker.book);
    methods(&room, &asker.book, "public").await;
}

/// `eta_ms` may be known while `eta_p90_ms` is not.
#[tokio::test]
async fn a_90th_percentile_is_documented_as_null_alone() {
    let document = start().await.get("/openapi.json").send().await.is(200).json();
    let place = &document["components"]["schemas"]["Place"]["properties"];
    let meaning = place["eta_p90_ms"]["description"].as_str().unwrap_or_default();
    assert!(meaning.contains("null alone"), "{place}");
}

/// What a visitor calls who applied to an event.
async fn application(asker: &Asker<'_>) {
    const APPLICATION: &str = "/v1/events/{event}/application";
    let call = asker.room.call("service", Method::POST, "/v1/events/coupon/applications");
    let applied = call.key(SHOP).json(json!({ "visitor_id": "ann" })).send().await;
    let token = applied.is(202).json()["application_token"].as_str().expect("a token").to_owned();
    for (event, token, status) in
        [("coupon", &*token, 200), ("coupon", "aat1.x", 401), ("none", &token, 404)]
    {
        let with = |call: Call| call.header("x-anteroom-application", token);
        asker.ask("GET", APPLICATION, &[("{event}", event)], with).await.is(status);
    }
    asker.ask("GET", APPLICATION, &[], |call| call).await.is(401);
}

/// What the holder of a place calls.
async fn holders(asker: &Asker<'_>, first: &str, second: &str) {
    let (claim, renew) = (format!("{TOKEN}/claim"), format!("{TOKEN}/renew"));
    for (method, path, status) in
        [("POST", &*claim, 409), ("POST", &renew, 409), ("GET", TOKEN, 200)]
    {
        asker.ask(method, path, &[], |call| call.token(second)).await.is(status);
    }
    for (method, path) in [("POST", &*claim), ("POST", &renew), ("GET", TOKEN)] {
        asker.ask(method, path, &[], |call| call.token(first)).await.is(200);
    }
    for (method, path) in [("POST", &*claim), ("POST", &renew), ("GET", TOKEN), ("DELETE", TOKEN)] {
        asker.ask(method, path, &[], |call| call).await.refuses(401, "token_missing");
        asker.ask(method, path, &[], |call| call.token("x")).await.refuses(401, "token_invalid");
        let none = [("{queue}", "none")];
        asker
            .ask(method, path, &none, |call| call.token(first))
            .await
            .refuses(404, "unknown_queue");
    }
}

/// Streams do not end, so only their heads are read.
async fn streams(room: &Room, book: &Book, token: &str) {
    let path = format!("{TOKEN}/events");
    let open = room.get(&path.replace("{queue}", "concert")).token(token).open().await;
    let (status, headers) = (open.status().as_u16(), open.headers().clone());
    book.note("GET", &path, &Answer { status, headers, text: String::new() });
    assert_eq!(status, 200);
    let many = room.get(&path.replace("{queue}", "concert")).token(token).send().await;
    book.note("GET", &path, many.is(204));
    drop(open);
}

async fn gates(asker: &Asker<'_>, first: &str) {
    for template in [GATE.to_owned(), format!("{GATE}/{{path}}")] {
        for method in METHODS.map(str::to_uppercase) {
            let documented = asker.book.operations();
            let documented: Vec<_> = documented.map(|(path, method, _)| (path, method)).collect();
            if !documented.contains(&(&*template, &*method.to_lowercase())) {
                continue;
            }
            let path = [("{path}", "seats")];
            let ask = |change: Box<dyn FnOnce(Call) -> Call>| {
                asker.ask(&method, &template, &path, change)
            };
            let token = first.to_owned();
            ask(Box::new(move |call| call.token(&token))).await.is(200);
            ask(Box::new(|call| call)).await.is(401);
            // Behind a path a header asks.
            let asks = if template.ends_with("{path}") { "" } else { "?on_refusal=redirect" };
            let navigation = format!("{template}{asks}").replace("{queue}", "concert");
            let navigation = navigation.replace("{path}", "seats");
            let call = asker.room.call(
                "public",
                Method::from_bytes(method.as_bytes()).expect("a method"),
                &navigation,
            );
            let redirected = call.header("x-forwarded-method", "GET").header("accept", "text/html");
            let redirected = redirected.header("x-anteroom-gate", "redirect").send().await;
            asker.book.note(&method, &template, redirected.is(302));
        }
    }
}
