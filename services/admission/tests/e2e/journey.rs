//! A visitor's whole way: join, wait, claim, pass the gateway check, renew, finish.

use anteroom_testkit::{PATIENCE, until};
use reqwest::Method;
use serde_json::json;

use crate::{
    answer::Answer,
    key::key,
    room::{ONE, Room},
    shared::OPS,
};

/// A queue that opens in the far future, beside one with room for one.
pub const LATER: &str = "[queues.:name]\ncapacity = 1\n\
    [queues.:name-later]\nbatch = 60\ninterval = \"60s\"\njoins_at = \"2199-01-01T00:00:00Z\"\n\
    opens_at = \"2199-01-02T09:00:00+09:00\"\ncloses_at = \"2199-01-03T00:00:00Z\"\n";

const SHOP: &str = "ark1.of-the-shop-service";

/// What the tests with keys have in the configuration.
pub fn keyed() -> String {
    ONE.replace(":name", "handles") + &key("handles-shop", SHOP, "backend", &["queues:handles"])
}

const TOKEN_PATH: &str = "/v1/queues/:name/token";
const OURS: [&str; 5] = [
    "x-anteroom-visitor",
    "x-anteroom-visitor-kind",
    "x-anteroom-place",
    "x-anteroom-expires-in",
    "x-anteroom-room",
];

#[tokio::test]
async fn promise_01_03_the_whole_way_with_the_token() {
    let room = Room::shared(ONE).await;
    let first = room.join().await;
    assert_eq!(
        first.is(201).place("ready")["ticket"],
        1,
        "no visitor waits: it is promoted at once"
    );
    assert!(first.headers.get("set-cookie").is_none(), "no browser, no cookie");
    let second = room.join().await;
    let place = second.is(201).place("waiting");
    assert_eq!((&place["ticket"], &place["position"]), (&json!(2), &json!(1)));
    let (first, second) = (first.token(), second.token());

    refused_at_the_gate(&room, &room.authorize(&second).await, 403, "not_admitted");
    claim(&room, &second).await.refuses(409, "not_ready");
    claim(&room, &first).await.is(200).place("active");
    claim(&room, &first).await.is(200).place("active");
    for method in [Method::GET, Method::POST, Method::OPTIONS, Method::HEAD, Method::DELETE] {
        for path in ["", "?join=1", "/", "/seats/7?row=1", "/%C7%D1%B1%DB", "//a"] {
            let path = format!("/v1/queues/:name/authorize{path}");
            let call = room.call("public", method.clone(), &path).token(&first);
            let passed = call.body("text/plain", "the body of the original").send().await;
            assert_eq!(passed.is(200).header("x-anteroom-visitor"), "1", "{method} {path}");
            assert_eq!(passed.header("x-anteroom-visitor-kind"), "anonymous");
            assert!(passed.text.is_empty());
            assert_eq!(passed.header("x-anteroom-place").len(), 40);
            let expires_in: u64 = passed.header("x-anteroom-expires-in").parse().expect("seconds");
            assert!((290..=300).contains(&expires_in), "{expires_in}");
            assert_eq!(passed.headers["x-anteroom-room"], "");
        }
    }
    let renewed = room.post(&format!("{TOKEN_PATH}/renew")).token(&first).send().await;
    renewed.is(200).place("active");
    room.post(&format!("{TOKEN_PATH}/renew"))
        .token(&second)
        .send()
        .await
        .refuses(409, "not_active");

    room.leave(&first).await.is(204);
    room.leave(&first).await.is(204);
    let gone = room.get(TOKEN_PATH).token(&first).send().await;
    assert_eq!(gone.refuses(410, "place_gone").json()["reason"], "completed");
    let refused = room.authorize(&first).await;
    refused_at_the_gate(&room, &refused, 403, "place_gone");
    assert_eq!(refused.json()["reason"], "completed");
    claim(&room, &first).await.refuses(410, "place_gone");

    room.becomes(&second, "ready").await;
    assert_eq!(room.authorize(&second).await.is(200).header("x-anteroom-visitor"), "2");
    room.get(TOKEN_PATH).token(&second).send().await.is(200).place("active");
}

#[tokio::test]
async fn promise_04_after_gone_a_join_gets_a_new_place_at_the_end() {
    let room = Room::shared(ONE).await;
    let (first, second) = (room.join().await.token(), room.join().await.token());
    let again = room.post("/v1/queues/:name/tokens").token(&second).send().await;
    assert_eq!(again.is(200).place("waiting")["ticket"], 2);
    room.leave(&second).await.is(204);
    let again = room.post("/v1/queues/:name/tokens").token(&second).send().await;
    assert_eq!(again.is(201).place("waiting")["ticket"], 3);
    let gone = room.get(TOKEN_PATH).token(&second).send().await;
    assert_eq!(gone.refuses(410, "place_gone").json()["reason"], "left");
    room.get(TOKEN_PATH).token(&again.token()).send().await.is(200).place("waiting");
    room.get(TOKEN_PATH).token(&first).send().await.is(200).place("ready");
}

