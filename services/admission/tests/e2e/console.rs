//! The operator console: sign-in, what its cookie counts for, and who gets its page.

use anteroom_testkit::{PATIENCE, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::key::key;
use crate::room::{Call, ONE, Room};

const ADMIN: &str = "/v1/admin/queues/:name";
const SESSION: &str = "/v1/console/session";
const OPS: &str = "ark1.of-the-operator";
const SCREEN: &str = "ark1.of-the-screen";
const SHOP: &str = "ark1.of-the-shop";
const NARROW: &str = "ark1.of-another-queue";

fn keyed() -> String {
    ONE.to_owned()
        + &key("ops", OPS, "operator", &[])
        + &key("screen", SCREEN, "viewer", &[])
        + &key("shop", SHOP, "backend", &[])
        + &key("narrow", NARROW, "operator", &["queues:other"])
}

/// The service port's address as a browser names it in `Origin`.
fn origin(room: &Room) -> String {
    room.url("service")
}

/// A call of the console's own page.
fn by_page(room: &Room, method: Method, path: &str, cookie: &str) -> Call {
    let call = room.call("service", method.clone(), path).header("sec-fetch-site", "same-origin");
    let call = if cookie.is_empty() { call } else { call.header("cookie", cookie) };
    if method == Method::GET { call } else { call.header("origin", origin(room)) }
}

/// Signs in, as the page does. The cookie, as the browser sends it back.
async fn sign_in(room: &Room, key: &str) -> String {
    cookie_of(by_page(room, Method::POST, SESSION, "").key(key).send().await.is(204))
}

/// The cookie that an answer sets.
fn cookie_of(answer: &Answer) -> String {
    let set = answer.header("set-cookie");
    let (cookie, attributes) = set.split_once("; ").expect("a cookie");
    let expected = "Path=/; HttpOnly; SameSite=Strict; Max-Age=";
    assert!(attributes.starts_with(expected), "plain http on loopback: {set}");
    cookie.to_owned()
}

#[tokio::test]
async fn a_cookie_counts_as_its_key_for_the_console_s_own_page() {
    let room = Room::start(&keyed()).await;
    let viewer = sign_in(&room, SCREEN).await;
    let read = by_page(&room, Method::GET, ADMIN, &viewer).send().await;
    assert_eq!(read.is(200).json()["rules"]["capacity"], 1);
    let pause = json!({ "state": "paused" });
    let change = by_page(&room, Method::PATCH, ADMIN, &viewer).json(pause.clone()).send().await;
    change.refuses(403, "key_forbidden");
    let other = by_page(&room, Method::GET, "/v1/limits/none/check", &viewer).send().await;
    other.is(405);

    let operator = sign_in(&room, OPS).await;
    by_page(&room, Method::PATCH, ADMIN, &operator).json(pause.clone()).send().await.is(200);
    let scoped = sign_in(&room, NARROW).await;
    by_page(&room, Method::GET, ADMIN, &scoped).send().await.refuses(403, "key_forbidden");

    // A key in the request takes precedence, even a wrong one.
    let both = by_page(&room, Method::PATCH, ADMIN, &operator).key(SCREEN).json(pause).send().await;
    both.refuses(403, "key_forbidden");
    let both = by_page(&room, Method::GET, ADMIN, &operator).key("ark1.wrong").send().await;
    both.refuses(401, "key_invalid");

    for expected in [
        json!(["screen", "console.sign_in", "done"]),
        json!(["screen", "queue.override_rules", "key_forbidden"]),
        json!(["ops", "queue.override_rules", "done"]),
        json!(["narrow", "console.sign_in", "done"]),
    ] {
        until(&format!("{expected} is logged"), PATIENCE, async || {
            let log = room.anteroom.admission.process.stdout();
            log.lines().filter_map(audit_line).any(|line| line == expected)
        })
        .await;
    }
}

/// Key, operation and outcome of an audit line.
fn audit_line(line: &str) -> Option<Value> {
    let line: Value = serde_json::from_str(line).ok()?;
    let is_audit = line["target"] == "audit";
    is_audit.then(|| json!([line["key"], line["operation"], line["outcome"]]))
}

/// Another origin, another port of this host, a program that has stolen the cookie but is no
/// browser, a form, an old browser.
#[tokio::test]
async fn a_cookie_counts_for_no_one_else() {
    let room = Room::start(&keyed()).await;
    let cookie = sign_in(&room, OPS).await;
    let (own, same_host) = (&*origin(&room), &*room.url("public"));
    let call = |method, headers: &[(&str, &str)]| {
        let call = room.call("service", method, ADMIN).header("cookie", &cookie);
        headers.iter().fold(call, |call, (name, value)| call.header(name, value))
    };
    const SITE: &str = "sec-fetch-site";
    for method in [Method::GET, Method::PATCH] {
        for headers in [
            &[][..],
            &[("origin", own)],
            &[(SITE, "none")],
            &[(SITE, "same-site"), ("origin", same_host)],
            &[(SITE, "cross-site"), ("origin", "https://evil.example")],
            &[(SITE, "same-origin, same-origin"), ("origin", own)],
        ] {
            let refused = call(method.clone(), headers).json(json!({"capacity": 9})).send().await;
            refused.refuses(401, "key_missing");
        }
        for origin in ["https://evil.example", same_host, "null"] {
            let refused = call(method.clone(), &[(SITE, "same-origin"), ("origin", origin)]);
            let refused = refused.json(json!({"capacity": 9})).send().await;
            refused.refuses(403, "origin_refused");
        }
    }
    let no_origin = call(Method::PATCH, &[(SITE, "same-origin")]).json(json!({"capacity": 9}));
    no_origin.send().await.refuses(403, "origin_refused");
    // A name server of a stranger may say that its name is here: the host is another one.
    let rebound = by_page(&room, Method::PATCH, ADMIN, &cookie).header("host", "evil.example:8081");
    rebound.json(json!({"capacity": 9})).send().await.refuses(401, "key_missing");
    let read = by_page(&room, Method::GET, ADMIN, &cookie).send().await;
    assert_eq!(read.is(200).json()["rules"]["capacity"], 1);
    // No page elsewhere may read an answer.
    let read = by_page(&room, Method::GET, ADMIN, &cookie).header("origin", own).send().await;
    assert_eq!(read.is(200).header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn a_session_begins_with_a_key_and_is_renewed_with_its_cookie() {
    let room = Room::start(&keyed()).await;
    let post = |cookie: &str| by_page(&room, Method::POST, SESSION, cookie);
    post("").send().await.refuses(401, "key_missing");
    post("").key("ark1.wrong").send().await.refuses(401, "key_invalid");
    let backend = post("").key(SHOP).send().await;
    assert!(backend.refuses(403, "key_forbidden").text.contains("an operator or a viewer"));
    let other = room.call("service", Method::POST, SESSION).key(OPS);
    let other = other.header("sec-fetch-site", "cross-site").header("origin", "https://a.example");
    other.send().await.refuses(403, "origin_refused");

    let cookie = sign_in(&room, OPS).await;
    let renewed = cookie_of(post(&cookie).send().await.is(204));
    by_page(&room, Method::GET, ADMIN, &renewed).send().await.is(200);
    let (name, text) = cookie.split_once('=').expect("a cookie");
    let forged = format!("{name}={}", text.to_uppercase());
    for cookie in [&forged, "anteroom_console=", "anteroom_console=acs1.AAAA"] {
        post(cookie).send().await.refuses(401, "key_invalid");
        by_page(&room, Method::GET, ADMIN, cookie).send().await.refuses(401, "key_invalid");
    }
    // Where there are several, the valid one counts.
    let two = format!("{forged}; {cookie}");
    by_page(&room, Method::GET, ADMIN, &two).send().await.is(200);

    let out = by_page(&room, Method::DELETE, SESSION, &cookie).send().await;
    assert_eq!(
        out.is(204).header("set-cookie"),
        "anteroom_console=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
    );
    by_page(&room, Method::DELETE, SESSION, "").send().await.is(204);
    let other = room.call("service", Method::DELETE, SESSION).header("sec-fetch-site", "same-site");
    other.send().await.refuses(403, "origin_refused");
}

#[tokio::test]
async fn one_address_signs_in_10_times_a_minute() {
    let room = Room::start(&keyed()).await;
    let cookie = sign_in(&room, OPS).await;
    for _ in 0..9 {
        room.call("service", Method::POST, SESSION).key("ark1.mistyped").send().await.is(401);
    }
    // As slow as the machine may be: the 10 are used up, and one comes back every 6 s.
    until("one address is refused", PATIENCE, async || {
        let refused = room.call("service", Method::POST, SESSION).key(OPS).send().await;
        refused.status == 429 && refused.refuses(429, "slow_down").json()["retry_after_ms"].is_u64()
    })
    .await;
    by_page(&room, Method::POST, SESSION, &cookie).send().await.is(204);
    by_page(&room, Method::GET, ADMIN, &cookie).send().await.is(200);
}

#[tokio::test]
async fn a_session_ends_when_its_key_is_removed_or_replaced() {
    let room = Room::start(&keyed()).await;
    let (ops, screen) = (sign_in(&room, OPS).await, sign_in(&room, SCREEN).await);
    let left = ONE.to_owned() + &key("ops", OPS, "operator", &[]);
    room.reconfigure(&(left + &key("screen", "ark1.its-successor", "viewer", &[])));
    until("the session of the replaced key has ended", PATIENCE, async || {
        by_page(&room, Method::GET, ADMIN, &screen).send().await.status == 401
    })
    .await;
    by_page(&room, Method::GET, ADMIN, &screen).send().await.refuses(401, "key_invalid");
    by_page(&room, Method::POST, SESSION, &screen).send().await.refuses(401, "key_invalid");
    by_page(&room, Method::GET, ADMIN, &ops).send().await.is(200);
    room.reconfigure(&(ONE.to_owned() + &key("ops", OPS, "viewer", &[])));
    until("the key is a viewer's now", PATIENCE, async || {
        let change = by_page(&room, Method::PATCH, ADMIN, &ops).json(json!({})).send().await;
        change.status == 403
    })
    .await;
}

#[tokio::test]
async fn without_keys_the_console_needs_no_sign_in() {
    let room = Room::start(ONE).await;
    let signed_in = by_page(&room, Method::POST, SESSION, "").send().await;
    assert_eq!(signed_in.is(204).header("set-cookie"), "");
    by_page(&room, Method::PATCH, ADMIN, "").json(json!({"capacity": 2})).send().await.is(200);
    by_page(&room, Method::GET, ADMIN, "").send().await.is(200);
    let typed = |path| room.call("service", Method::GET, path).header("sec-fetch-site", "none");
    typed("/console").send().await.is(200);
    typed(ADMIN).send().await.refuses(403, "origin_refused");
    let linked = room.call("service", Method::GET, "/console");
    linked.header("sec-fetch-site", "cross-site").send().await.refuses(403, "origin_refused");
    let rebound = by_page(&room, Method::GET, "/console", "").header("host", "evil.example");
    rebound.send().await.refuses(403, "forwarded_refused");
    let other = room.call("service", Method::PATCH, ADMIN).header("sec-fetch-site", "same-origin");
    let other = other.header("origin", room.url("public")).json(json!({"capacity": 3}));
    other.send().await.refuses(403, "origin_refused");
}

#[tokio::test]
async fn the_page_and_its_files_come_with_a_strict_policy_and_no_key() {
    let room = Room::start(&keyed()).await;
    let page = room.call("service", Method::GET, "/console").send().await;
    let policy = page.is(200).header("content-security-policy");
    for part in ["default-src 'none'", "frame-ancestors 'none'", "script-src 'self'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    let files = page.text.split('"').filter(|text| text.starts_with("/console/assets/"));
    let mut loaded = 0;
    for file in files {
        let file = room.call("service", Method::GET, file).send().await;
        assert_eq!(file.is(200).header("x-content-type-options"), "nosniff");
        loaded += 1;
    }
    assert!(loaded > 0, "{}", page.text);
    let unreadable = format!("{}/%ff", page.text.split("/main.js").next().expect("the script"));
    let unreadable = &unreadable[unreadable.rfind("/console/assets/").expect("an address")..];
    for other in [unreadable, "/console/assets/AAAAAAAAAAAA/app.js", "/console/assets/../app.js"] {
        room.call("service", Method::GET, other).send().await.refuses(404, "not_found");
    }
    let slash = room.call("service", Method::GET, "/console/").send().await;
    assert_eq!(slash.is(303).header("location"), "/console");
    room.get("/console").send().await.refuses(404, "not_found");
}

#[tokio::test]
async fn without_a_console_there_is_neither_page_nor_session() {
    let room = Room::start_with(&keyed(), &[("ANTEROOM_ADMISSION__CONSOLE", "false")]).await;
    room.call("service", Method::GET, "/console").send().await.refuses(404, "not_found");
    let sign_in = room.call("service", Method::POST, SESSION).key(OPS).send().await;
    sign_in.refuses(404, "not_found");
}
