//! The operator API: overrides with their ends, reset, places, eviction, roles and scopes.

use std::time::Duration;

use anteroom_testkit::{PATIENCE, client, until};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    key::key,
    room::{ONE, PATIENT, Room},
    shared::OPS,
};

const ADMIN: &str = "/v1/admin/queues/:name";
const GATE: &str = "/v1/queues/:name/authorize";
const BACKEND: &str = "ark1.of-the-shop";
const OTHER: &str = "ark1.of-another-queue";
const NARROW: &str = "ark1.of-this-queue";

/// A queue that opens in the far future.
pub const LATER: &str = "[queues.:name]\ncapacity = 5\nopens_at = \"2199-01-01T00:00:00Z\"\n";

/// What the tests with keys have in the configuration.
pub fn keyed() -> String {
    ONE.replace(":name", "roles")
        + &key("roles-shop", BACKEND, "backend", &["queues:roles"])
        + &key("roles-other", OTHER, "operator", &["queues:opera", "pools:roles"])
        + &key("roles-narrow", NARROW, "operator", &["queues:roles"])
}

async fn patch(room: &Room, body: Value) -> Answer {
    room.call("service", Method::PATCH, ADMIN).key(OPS).json(body).send().await
}

async fn look(room: &Room) -> Value {
    room.call("service", Method::GET, ADMIN).key(OPS).send().await.is(200).json()
}

