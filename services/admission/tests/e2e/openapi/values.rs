//! The documents and the calls agree on the rules of values.

use reqwest::Method;
use serde_json::json;

use super::events::{APPLICATIONS, STOCK};
use super::limits::CHECK;
use super::targets::OUTCOMES;
use super::{ADMIN, OPS, SHOP, TOKENS};
use crate::room::Room;
use crate::schema::Book;

const UPLOAD: &str = "/v1/limits/:name-upload/check";
const REPORT: &str = "/v1/targets/:name/outcomes";

#[tokio::test]
async fn identifiers_keep_to_their_rule_in_every_body() {
    let room = Room::with_keys("documented").await;
    let service = Book::of(&room, "service").await;
    let long = "x".repeat(128);
    for (text, good) in [
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
        for (template, path, body) in [
            (TOKENS, "/v1/queues/:name/tokens", json!({ "visitor_id": text })),
            (CHECK, UPLOAD, json!({ "key": text })),
            (CHECK, UPLOAD, json!({ "key": "a", "group": text })),
            (CHECK, UPLOAD, json!({ "key": "a", "id": text, "group": "b" })),
            (OUTCOMES, REPORT, json!({ "success": true, "reporter": text })),
            (OUTCOMES, REPORT, json!({ "success": true, "id": text })),
        ] {
            let allowed = service.allows("post", template, &body);
            let call = room.call("service", Method::POST, path).key(SHOP).json(body.clone());
            let taken = call.send().await.status < 300;
            assert_eq!((allowed, taken), (good, good), "{path} {body}");
        }
    }
}

#[tokio::test]
async fn an_idempotency_key_keeps_to_its_rule() {
    let room = Room::with_keys("documented").await;
    let public = Book::of(&room, "public").await;
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
        let join = room.post("/v1/queues/:name/tokens").header("idempotency-key", &key);
        let taken = join.json(json!({})).send().await.status < 300;
        assert_eq!((allowed, taken), (good, good), "{key:?}");
    }
}

#[tokio::test]
async fn tickets_and_pages_of_places_keep_to_their_rules() {
    let room = Room::with_keys("documented").await;
    let service = Book::of(&room, "service").await;
    let path = format!("{ADMIN}/places/{{ticket}}");
    for (ticket, good) in [(1_u64, true), (0, false), ((1 << 53) - 1, true), (1 << 53, false)] {
        let allowed = service.allows_parameter("get", &path, "ticket", &json!(ticket));
        let look = format!("/v1/admin/queues/:name/places/{ticket}");
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
        let look = format!("/v1/admin/queues/:name/places?{name}={text}");
        let looked = room.call("service", Method::GET, &look).key(OPS).send().await.status;
        assert_eq!((allowed, looked != 400), (good, good), "{name}={value}");
    }
}

#[tokio::test]
async fn pages_of_changes_keep_to_their_rules() {
    let room = Room::with_keys("documented").await;
    let service = Book::of(&room, "service").await;
    let path = "/v1/admin/changes";
    for (name, value, good) in [
        ("entity", json!("queues:documented"), true),
        ("entity", json!("limits:documented-login"), true),
        ("entity", json!("documented"), false),
        ("entity", json!("queue:documented"), false),
        ("entity", json!("queues:Documented"), false),
        ("before", json!(1), true),
        ("before", json!((1_u64 << 53) - 1), true),
        ("before", json!(0), false),
        ("before", json!(1_u64 << 53), false),
        ("limit", json!(1), true),
        ("limit", json!(200), true),
        ("limit", json!(0), false),
        ("limit", json!(201), false),
    ] {
        let allowed = service.allows_parameter("get", path, name, &value);
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let entity = if name == "entity" { "" } else { "entity=queues:documented&" };
        let look = format!("{path}?{entity}{name}={text}");
        let looked = room.call("service", Method::GET, &look).key(OPS).send().await.status;
        assert_eq!((allowed, looked != 400), (good, good), "{name}={value}");
    }
}

#[tokio::test]
async fn a_reason_keeps_to_its_rule() {
    let room = Room::with_keys("documented").await;
    let service = Book::of(&room, "service").await;
    for (reason, good) in [("a", true), ("-", true), ("", false), ("a\u{7}", false)] {
        let body = json!({ "reason": reason });
        let allowed = service.allows("patch", ADMIN, &body);
        let call = room.call("service", Method::PATCH, "/v1/admin/queues/:name").key(OPS);
        let taken = call.json(body).send().await.status == 200;
        assert_eq!((allowed, taken), (good, good), "{reason:?}");
    }
}

#[tokio::test]
async fn a_body_is_needed_where_the_document_requires_it() {
    let room = Room::with_keys("documented").await;
    let empty = [
        ("public", "POST", "/v1/queues/:name/tokens", 201),
        ("service", "PATCH", "/v1/admin/queues/:name", 200),
    ];
    for (port, method, path, status) in empty {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        room.call(port, method, path).key(OPS).send().await.is(status);
    }
    for port in ["public", "service"] {
        for (path, method, operation) in Book::of(&room, port).await.operations() {
            let body = &operation["requestBody"];
            let needed = port == "service"
                && ([TOKENS, OUTCOMES, APPLICATIONS, STOCK].contains(&path)
                    || ["/limits/", "/pools/", "/find"].iter().any(|part| path.contains(part)));
            assert!(
                body.is_null() || body["required"].as_bool() == Some(needed),
                "{method} {path}"
            );
        }
    }
}

#[tokio::test]
async fn every_parameter_has_a_rule() {
    let room = Room::with_keys("documented").await;
    for port in ["public", "service"] {
        for (path, method, operation) in Book::of(&room, port).await.operations() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let free =
                    ["join", "lang", "on_refusal", "over", "path", "return_to", "x-anteroom-gate"];
                let name = parameter["name"].as_str().expect("a name");
                let schema = parameter["schema"].as_object().expect("a schema");
                let ruled =
                    ["pattern", "maximum", "enum"].iter().any(|it| schema.contains_key(*it));
                assert!(ruled || free.contains(&name), "{method} {path}: {name} may be anything");
            }
        }
    }
}