#[tokio::test]
async fn the_gate_joins_when_the_gateway_wants_it() {
    let room = Room::shared(ONE).await;
    let path = "/v1/queues/:name/authorize/seats";
    let gate = |wants: &'static str| room.get(path).header("x-anteroom-gate", wants);
    let passed = gate("join").send().await;
    assert_eq!(passed.is(200).header("x-anteroom-visitor"), "1");
    assert!(passed.header("set-cookie").starts_with(&room.cookie("art1.")));
    let waits = gate("join").send().await;
    refused_at_the_gate(&room, &waits, 403, "not_admitted");
    let cookie = cookie_of(&waits);
    let place = room.get(TOKEN_PATH).cookie(&cookie).send().await;
    assert_eq!(place.is(200).place("waiting")["ticket"], 2);
    let again = gate("join").cookie(&cookie).send().await;
    again.refuses(403, "not_admitted");
    assert!(again.headers.get("set-cookie").is_none(), "it has a place");
    let navigation = gate("join, redirect").cookie(&cookie);
    let navigation = navigation.header("sec-fetch-mode", "navigate").send().await;
    assert_eq!(
        navigation.is(302).header("location"),
        room.text("http://127.0.0.1:8080/queues/:name?return_to=%2Fseats")
    );
}

#[tokio::test]
async fn the_whole_way_with_a_browser_s_cookie() {
    let room = Room::shared(ONE).await;
    let join = || room.post("/v1/queues/:name/tokens").browser().json(json!({})).send();
    let joined = join().await;
    let place = joined.is(201).place("ready");
    assert!(place.get("token").is_none(), "{place}");
    let cookie = cookie_of(&joined);
    let parts: Vec<_> = joined.header("set-cookie").split("; ").skip(1).collect();
    let attributes = ["Path=/", "HttpOnly", "SameSite=Lax", "Secure", "Max-Age=604800"];
    assert_eq!(parts, attributes);
    assert!(cookie.starts_with(&room.cookie("art1.")), "{cookie}");

    let post = |path: &str| room.post(&format!("{TOKEN_PATH}/{path}")).header("cookie", &cookie);
    post("claim")
        .header("sec-fetch-site", "cross-site")
        .send()
        .await
        .refuses(403, "origin_refused");
    post("claim")
        .header("origin", "https://evil.example")
        .send()
        .await
        .refuses(403, "origin_refused");
    post("claim").browser().send().await.is(200).place("active");
    post("renew").send().await.is(200);
    let gate = room.get("/v1/queues/:name/authorize").header("cookie", &cookie);
    gate.header("sec-fetch-site", "cross-site").send().await.is(200);
    let again = room.post("/v1/queues/:name/tokens").cookie(&cookie).send().await;
    assert_eq!(again.is(200).place("active")["ticket"], 1);

    let left = room.call("public", Method::DELETE, TOKEN_PATH).cookie(&cookie).send().await;
    let expected = room.cookie("; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0");
    assert_eq!(left.is(204).header("set-cookie"), expected);
    let second = cookie_of(&join().await);
    room.becomes(second.split_once('=').expect("a cookie").1, "ready").await;
}

#[tokio::test]
async fn a_cookie_is_named_after_its_guard() {
    for (env, name, guard) in [
        (("ANTEROOM_ADMISSION__COOKIE_DOMAIN", "shop.example"), "__Secure-", "Domain=shop.example"),
        (("ANTEROOM_ADMISSION__SECURE_COOKIES", "false"), "", "SameSite=Lax"),
    ] {
        let room = Room::behind_own_admission(ONE, &[env]).await;
        let joined = room.post("/v1/queues/:name/tokens").browser().send().await;
        let set = joined.is(201).header("set-cookie");
        let named = format!("{name}anteroom_{}=art1.", room.name);
        assert!(set.starts_with(&named), "{set}");
        assert!(set.split("; ").any(|part| part == guard), "{set}");
        room.get(TOKEN_PATH).cookie(&cookie_of(&joined)).send().await.is(200);
    }
}