/// So many milliseconds from now, as RFC 3339 writes it; the store judges by whole seconds.
fn from_now(seconds: u64) -> String {
    (Timestamp::now() + Duration::from_secs(seconds)).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[tokio::test]
async fn an_override_holds_until_its_end_and_null_takes_it_back() {
    let room = Room::shared(ONE).await;
    let (first, second) = (room.join().await.token(), room.join().await.token());
    let end = from_now(2);
    let state = patch(&room, json!({ "capacity": 2, "until": end })).await;
    assert_eq!(state.is(200).json()["state"], "open");
    patch(&room, json!({ "claim_ttl_ms": 30_000, "max_waiting": 7 })).await.is(200);
    let seen = look(&room).await;
    assert_eq!(seen["rules"]["capacity"], 2);
    let capacity = json!({ "value": 2, "configured": 1, "until": end });
    assert_eq!(seen["overrides"]["capacity"], capacity);
    let claim_ttl = json!({ "value": 30_000, "configured": 60_000 });
    assert_eq!(seen["overrides"]["claim_ttl_ms"], claim_ttl, "without an end");
    room.becomes(&second, "ready").await;

    until("the override ends by itself", PATIENCE, async || {
        look(&room).await["rules"]["capacity"] == 1
    })
    .await;
    let seen = look(&room).await;
    assert!(seen["overrides"].get("capacity").is_none(), "{seen}");
    assert_eq!(seen["rules"]["max_waiting"], 7, "the others keep their own ends");
    room.authorize(&first).await.is(200);
    room.authorize(&second).await.is(200);

    patch(&room, json!({ "max_waiting": null })).await.is(200);
    let seen = look(&room).await;
    assert_eq!(seen["rules"]["max_waiting"], 1_000_000);
    assert_eq!(seen["overrides"], json!({ "claim_ttl_ms": claim_ttl }));
    let unchanged = patch(&room, json!({})).await;
    assert_eq!(unchanged.is(200).json()["state"], "open");
}

/// The revision of the rules, once the scheduler has written those of its file.
async fn revision(room: &Room) -> String {
    until("the scheduler has written the rules", PATIENCE, async || {
        let read = room.call("service", Method::GET, ADMIN).key(OPS).send().await;
        !read.is(200).header("etag").starts_with("\"0-")
    })
    .await;
    let read = room.call("service", Method::GET, ADMIN).key(OPS).send().await;
    read.is(200).header("etag").to_owned()
}

/// Two operators read the same rules; the second to write is shown what the first has written.
#[tokio::test]
async fn a_change_is_refused_if_the_rules_are_not_those_that_were_read() {
    let room = Room::start_with(ONE, &PATIENT).await;
    let get = async || room.call("service", Method::GET, ADMIN).key(OPS).send().await;
    let patch_if = async |tag: &str, body: Value| {
        let call = room.call("service", Method::PATCH, ADMIN).key(OPS).header("if-match", tag);
        call.json(body).send().await
    };
    let read = revision(&room).await;
    assert_eq!(get().await.header("etag"), read, "a read changes nothing");
    let first = patch_if(&read, json!({ "capacity": 2 })).await.is(200).header("etag").to_owned();
    assert_ne!(first, read);
    for body in [json!({ "capacity": 9 }), json!({})] {
        let second = patch_if(&read, body).await;
        let problem = second.refuses(412, "revision_changed").json();
        assert_eq!(second.header("etag"), first);
        assert_eq!(problem["current"]["rules"]["capacity"], 2, "{problem}");
        let overridden = json!({ "value": 2, "configured": 1 });
        assert_eq!(problem["current"]["overrides"]["capacity"], overridden, "{problem}");
    }
    let seen = get().await;
    assert_eq!(
        (seen.json()["rules"]["capacity"].clone(), seen.header("etag").to_owned()),
        (json!(2), first.clone())
    );
    let again = patch_if(&first, json!({ "capacity": 2 })).await;
    assert_eq!(again.is(200).header("etag"), first, "the same again changes nothing");
    // A value is judged by rules that the caller has read.
    patch_if(&read, json!({ "session_ttl_ms": 1 })).await.refuses(412, "revision_changed");
    patch_if(&first, json!({ "session_ttl_ms": 1 })).await.refuses(422, "invalid_value");
    let next = patch_if(&first, json!({ "capacity": 3 })).await.is(200).header("etag").to_owned();
    for any in ["*", ""] {
        let body = json!({ "capacity": 4 });
        if any.is_empty() { patch(&room, body).await } else { patch_if(any, body).await }.is(200);
    }
    patch_if(&next, json!({ "capacity": 5 })).await.refuses(412, "revision_changed");
    for malformed in [
        "1-2-0",
        "W/\"1-2-0\"",
        "\"1-2\"",
        "\"1-2-0-0\"",
        "\"a-b-c\"",
        "\"+1-2-0\"",
        "\"1-2-0\", \"3-4-0\"",
        "\"1-18446744073709551616-0\"",
    ] {
        let refused = patch_if(malformed, json!({ "capacity": 6 })).await;
        let detail = refused.refuses(400, "bad_request").json()["detail"].to_string();
        assert!(detail.contains("If-Match must be"), "{malformed}: {detail}");
    }
    assert_eq!(look(&room).await["rules"]["capacity"], 4);
}

/// Clients at two admissions add one to the capacity, for the rules of their own last answer, over
/// and over: none is lost.
#[tokio::test]
async fn each_change_has_a_revision_of_its_own() {
    const EACH: usize = 60;
    let room = Room::start_with(ONE, &PATIENT).await;
    let other = room.anteroom.deployment.admission_with(&PATIENT).await;
    other.until_ready().await;
    revision(&room).await;
    let doors = [room.anteroom.admission.url("service"), other.url("service")];
    let doors = doors.map(|url| url + &room.text(ADMIN));
    let count = async |door: &str| {
        let read = client().get(door).send().await.expect("an answer");
        let mut tag = read.headers()["etag"].clone();
        let mut state: Value = read.json().await.expect("JSON");
        let mut tags = Vec::new();
        while tags.len() < EACH {
            let next = state["rules"]["capacity"].as_u64().expect("a capacity") + 1;
            let call = client().patch(door).header("if-match", &tag);
            let answer = call.json(&json!({ "capacity": next })).send().await.expect("an answer");
            tag = answer.headers()["etag"].clone();
            if answer.status() == 200 {
                tags.push(tag.clone());
                state["rules"]["capacity"] = next.into();
            } else {
                assert_eq!(answer.status(), 412);
                state = answer.json::<Value>().await.expect("JSON")["current"].clone();
            }
        }
        tags
    };
    let counts = (0..8).map(|n| count(&doors[n % 2]));
    let tags = futures_util::future::join_all(counts).await.concat();
    let distinct: std::collections::HashSet<_> = tags.iter().collect();
    assert_eq!(distinct.len(), tags.len(), "a revision was given to two");
    let seen: Value =
        client().get(&doors[0]).send().await.expect("one").json().await.expect("JSON");
    assert_eq!(seen["rules"]["capacity"], 1 + 8 * EACH);
}

/// Of many at the same time that have read the same rules, one is the first.
#[tokio::test]
async fn of_changes_to_the_same_rules_one_takes_effect() {
    let room = Room::start_with(ONE, &PATIENT).await;
    // Each round has values of its own: one that is in force already changes nothing.
    for round in 1..=3 {
        let values = 10 * round..10 * (round + 1);
        let read = revision(&room).await;
        let calls = values.clone().map(|capacity| {
            let call = room.call("service", Method::PATCH, ADMIN).key(OPS);
            call.header("if-match", &read).json(json!({ "capacity": capacity })).send()
        });
        let answers = futures_util::future::join_all(calls).await;
        let taken: Vec<_> = values.zip(&answers).filter(|(_, it)| it.status == 200).collect();
        assert_eq!(taken.len(), 1, "{answers:?}");
        assert_eq!(answers.iter().filter(|it| it.status == 412).count(), 9, "{answers:?}");
        assert_eq!(look(&room).await["rules"]["capacity"], taken[0].0);
    }
}

#[tokio::test]
async fn paused_and_closed_stop_what_they_should_and_nothing_else() {
    let room = Room::shared(ONE).await;
    let (first, second) = (room.join().await.token(), room.join().await.token());
    let state = patch(&room, json!({ "state": "paused", "reason": "a fault in the hall" })).await;
    assert_eq!(state.is(200).json()["reason"], "a fault in the hall");
    room.authorize(&first).await.is(200);
    room.leave(&first).await.is(204);
    let third = room.join().await;
    assert_eq!(third.is(201).place("waiting")["eta_ms"], Value::Null);
    let waits = room.get("/v1/queues/:name/token").token(&second).send().await;
    waits.is(200).place("waiting");

    let state = patch(&room, json!({ "state": "closed" })).await;
    assert_eq!(state.is(200).json().get("reason"), None, "an old reason goes with its state");
    room.becomes(&second, "ready").await;
    let refused = room.join().await;
    assert!(!refused.refuses(503, "queue_closed").header("retry-after").is_empty());
    let again = room.post("/v1/queues/:name/tokens").token(&third.token()).send().await;
    again.is(200).place("waiting");
    patch(&room, json!({ "state": null })).await.is(200);
    room.join().await.is(201);
}

#[tokio::test]
async fn bypass_passes_everyone_until_its_end() {
    let room = Room::shared(ONE).await;
    room.join().await.is(201);
    let waiting = room.join().await.token();
    room.authorize(&waiting).await.refuses(403, "not_admitted");
    patch(&room, json!({ "state": "bypass", "until": from_now(3) })).await.is(200);
    let waits = room.get(GATE).token(&waiting);
    for call in [waits, room.get(GATE), room.post(GATE), room.get(GATE).token("forged")] {
        let passed = call.send().await;
        assert_eq!(passed.is(200).headers["x-anteroom-visitor"], "");
    }
    let counted = "anteroom_gate_answers_total{answer=\"bypass\",queue=\":name\"}";
    assert_eq!(room.count(counted).await, 4);
    until("the bypass ends by itself", PATIENCE, async || {
        room.get(GATE).send().await.status == 401
    })
    .await;
    room.authorize(&waiting).await.refuses(403, "not_admitted");
    until("the queue is open", PATIENCE, async || look(&room).await["state"] == "open").await;
}

#[tokio::test]
async fn promotion_waits_for_opens_at() {
    let room = Room::shared(LATER).await;
    let early = room.join().await;
    early.is(201).place("waiting");
    patch(&room, json!({ "opens_at": from_now(1) })).await.is(200);
    room.becomes(&early.token(), "ready").await;
}

#[tokio::test]
async fn a_reset_removes_all_places_and_restarts_tickets() {
    let room = Room::shared(ONE).await;
    let (first, second) = (room.join().await.token(), room.join().await.token());
    room.authorize(&first).await.is(200);
    patch(&room, json!({ "claim_ttl_ms": 30_000 })).await.is(200);
    let reset = room.call("service", Method::POST, &format!("{ADMIN}/reset")).key(OPS).send().await;
    reset.is(202);
    let seen = look(&room).await;
    let kept = (&seen["last_ticket"], &seen["rules"]["claim_ttl_ms"]);
    assert_eq!(kept, (&json!(0), &json!(30_000)), "the rules stay");
    for token in [&first, &second] {
        let gone = room.get("/v1/queues/:name/token").token(token).send().await;
        assert_eq!(gone.refuses(410, "place_gone").json()["reason"], "lost");
        room.authorize(token).await.refuses(403, "place_gone");
    }
    let again = room.post("/v1/queues/:name/tokens").token(&second).send().await;
    assert_eq!(again.is(201).place("ready")["ticket"], 1);
    room.authorize(&again.token()).await.is(200);
}

#[tokio::test]
async fn an_operator_looks_at_a_ticket_and_takes_it_away() {
    let room = Room::shared(ONE).await;
    let (first, second) = (room.join().await.token(), room.join().await.token());
    let ticket = async |method: Method, number: u64| {
        room.call("service", method, &format!("{ADMIN}/places/{number}")).key(OPS).send().await
    };
    let seen = ticket(Method::GET, 1).await.is(200).json();
    assert_eq!((&seen["ticket"], &seen["status"]), (&json!(1), &json!("ready")));
    assert!(seen["expires_in_ms"].as_u64().is_some_and(|left| left <= 60_000), "{seen}");
    assert!(seen["joined_at"].is_string() && seen["since"].is_string(), "{seen}");
    room.authorize(&first).await.is(200);
    assert_eq!(ticket(Method::GET, 1).await.json()["status"], "active");
    assert_eq!(ticket(Method::GET, 2).await.json()["status"], "waiting");

    ticket(Method::DELETE, 1).await.is(204);
    ticket(Method::DELETE, 1).await.is(204);
    let seen = ticket(Method::GET, 1).await.is(200).json();
    assert_eq!((&seen["status"], &seen["reason"]), (&json!("gone"), &json!("evicted")));
    let gone = room.get("/v1/queues/:name/token").token(&first).send().await;
    assert_eq!(gone.refuses(410, "place_gone").json()["reason"], "evicted");
    room.authorize(&first).await.refuses(403, "place_gone");
    room.becomes(&second, "ready").await;
}

#[tokio::test]
async fn an_operator_finds_a_place_without_an_id_in_the_url() {
    let room = Room::shared(ONE).await;
    let join = |visitor: &str| {
        let call = room.call("service", Method::POST, "/v1/queues/:name/tokens").key(OPS);
        call.json(json!({ "visitor_id": visitor })).send()
    };
    join("ana").await.is(201);
    let second = join("ben@shop.example").await.is(201).token();
    let places = room.call("service", Method::GET, &format!("{ADMIN}/places")).key(OPS);
    let handle = places.send().await.is(200).json()["places"][1]["place"].clone();
    let find = async |body: &Value| {
        let call = room.call("service", Method::POST, &format!("{ADMIN}/places/find")).key(OPS);
        call.json(body.clone()).send().await
    };
    let names = [
        json!({ "ticket": 2 }),
        json!({ "handle": handle }),
        json!({ "visitor_id": "ben@shop.example" }),
    ];
    for name in &names {
        let found = find(name).await.is(200).json();
        assert_eq!((&found["ticket"], &found["status"]), (&json!(2), &json!("waiting")), "{name}");
        assert!(found["joined_at"].is_string(), "{found}");
    }
    room.leave(&second).await.is(204);
    for name in &names[..2] {
        let found = find(name).await.is(200).json();
        assert_eq!(
            (&found["status"], &found["reason"]),
            (&json!("gone"), &json!("left")),
            "{name}"
        );
    }
    for nothing in [&names[2], &json!({ "ticket": 3 }), &json!({ "visitor_id": "eve" })] {
        find(nothing).await.refuses(404, "not_found");
    }
    let one = "send exactly one of ticket, handle and visitor_id";
    for (body, status, code, detail) in [
        (json!({}), 422, "invalid_value", one),
        (json!({ "ticket": 2, "visitor_id": "ana" }), 422, "invalid_value", one),
        (json!({ "ticket": 0 }), 422, "invalid_value", "ticket must be"),
        (json!({ "ticket": "2" }), 400, "invalid_body", "ticket"),
        (json!({ "handle": "A" }), 422, "invalid_value", "handle must be"),
        (json!({ "visitor_id": " ana" }), 422, "invalid_value", "visitor_id must be"),
        (json!({ "name": "ana" }), 400, "invalid_body", "name"),
    ] {
        let refused = find(&body).await.refuses(status, code).json()["detail"].to_string();
        assert!(refused.contains(detail), "{body}: {refused}");
    }
}

#[tokio::test]
async fn an_operator_reads_the_line_page_by_page() {
    let room = Room::shared(ONE).await;
    let first = room.join().await.token();
    for _ in 0..4 {
        room.join().await.is(201);
    }
    let passed = room.authorize(&first).await;
    let handle = passed.is(200).header("x-anteroom-place");
    let places = async |query: &str| {
        let path = format!("{ADMIN}/places{query}");
        room.call("service", Method::GET, &path).key(OPS).send().await
    };
    let tickets = |page: &Value| {
        let places = page["places"].as_array().expect("places").iter();
        places.map(|place| (place["ticket"].clone(), place["status"].clone())).collect::<Vec<_>>()
    };
    let stand = |ticket: u64, status: &str| (json!(ticket), json!(status));
    let (mut seen, mut after) = (Vec::new(), json!(0));
    for (count, next) in [(2, json!(2)), (2, json!(4)), (1, Value::Null)] {
        let page = places(&format!("?after={after}&limit=2")).await.is(200).json();
        let on_it = tickets(&page);
        assert_eq!((on_it.len(), &page["next"]), (count, &next), "{page}");
        seen.extend(on_it);
        after = next;
    }
    let waiting: Vec<_> = (2..=5).map(|ticket| stand(ticket, "waiting")).collect();
    assert_eq!((&seen[0], &seen[1..]), (&stand(1, "active"), &waiting[..]));
    assert_eq!(tickets(&places("?state=waiting").await.is(200).json()), waiting);
    let active = places("?state=active").await.is(200).json();
    assert_eq!((tickets(&active), &active["next"]), (vec![stand(1, "active")], &Value::Null));
    for state in ["ready", "away"] {
        let none = places(&format!("?state={state}")).await.is(200).json();
        assert_eq!(none, json!({ "places": [], "next": null }), "{state}");
    }

    let listed = &active["places"][0];
    assert!(listed["joined_at"].is_string() && listed["since"].is_string(), "{listed}");
    assert!(listed["expires_in_ms"].as_u64().is_some_and(|left| left <= 300_000), "{listed}");
    assert_eq!(listed["place"], handle, "the handle that the gate gave");
    let renew = format!("/v1/queues/:name/places/{handle}/renew");
    room.call("service", Method::POST, &renew).send().await.is(200);

    for (query, named) in [
        ("?state=gone", "state must be one of"),
        ("?after=x", "after must be a whole number"),
        ("?limit=201", "limit must be a whole number from 1 to 200"),
        ("?first=1", "`first`"),
        (&*format!("?{}=1", "x".repeat(5_000)), "unknown parameter"),
    ] {
        let refused = places(query).await;
        let detail = refused.refuses(400, "bad_request").json()["detail"].to_string();
        assert!(detail.contains(named) && detail.len() < 250, "{query}: {detail}");
    }
}

#[tokio::test]
async fn roles_and_scopes_decide_who_may() {
    let room = Room::with_keys("roles").await;
    let answers_to = async |key: &str| {
        let state = room.call("service", Method::GET, "/v1/queues/:name").key(key).send().await;
        let admin = room.call("service", Method::GET, ADMIN).key(key).send().await;
        [state, admin].map(|answer| (answer.status, answer.code()))
    };
    let refused = |status, code: &str| (status, code.to_owned());
    let (may, forbidden) = (refused(200, ""), refused(403, "key_forbidden"));
    assert_eq!(answers_to(OPS).await, [may.clone(), may.clone()]);
    assert_eq!(answers_to(NARROW).await, [may.clone(), may.clone()]);
    assert_eq!(answers_to(BACKEND).await, [may, forbidden.clone()]);
    assert_eq!(answers_to(OTHER).await, [forbidden.clone(), forbidden]);
    let invalid = refused(401, "key_invalid");
    for wrong in ["ark1.unknown", "art1.AAAA", "ark1.", &"ark1.x".repeat(1_000)] {
        assert_eq!(answers_to(wrong).await, [invalid.clone(), invalid.clone()], "{wrong}");
    }
    let none = room.service(ADMIN).await;
    none.refuses(401, "key_missing");
    // With keys the port may be behind a proxy.
    let forwarded = room.call("service", Method::GET, ADMIN).key(OPS);
    forwarded.header("x-forwarded-for", "203.0.113.7").send().await.is(200);
}

#[tokio::test]
async fn without_keys_the_port_serves_its_own_machine_only() {
    let room = Room::shared(ONE).await;
    let call = || room.call("service", Method::GET, ADMIN);
    call().key("ark1.any").send().await.is(200);
    call().header("via", "127.0.0.1").send().await.refuses(403, "forwarded_refused");
    let log = room.anteroom.admission.process.stdout();
    assert!(log.contains("\"level\":\"WARN\"") && log.contains("key"), "{log}");
}
