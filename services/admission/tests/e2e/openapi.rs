//! The OpenAPI documents against the real answers.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    joining::vouched,
    key::key,
    limit_checks::LIMITS,
    room::{Call, ONE, Room},
    schema::{Book, METHODS},
};

const IDENTITY: &str = "the-secret-between-shop-and-room";
const OPS: &str = "ark1.the-key-of-an-operator";
const SHOP: &str = "ark1.the-key-of-a-backend";
const NARROW: &str = "ark1.the-key-for-another-queue";

const QUEUES: &str = "[queues.later]\ncapacity = 1\njoins_at = \"2199-01-01T00:00:00Z\"\n\
    [queues.few]\ncapacity = 1\njoins_per_address = \"1/1h\"\nrequests_per_place = 1\n\
    [admission]\nsse_max = 1\n";

const QUEUE: &str = "/v1/queues/{queue}";
const TOKENS: &str = "/v1/queues/{queue}/tokens";
const TOKEN: &str = "/v1/queues/{queue}/token";
const GATE: &str = "/v1/queues/{queue}/authorize";
const ADMIN: &str = "/v1/admin/queues/{queue}";
const CHECK: &str = "/v1/limits/{limit}/check";
const CHECKS: &str = "/v1/limits/check";
const FORGET: &str = "/v1/admin/limits/{limit}/forget";

/// What a path may name, one that there is, and the refusal where there is none.
const NAMED: [(&str, &str, &str); 2] =
    [("{queue}", "concert", "unknown_queue"), ("{limit}", "login", "unknown_limit")];

async fn start() -> Room {
    let keys = key("ops", OPS, "operator", &[])
        + &key("shop", SHOP, "backend", &[])
        + &key("narrow", NARROW, "operator", &["queues:few"]);
    let env = [("ANTEROOM_ADMISSION__IDENTITY_SECRETS", IDENTITY)];
    Room::start_with(&format!("{ONE}{QUEUES}{LIMITS}{keys}"), &env).await
}

/// Asks, and holds the answer against the document.
struct Asker<'a> {
    room: &'a Room,
    book: Book,
    port: &'static str,
}

impl Asker<'_> {
    /// Asks `method` of a template, with the queue `concert` and these other parts of the path.
    async fn ask(
        &self,
        method: &str,
        template: &str,
        parts: &[(&str, &str)],
        change: impl FnOnce(Call) -> Call,
    ) -> Answer {
        let filled =
            parts.iter().fold(template.to_owned(), |path, (name, value)| path.replace(name, value));
        let path = named(&filled);
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let answer = change(self.room.call(self.port, method.clone(), &path)).send().await;
        self.book.note(method.as_str(), template, &answer);
        answer
    }

    /// The same, with a JSON body that the document must allow.
    async fn tell(
        &self,
        method: &str,
        template: &str,
        body: Value,
        change: impl FnOnce(Call) -> Call,
    ) -> Answer {
        self.book.takes(method, template, &body);
        self.ask(method, template, &[], |call| change(call.json(body))).await
    }
}

/// A template with the names of what there is.
fn named(template: &str) -> String {
    NAMED.iter().fold(template.to_owned(), |path, (part, name, _)| path.replace(part, name))
}

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
    asker.book.is_complete();
    well_formed(&asker.book);
    methods(&room, &asker.book, "public").await;
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

