//! What visitors, gateways and browsers call.

use anteroom_testkit::docs;
use reqwest::Method;
use serde_json::json;

use super::{Client, GATE, IDENTITY, QUEUE, SHOP, TOKEN, TOKENS, methods, start, well_formed};
use crate::{
    answer::Answer,
    joining::identity,
    room::{Call, Room},
    schema::{Book, METHODS},
};

#[tokio::test]
async fn the_public_port_answers_as_documented() {
    let room = start().await;
    let client = Client { book: Book::of(&room, "public").await, room: &room, port: "public" };
    let plain = |call: Call| call;

    let first = client.send("POST", TOKENS, json!({}), plain).await;
    let first = first.is(201).token();
    client.send("POST", TOKENS, json!({}), |call| call.token(&first)).await.is(200);
    let assertion = json!({ "assertion": identity(IDENTITY.1, "concert", "ana", 60) });
    let second = client.send("POST", TOKENS, assertion, plain).await.is(201).token();
    client.send("POST", TOKENS, json!({}), Call::browser).await.is(201);
    let join_refused = async |change: fn(Call) -> Call, status| {
        client.call("POST", TOKENS, &[], change).await.is(status);
    };
    join_refused(|call| call.header("idempotency-key", "short"), 400).await;
    join_refused(|call| call.json(json!({ "x": 1 })), 400).await;
    join_refused(|call| call.token("forged"), 401).await;
    join_refused(|call| call.json(json!({ "assertion": "forged" })), 401).await;
    join_refused(|call| call.header("sec-fetch-site", "cross-site"), 403).await;
    join_refused(|call| call.body("application/json", vec![b' '; 20_000]), 413).await;
    join_refused(|call| call.body("text/plain", "{}"), 415).await;
    for (queue, status) in [("later", 503), ("few", 201), ("few", 429), ("none", 404)] {
        client.call("POST", TOKENS, &[("{queue}", queue)], plain).await.is(status);
    }

    for (queue, status) in [("concert", 200), ("later", 200), ("none", 404)] {
        client.call("GET", QUEUE, &[("{queue}", queue)], plain).await.is(status);
        client.call("GET", "/queues/{queue}", &[("{queue}", queue)], plain).await.is(status);
    }
    let page = room.get("/queues/concert").send().await;
    let file =
        page.is(200).text.split("concert/assets/").nth(1).and_then(|it| it.split('"').next());
    for (file, status) in [(file.expect("a file"), 200), ("page-AAAAAAAAAAAA.js", 404)] {
        let path = "/queues/{queue}/assets/{file}";
        client.call("GET", path, &[("{file}", file)], plain).await.is(status);
    }
    client.call("POST", "/queues/{queue}", &[], Call::browser).await.is(303);
    client.call("POST", "/queues/{queue}", &[("{queue}", "later")], Call::browser).await.is(503);
    let foreign = |call: Call| call.header("sec-fetch-site", "cross-site");
    client.call("POST", "/queues/{queue}", &[], foreign).await.is(403);

    let board = "/v1/queues/{queue}/board";
    for (queue, status) in [("concert", 200), ("none", 404)] {
        client.call("GET", board, &[("{queue}", queue)], plain).await.is(status);
    }
    client.call("GET", board, &[], |call| call.header("if-none-match", "*")).await.is(304);

    holders(&client, &first, &second).await;
    streams(&room, &client.book, &second).await;
    gates(&client, &first).await;
    client.call("DELETE", TOKEN, &[], |call| call.token(&second)).await.is(204);
    client.call("GET", TOKEN, &[], |call| call.token(&second)).await.is(410);
    application(&client).await;
    client.book.is_complete();
    well_formed(&client.book);
    methods(&room, &client.book, "public").await;
}

/// `eta_ms` may be known while `eta_p90_ms` is not.
#[tokio::test]
async fn a_90th_percentile_is_documented_as_null_alone() {
    let document =
        Room::with_keys("documented").await.get("/openapi.json").send().await.is(200).json();
    let place = &document["components"]["schemas"]["Place"]["properties"];
    let meaning = place["eta_p90_ms"]["description"].as_str().unwrap_or_default();
    assert!(meaning.contains("it is also null until"), "{place}");
}