#[tokio::test]
async fn a_backend_renews_and_finishes_by_the_handle() {
    let room = Room::with_keys("handles").await;
    let joined = |visitor: &str| {
        let call = room.call("service", Method::POST, "/v1/queues/:name/tokens").key(SHOP);
        call.json(json!({ "visitor_id": visitor })).send()
    };
    let ana = joined("ana@example.com").await;
    assert_eq!(ana.is(201).place("ready")["ticket"], 1);
    assert_eq!(joined("ana@example.com").await.is(200).place("ready")["ticket"], 1);
    let by_operator = room.call("service", Method::POST, "/v1/queues/:name/tokens").key(OPS);
    let by_operator = by_operator.json(json!({ "visitor_id": "ana@example.com" })).send().await;
    assert_eq!(by_operator.is(200).json()["ticket"], 1);
    let bob = joined("뷔").await;
    assert_eq!(bob.is(201).place("waiting")["ticket"], 2);

    let passed = room.authorize(&ana.token()).await;
    assert_eq!(passed.is(200).header("x-anteroom-visitor"), "ana@example.com");
    assert_eq!(passed.header("x-anteroom-visitor-kind"), "identified");
    let place = format!("/v1/queues/:name/places/{}", passed.header("x-anteroom-place"));
    let backend = |method, path: &str| room.call("service", method, path).key(SHOP).send();
    let renewed = backend(Method::POST, &format!("{place}/renew")).await;
    assert!(renewed.is(200).place("active").get("token").is_none());
    let waiting = room.call("service", Method::GET, "/v1/admin/queues/:name/places?state=waiting");
    let waiting = waiting.key(OPS).send().await.is(200).json()["places"][0]["place"].clone();
    let waiting = format!("/v1/queues/:name/places/{}", waiting.as_str().expect("a handle"));
    backend(Method::POST, &format!("{waiting}/renew")).await.refuses(409, "not_active");
    room.call("public", Method::POST, &format!("{place}/renew"))
        .send()
        .await
        .refuses(404, "not_found");
    backend(Method::DELETE, &place).await.is(204);
    backend(Method::DELETE, &place).await.is(204);
    let gone = backend(Method::POST, &format!("{place}/renew")).await;
    assert_eq!(gone.refuses(410, "place_gone").json()["reason"], "completed");
    room.authorize(&ana.token()).await.refuses(403, "place_gone");
    room.becomes(&bob.token(), "ready").await;
    let passed = room.authorize(&bob.token()).await;
    assert_eq!(passed.is(200).headers["x-anteroom-visitor"].as_bytes(), "뷔".as_bytes());
}

#[tokio::test]
async fn the_public_state_shows_counts_and_opening_times() {
    let room = Room::shared(LATER).await;
    let first = room.join().await.token();
    room.join().await;
    room.join().await;
    claim(&room, &first).await.is(200);
    until("the counts are known", PATIENCE, async || {
        let state = room.get("/v1/queues/:name").send().await.is(200).json();
        assert_eq!((&state["queue"], &state["state"]), (&json!(room.name), &json!("open")));
        state["depth"] == 2 && state["ready"] == 0 && state["active"] == 1
    })
    .await;
    let state = room.get("/v1/queues/:name-later").send().await.is(200).json();
    assert_eq!(state["joins_at"], "2199-01-01T00:00:00Z");
    assert!(state["joins_in_ms"].as_u64() > Some(5_000_000_000_000), "{state}");
    assert_eq!(state["opens_at"], "2199-01-02T00:00:00Z");
    assert_eq!(state["closes_at"], "2199-01-03T00:00:00Z");
    let refused = room.post("/v1/queues/:name-later/tokens").send().await;
    refused.refuses(503, "queue_closed");
    assert!(!refused.header("retry-after").is_empty());
}

async fn claim(room: &Room, token: &str) -> Answer {
    room.post(&format!("{TOKEN_PATH}/claim")).token(token).send().await
}

/// Every header that is ours is on a refusal too, blank but for the waiting page's address.
#[track_caller]
fn refused_at_the_gate(room: &Room, answer: &Answer, status: u16, code: &str) {
    answer.refuses(status, code);
    for name in OURS {
        assert!(answer.headers.contains_key(name), "{name}: {answer:?}");
    }
    assert!(OURS[..4].iter().all(|name| answer.header(name).is_empty()), "{answer:?}");
    let page = answer.header("x-anteroom-room");
    assert!(page.starts_with(&room.text("http://127.0.0.1:8080/queues/:name")), "{page}");
}

/// What a browser sends back of a `Set-Cookie`.
pub fn cookie_of(answer: &Answer) -> String {
    let set = answer.header("set-cookie");
    set.split(';').next().filter(|cookie| cookie.contains("=art1.")).expect("a cookie").to_owned()
}