#[tokio::test]
async fn the_service_port_answers_as_documented() {
    let room = start().await;
    let asker = Asker { book: Book::of(&room, "service").await, room: &room, port: "service" };
    let ops = |call: Call| call.key(OPS);
    let (renew, place) =
        ("/v1/queues/{queue}/places/{place}/renew", "/v1/queues/{queue}/places/{place}");
    let (reset, places) = (format!("{ADMIN}/reset"), format!("{ADMIN}/places"));
    let ticket = format!("{places}/{{ticket}}");

    let ana = json!({ "visitor_id": "ana" });
    let joined = asker.tell("POST", TOKENS, ana.clone(), |call| call.key(SHOP)).await;
    let token = joined.is(201).token();
    asker.tell("POST", TOKENS, ana, |call| call.key(SHOP)).await.is(200);
    let empty = |call: Call| call.key(SHOP).json(json!({ "visitor_id": "" }));
    asker.ask("POST", TOKENS, &[], empty).await.is(422);
    asker.ask("POST", TOKENS, &[], |call| call.key(SHOP).json(json!({}))).await.is(400);
    asker.ask("POST", TOKENS, &[], |call| call.key(SHOP).body("text/plain", "x")).await.is(415);
    let later = |call: Call| call.key(SHOP).json(json!({ "visitor_id": "bob" }));
    asker.ask("POST", TOKENS, &[("{queue}", "later")], later).await.is(503);

    let gate = room.authorize(&token).await;
    let handle = [("{place}", gate.is(200).header("x-anteroom-place"))];
    asker.ask("POST", renew, &handle, |call| call.key(SHOP)).await.is(200);
    asker.ask("POST", renew, &[("{place}", "x")], ops).await.is(400);
    asker.ask("DELETE", place, &[("{place}", "x")], ops).await.is(400);
    asker.ask("GET", QUEUE, &[], ops).await.is(200);
    asker.ask("GET", ADMIN, &[], ops).await.is(200);

    let all = json!({
        "state": "paused", "reason": "a test", "capacity": 5, "batch": 10, "interval_ms": 1_000,
        "pace": "batch", "claim_ttl_ms": 5_000, "session_ttl_ms": 5_000, "session_max_ms": 5_000,
        "idle_ttl_ms": 60_000, "keep_ttl_ms": 60_000, "first_poll_ttl_ms": 30_000,
        "max_waiting": 5, "joins_at": "2020-01-01T00:00:00Z", "opens_at": "2020-01-02T00:00:00Z",
        "closes_at": "2199-01-03T00:00:00+09:00", "local_answers": true, "until": "2199-01-01T00:00:00Z",
    });
    let none: Value = all
        .as_object()
        .expect("an object")
        .keys()
        .filter(|name| *name != "until")
        .map(|name| (name.clone(), Value::Null))
        .collect::<serde_json::Map<_, _>>()
        .into();
    for body in [all, none] {
        asker.tell("PATCH", ADMIN, body, ops).await.is(200);
        asker.ask("GET", ADMIN, &[], ops).await.is(200);
    }
    asker.ask("PATCH", ADMIN, &[], |call| ops(call).json(json!({ "capacity": 0 }))).await.is(422);
    asker.ask("PATCH", ADMIN, &[], |call| ops(call).json(json!({ "x": 0 }))).await.is(400);

    for (number, status) in [("1", 200), ("9", 404), ("0", 400)] {
        asker.ask("GET", &ticket, &[("{ticket}", number)], ops).await.is(status);
    }
    asker.ask("GET", &places, &[], ops).await.is(200);
    let page = room.call("service", Method::GET, "/v1/admin/queues/concert/places?limit=0");
    asker.book.note("GET", &places, page.key(OPS).send().await.is(400));
    asker.ask("DELETE", &ticket, &[("{ticket}", "1")], ops).await.is(204);
    asker.ask("GET", &ticket, &[("{ticket}", "1")], ops).await.is(200);
    asker.ask("POST", renew, &handle, ops).await.is(410);
    asker.ask("DELETE", place, &handle, ops).await.is(204);
    asker.ask("POST", &reset, &[], ops).await.is(202);
    for (name, status) in [("concert", 409), ("old", 204), ("Old", 400)] {
        asker.ask("DELETE", ADMIN, &[("{queue}", name)], ops).await.is(status);
    }

    limits(&asker).await;

    let operations: Vec<_> =
        asker.book.operations().map(|(path, method, _)| (path, method)).collect();
    for (path, method) in operations.into_iter().filter(|(path, _)| path.starts_with("/v1/")) {
        let (method, parts) = (method.to_uppercase(), [("{ticket}", "1"), handle[0]]);
        let kind = NAMED.iter().find(|(part, ..)| path.contains(part));
        asker.ask(&method, path, &parts, |call| call).await.refuses(401, "key_missing");
        asker.ask(&method, path, &parts, |call| call.key("x")).await.refuses(401, "key_invalid");
        // Else what it is about stands in the body.
        let Some((part, _, unknown)) = kind else { continue };
        asker
            .ask(&method, path, &parts, |call| call.key(NARROW))
            .await
            .refuses(403, "key_forbidden");
        let none = [(*part, "none"), parts[0], parts[1]];
        if (&*method, path) != ("DELETE", ADMIN) {
            asker.ask(&method, path, &none, ops).await.refuses(404, unknown);
        }
    }
    asker.book.is_complete();
    well_formed(&asker.book);
    methods(&room, &asker.book, "service").await;
}