/// The documents are files of the documentation too, and they name each code of its reference.
#[tokio::test]
async fn the_documents_are_those_of_the_documentation() {
    let room = Room::with_keys("documented").await;
    for port in ["public", "service"] {
        let document = room.call(port, Method::GET, "/openapi.json").send().await.is(200).json();
        let text = serde_json::to_string_pretty(&document).expect("JSON") + "\n";
        docs::is_generated(&format!("docs/reference/openapi/{port}.json"), &text);
        let described = &document["components"]["schemas"]["Problem"]["properties"]["code"];
        let named = described["description"].as_str().unwrap_or_default();
        let page = docs::read(docs::ERRORS).text;
        let codes: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(named.matches('`').count(), 2 * codes.len(), "{named}");
        for code in codes {
            assert!(named.contains(code), "{code}: {named}");
        }
    }
}

/// What a visitor calls who applied to an event.
async fn application(client: &Client<'_>) {
    const APPLICATION: &str = "/v1/events/{event}/application";
    let call = client.room.call("service", Method::POST, "/v1/events/coupon/applications");
    let applied = call.key(SHOP).json(json!({ "visitor_id": "ann" })).send().await;
    let token = applied.is(202).json()["application_token"].as_str().expect("a token").to_owned();
    for (event, token, status) in
        [("coupon", &*token, 200), ("coupon", "aat1.x", 401), ("none", &token, 404)]
    {
        let with = |call: Call| call.header("x-anteroom-application", token);
        client.call("GET", APPLICATION, &[("{event}", event)], with).await.is(status);
    }
    client.call("GET", APPLICATION, &[], |call| call).await.is(401);
}

/// What the holder of a place calls.
async fn holders(client: &Client<'_>, first: &str, second: &str) {
    let (claim, renew) = (format!("{TOKEN}/claim"), format!("{TOKEN}/renew"));
    for (method, path, status) in
        [("POST", &*claim, 409), ("POST", &renew, 409), ("GET", TOKEN, 200)]
    {
        client.call(method, path, &[], |call| call.token(second)).await.is(status);
    }
    for (method, path) in [("POST", &*claim), ("POST", &renew), ("GET", TOKEN)] {
        client.call(method, path, &[], |call| call.token(first)).await.is(200);
    }
    for (method, path) in [("POST", &*claim), ("POST", &renew), ("GET", TOKEN), ("DELETE", TOKEN)] {
        client.call(method, path, &[], |call| call).await.refuses(401, "token_missing");
        client.call(method, path, &[], |call| call.token("x")).await.refuses(401, "token_invalid");
        let none = [("{queue}", "none")];
        client
            .call(method, path, &none, |call| call.token(first))
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

async fn gates(client: &Client<'_>, first: &str) {
    for template in [GATE.to_owned(), format!("{GATE}/{{path}}")] {
        for method in METHODS.map(str::to_uppercase) {
            let documented = client.book.operations();
            let documented: Vec<_> = documented.map(|(path, method, _)| (path, method)).collect();
            if !documented.contains(&(&*template, &*method.to_lowercase())) {
                continue;
            }
            let path = [("{path}", "seats")];
            let call = |change: Box<dyn FnOnce(Call) -> Call>| {
                client.call(&method, &template, &path, change)
            };
            let token = first.to_owned();
            call(Box::new(move |call| call.token(&token))).await.is(200);
            call(Box::new(|call| call)).await.is(401);
            // With a path behind it, a header takes the place of the query.
            let query = if template.ends_with("{path}") { "" } else { "?on_refusal=redirect" };
            let navigation = format!("{template}{query}").replace("{queue}", "concert");
            let navigation = navigation.replace("{path}", "seats");
            let call = client.room.call(
                "public",
                Method::from_bytes(method.as_bytes()).expect("a method"),
                &navigation,
            );
            let redirected = call.header("x-forwarded-method", "GET").header("accept", "text/html");
            let redirected = redirected.header("x-anteroom-gate", "redirect").send().await;
            client.book.note(&method, &template, redirected.is(302));
        }
    }
}
