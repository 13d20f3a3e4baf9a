//! The OpenAPI documents against the real answers: each port's calls ([`public`], [`service`] with
//! [`limits`], [`targets`], [`events`] and [`pools`]), and the rules of values ([`values`]).

mod events;
mod limits;
mod pools;
mod public;
mod service;
mod targets;
mod values;

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::Value;

use self::events::EVENTS;
use self::pools::{NO_HOLD, POOLS};
use self::targets::TARGETS;
use crate::{
    answer::Answer,
    key::key,
    limit_checks::LIMITS,
    room::{Call, ONE, PATIENT, Room},
    schema::Book,
    shared::{IDENTITY, OPS, SHOP},
};

const NARROW: &str = "ark1.the-key-for-another-queue";
const SCREEN: &str = "ark1.the-key-of-a-viewer";

const QUEUES: &str = "[queues.later]\ncapacity = 1\njoins_at = \"2199-01-01T00:00:00Z\"\n\
    [queues.few]\ncapacity = 1\njoins_per_address = \"1/1h\"\nrequests_per_place = 1\n\
    [admission]\nsse_max = 1\n";

const QUEUE: &str = "/v1/queues/{queue}";
const TOKENS: &str = "/v1/queues/{queue}/tokens";
const TOKEN: &str = "/v1/queues/{queue}/token";
const GATE: &str = "/v1/queues/{queue}/authorize";
const ADMIN: &str = "/v1/admin/queues/{queue}";

/// What a path may name, one that there is, and the refusal where there is none.
const NAMED: [(&str, &str, &str); 5] = [
    ("{queue}", "concert", "unknown_queue"),
    ("{limit}", "login", "unknown_limit"),
    ("{target}", "shop", "unknown_target"),
    ("{event}", "coupon", "unknown_event"),
    ("{pool}", "reward", "unknown_pool"),
];

/// What the tests of values have in the configuration.
pub fn keyed() -> String {
    format!("{ONE}{LIMITS}[targets.:name]\nmin_samples = 1\nopen_for = \"1s\"\n")
        .replace(":name", "documented")
}

async fn start() -> Room {
    let keys = key("ops", OPS, "operator", &[])
        + &key("shop", SHOP, "backend", &[])
        + &key("screen", SCREEN, "viewer", &[])
        + &key("narrow", NARROW, "operator", &["queues:few"]);
    let limits = LIMITS.replace(":name-", "");
    let entities = format!("{limits}{TARGETS}{EVENTS}{POOLS}");
    Room::start_with(
        &format!("{ONE}{QUEUES}{entities}{keys}"),
        &[&[IDENTITY][..], &PATIENT].concat(),
    )
    .await
}

/// A client that compares each answer with the document.
struct Client<'a> {
    room: &'a Room,
    book: Book,
    port: &'static str,
}

impl Client<'_> {
    /// Calls a template, with the queue `concert` and these other parts of the path.
    async fn call(
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
    async fn send(
        &self,
        method: &str,
        template: &str,
        body: Value,
        change: impl FnOnce(Call) -> Call,
    ) -> Answer {
        self.book.takes(method, template, &body);
        self.call(method, template, &[], |call| change(call.json(body))).await
    }
}

/// A template with the names of what there is.
fn named(template: &str) -> String {
    NAMED.iter().fold(template.to_owned(), |path, (part, name, _)| path.replace(part, name))
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
        let path = path.replace("{visitor_id}", "ann");
        let path = path.replace("{hold_id}", NO_HOLD);
        let refused = room.call(port, Method::TRACE, &path).send().await;
        refused.refuses(405, "method_not_allowed");
        let allowed: BTreeSet<_> =
            refused.header("allow").split(',').map(|name| name.trim().to_owned()).collect();
        assert_eq!(allowed, expected, "{path}");
    }
}