/// What is asked of limits.
async fn limits(asker: &Asker<'_>) {
    let shop = |call: Call| call.key(SHOP);
    let one = json!({ "key": "ann", "cost": 1, "group": "ann", "id": "a" });
    let both = json!({ "id": "b", "checks": [
        { "limit": "login", "key": "ann", "cost": 1, "group": "ann" },
        { "limit": "quiet", "key": "ann" },
    ] });
    asker.tell("POST", CHECK, one, shop).await.is(200);
    asker.tell("POST", CHECKS, both.clone(), shop).await.is(200);
    asker.tell("POST", CHECK, json!({ "key": "ann" }), shop).await.is(429);
    let again = json!({ "checks": both["checks"] });
    asker.tell("POST", CHECKS, again, shop).await.is(429);
    let ask = async |template, body: Value, status| {
        asker.ask("POST", template, &[], |call| shop(call).json(body)).await.is(status);
    };
    ask(CHECK, json!({ "key": "ann", "cost": 2, "id": "a" }), 409).await;
    ask(CHECK, json!({ "key": "ann", "cost": 3 }), 422).await;
    ask(CHECK, json!({ "x": 1 }), 400).await;
    let of = |limit: &str, key: &str| json!({ "limit": limit, "key": key });
    ask(CHECKS, json!({ "id": "b", "checks": [of("login", "ann")] }), 409).await;
    ask(CHECKS, json!({ "checks": [of("login", "ann"), of("login", "bob")] }), 422).await;
    ask(CHECKS, json!({ "checks": [of("none", "ann")] }), 404).await;
    ask(CHECKS, json!({ "checks": 1 }), 400).await;
    let narrow = json!({ "checks": [of("login", "ann")] });
    let narrow = asker.ask("POST", CHECKS, &[], |call| call.key(NARROW).json(narrow)).await;
    narrow.refuses(403, "key_forbidden");
    let ops = |call: Call| call.key(OPS);
    asker.tell("POST", FORGET, json!({ "key": "ann", "group": "ann" }), ops).await.is(204);
    asker.ask("POST", FORGET, &[], |call| ops(call).json(json!({ "key": "" }))).await.is(422);
}

/// What the document says of values and what the calls do with them is the same.
#[tokio::test]
async fn the_rules_of_values_are_those_of_the_calls() {
    let room = start().await;
    let (public, service) = (Book::of(&room, "public").await, Book::of(&room, "service").await);
    let backend = |body: Value| {
        let call = room.call("service", Method::POST, "/v1/queues/concert/tokens");
        call.key(SHOP).json(body).send()
    };
    let long = "x".repeat(128);
    for (visitor_id, good) in [
        ("a", true),
        ("customer 4711", true),
        (&*long, true),
        ("\u{b0}", true),
        ("", false),
        (&*format!("{long}x"), false),
        (" a", false),
        ("a\u{2003}", false),
        ("a\u{3000}", false),
        ("a\nb", false),
        ("a\u{85}b", false),
        ("\u{7f}", false),
    ] {
        let body = json!({ "visitor_id": visitor_id });
        let allowed = service.allows("post", TOKENS, &body);
        let taken = backend(body).await.status < 300;
        assert_eq!((allowed, taken), (good, good), "{visitor_id:?}");
        for body in [
            json!({ "key": visitor_id }),
            json!({ "key": "a", "group": visitor_id }),
            json!({ "key": "a", "id": visitor_id, "group": "b" }),
        ] {
            let allowed = service.allows("post", CHECK, &body);
            let call = room.call("service", Method::POST, "/v1/limits/upload/check").key(SHOP);
            let taken = call.json(body.clone()).send().await.status == 200;
            assert_eq!((allowed, taken), (good, good), "{body}");
        }
    }
    let key = |length: usize, with: &str| format!("{}{with}", "k".repeat(length));
    for (key, good) in [
        (key(22, ""), true),
        (key(128, ""), true),
        (key(21, ""), false),
        (key(129, ""), false),
        (key(22, "~!"), true),
        (key(22, " k"), false),
    ] {
        let allowed = public.allows_parameter("post", TOKENS, "Idempotency-Key", &json!(key));
        let join = room.post("/v1/queues/concert/tokens").header("idempotency-key", &key);
        let taken = join.json(json!({})).send().await.status < 300;
        assert_eq!((allowed, taken), (good, good), "{key:?}");
    }
    let path = format!("{ADMIN}/places/{{ticket}}");
    for (ticket, good) in [(1_u64, true), (0, false), ((1 << 53) - 1, true), (1 << 53, false)] {
        let allowed = service.allows_parameter("get", &path, "ticket", &json!(ticket));
        let look = format!("/v1/admin/queues/concert/places/{ticket}");
        let looked = room.call("service", Method::GET, &look).key(OPS).send().await.status;
        assert_eq!((allowed, looked != 400), (good, good), "{ticket}");
    }
    let path = format!("{ADMIN}/places");
    for (name, value, good) in [
        ("state", json!("waiting"), true),
        ("state", json!("away"), true),
        ("state", json!("gone"), false),
        ("after", json!(0), true),
        ("after", json!((1_u64 << 53) - 1), true),
        ("after", json!(1_u64 << 53), false),
        ("after", json!(-1), false),
        ("limit", json!(1), true),
        ("limit", json!(200), true),
        ("limit", json!(0), false),
        ("limit", json!(201), false),
    ] {
        let allowed = service.allows_parameter("get", &path, name, &value);
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let look = format!("/v1/admin/queues/concert/places?{name}={text}");
        let looked = room.call("service", Method::GET, &look).key(OPS).send().await.status;
        assert_eq!((allowed, looked != 400), (good, good), "{name}={value}");
    }
    for (reason, good) in [("a", true), ("-", true), ("", false), ("a\u{7}", false)] {
        let body = json!({ "reason": reason });
        let allowed = service.allows("patch", ADMIN, &body);
        let call = room.call("service", Method::PATCH, "/v1/admin/queues/concert").key(OPS);
        let taken = call.json(body).send().await.status == 200;
        assert_eq!((allowed, taken), (good, good), "{reason:?}");
    }
    let empty = [
        ("public", "POST", "/v1/queues/concert/tokens", 201),
        ("service", "PATCH", "/v1/admin/queues/concert", 200),
    ];
    for (port, method, path, status) in empty {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        room.call(port, method, path).key(OPS).send().await.is(status);
    }
    for (book, port) in [(&public, "public"), (&service, "service")] {
        for (path, method, operation) in book.operations() {
            let body = &operation["requestBody"];
            let needed = port == "service" && (path == TOKENS || path.contains("/limits/"));
            assert!(
                body.is_null() || body["required"].as_bool() == Some(needed),
                "{method} {path}"
            );
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let free = ["join", "on_refusal", "return_to", "over", "path", "x-anteroom-gate"];
                let name = parameter["name"].as_str().expect("a name");
                let schema = parameter["schema"].as_object().expect("a schema");
                let ruled =
                    ["pattern", "maximum", "enum"].iter().any(|it| schema.contains_key(*it));
                assert!(ruled || free.contains(&name), "{method} {path}: {name} may be anything");
            }
        }
    }
}

/// What a reader of the document relies on beyond the answers.
fn well_formed(book: &Book) {
    let mut ids = BTreeSet::new();
    for (path, method, operation) in book.operations() {
        let id =
            operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path}: no id"));
        assert!(ids.insert(id.to_owned()), "two operations have the id {id}");
        let declared: BTreeSet<_> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["in"] == "path")
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        let named: BTreeSet<_> =
            path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(declared, named, "{method} {path}");
    }
}

/// A path serves exactly the methods that it documents; HEAD comes with GET. The gate serves all.
async fn methods(room: &Room, book: &Book, port: &str) {
    let paths: BTreeSet<_> = book.operations().map(|(path, ..)| path).collect();
    for path in paths.into_iter().filter(|path| !path.contains("/authorize")) {
        let documented = book.operations().filter(|(other, ..)| *other == path);
        let mut expected: BTreeSet<_> =
            documented.map(|(_, method, _)| method.to_uppercase()).collect();
        if expected.contains("GET") {
            expected.insert("HEAD".to_owned());
        }
        let path = named(path).replace("{place}", "x").replace("{ticket}", "1");
        let refused = room.call(port, Method::TRACE, &path).send().await;
        refused.refuses(405, "method_not_allowed");
        let allowed: BTreeSet<_> =
            refused.header("allow").split(',').map(|name| name.trim().to_owned()).collect();
        assert_eq!(allowed, expected, "{path}");
    }
}
