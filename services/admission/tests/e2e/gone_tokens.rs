//! A token acts on the place that it names, and on no other of its holder. The token of a place
//! that has ended counts as no token.

use std::cell::Cell;

use anteroom_testkit::{PATIENCE, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    joining::identity,
    journey::cookie_of,
    room::{Call, PATIENT, Room},
    shared::IDENTITY,
    store_dump::{idle, noted, noting},
};

pub const QUEUE: &str = "[queues.:name]\ncapacity = 20\nrequests_per_place = 0\n";
const TOKENS: &str = "/v1/queues/:name/tokens";
const TOKEN: &str = "/v1/queues/:name/token";
const GATE: &str = "/v1/queues/:name/authorize";
const PAGE: &str = "/queues/:name";
const ADMIN: &str = "/v1/admin/queues/:name";
/// A queue of short sessions, and one that slows a hasty visitor down.
pub const SHORT: &str = "[queues.:name]\ncapacity = 20\nrequests_per_place = 0\n\
    session_ttl = \"5s\"\n";
pub const SLOW: &str = "[queues.:name]\ncapacity = 20\nrequests_per_place = 2\n";
const KEY: &str = "a-key-of-22-characters-and-more";

fn by_key(room: &Room) -> Call {
    room.post(TOKENS).header("idempotency-key", KEY)
}

fn by_assertion(room: &Room) -> Call {
    let assertion = identity(IDENTITY.1, &room.name, "ana", 120);
    room.post(TOKENS).json(json!({ "assertion": assertion }))
}

async fn reset(room: &Room) {
    room.call("service", Method::POST, &format!("{ADMIN}/reset")).send().await.is(202);
}

async fn patch(room: &Room, body: Value) {
    room.patch_json(ADMIN, body).await.is(200);
}

#[tokio::test]
async fn promise_06_the_token_of_a_gone_place_finds_no_later_place_of_its_holder() {
    let room = Room::shared(QUEUE).await;
    let first = by_key(&room).send().await.is(201).token();
    room.leave(&first).await.is(204);
    let second = by_key(&room).send().await;
    assert_eq!(second.is(201).json()["ticket"], 2);

    // A client with only the old token, as from a lost device, is a new visitor.
    let stranger = room.post(TOKENS).token(&first).send().await;
    assert_eq!(stranger.is(201).json()["ticket"], 3);
    // The Idempotency-Key is as good a proof as ever, the old token beside it or not.
    let holder = by_key(&room).token(&first).send().await;
    assert_eq!(holder.is(200).json()["ticket"], 2);
    // And the token of a place that is there takes precedence over the key.
    let other = by_key(&room).token(&stranger.token()).send().await;
    assert_eq!(other.is(200).json()["ticket"], 3);
    room.get(TOKEN).token(&first).send().await.refuses(410, "place_gone");
    by_key(&room).token("art1.forged").send().await.refuses(401, "token_invalid");
}

#[tokio::test]
async fn promise_04_five_tabs_get_one_place_after_a_loss() {
    let room = Room::shared(QUEUE).await;
    let old = cookie_of(&room.post(TOKENS).browser().json(json!({})).send().await);
    reset(&room).await;
    // They hold the same cookie, and share the key.
    let tabs = (0..5).map(|_| by_key(&room).cookie(&old).json(json!({})).send());
    let tabs = futures_util::future::join_all(tabs).await;
    assert!(tabs.iter().all(|tab| tab.json()["ticket"] == 1), "{tabs:?}");
    assert_eq!(tabs.iter().filter(|tab| tab.status == 201).count(), 1);
    assert_eq!(room.join().await.json()["ticket"], 2);
}

#[tokio::test]
async fn promise_06_an_identified_visitor_needs_a_new_signed_identity_after_its_place_is_gone() {
    let room = Room::shared(QUEUE).await;
    for how in ["left", "evicted", "reset"] {
        let joined = by_assertion(&room).send().await;
        let (token, ticket) = (joined.is(201).token(), joined.json()["ticket"].clone());
        let again = room.post(TOKENS).token(&token).send().await;
        assert_eq!(again.is(200).json()["ticket"], ticket, "while it is there it is enough");
        match how {
            "left" => _ = room.leave(&token).await.is(204),
            "evicted" => {
                let path = format!("{ADMIN}/places/{ticket}");
                room.call("service", Method::DELETE, &path).send().await.is(204);
            }
            _ => reset(&room).await,
        }
        let refused = |answer: Answer| {
            answer.refuses(401, "assertion_missing");
            assert!(answer.headers.get("set-cookie").is_none(), "{how}: {answer:?}");
        };
        refused(room.post(TOKENS).token(&token).send().await);
        refused(by_key(&room).token(&token).send().await);
        // The gateway check, with joins for visitors without a place.
        refused(room.get(&format!("{GATE}?join=1")).token(&token).send().await);
        let behind = room.get(&format!("{GATE}/seats")).header("x-anteroom-gate", "join");
        refused(behind.token(&token).send().await);
        // Without a join the answer is that the place is gone.
        let gone = room.authorize(&token).await;
        gone.refuses(403, "place_gone");
        // The page's button leads to where the visitor came from.
        let cookie = room.cookie(&token);
        let press = room.post(&format!("{PAGE}?return_to=/seats")).cookie(&cookie).send().await;
        assert_eq!(press.is(303).header("location"), "/seats");
        assert!(press.headers.get("set-cookie").is_none(), "{press:?}");
        let nowhere = room.post(PAGE).cookie(&cookie).send().await;
        assert!(
            nowhere.is(401).text.contains("Go back to the site that you came from"),
            "{nowhere:?}"
        );
        // No visitor has joined meanwhile; a signed identity gives a place.
        let joined = by_assertion(&room).token(&token).send().await;
        let next = if how == "reset" { 1 } else { ticket.as_u64().expect("a ticket") + 1 };
        assert_eq!(joined.is(201).json()["ticket"], next);
        room.leave(&joined.token()).await.is(204);
    }
}

#[tokio::test]
async fn an_anonymous_visitor_gets_a_new_place_at_the_gate_and_by_the_page() {
    let room = Room::shared(QUEUE).await;
    let first = by_key(&room).send().await.is(201).token();
    room.leave(&first).await.is(204);
    let other = by_key(&room).send().await.is(201).token();

    let gate = |path: &str| room.get(path).token(&first);
    let gone = gate(GATE).send().await;
    assert_eq!(gone.refuses(403, "place_gone").json()["reason"], "left");
    assert_eq!(gone.header("x-anteroom-refusal"), "place_gone");
    let picture = gate(&format!("{GATE}?join=1")).header("sec-fetch-dest", "image").send().await;
    picture.refuses(403, "place_gone");
    let passed = gate(&format!("{GATE}?join=1")).send().await;
    assert_eq!(passed.is(200).header("x-anteroom-visitor"), "3", "not that of its key");

    let cookie = room.cookie(&first);
    let form = format!("key={KEY}");
    let kind = "application/x-www-form-urlencoded";
    let pressed = room.post(PAGE).cookie(&cookie).body(kind, form).send().await;
    let place = room.get(TOKEN).cookie(&cookie_of(pressed.is(303))).send().await;
    assert_eq!(place.is(200).json()["ticket"], 2, "the form's key decides");
    let pressed = room.post(PAGE).cookie(&cookie).send().await;
    let place = room.get(TOKEN).cookie(&cookie_of(pressed.is(303))).send().await;
    assert_eq!(place.is(200).json()["ticket"], 4);
    room.get(TOKEN).token(&other).send().await.is(200);
}

#[tokio::test]
async fn a_join_with_a_known_place_is_one_call_of_one_script() {
    let room = Room::start_on(noting().await, QUEUE, &PATIENT).await;
    let token = room.join().await.token();
    room.anteroom.scheduler.process.freeze();
    let idle = idle(&room.anteroom.deployment.redis).await;
    room.post(TOKENS).token(&token).send().await.is(200);
    let during = noted(&room.anteroom.deployment.redis).await;
    let scripts: Vec<_> =
        during.iter().filter(|name| name.starts_with("EVALSHA") && !idle.contains(*name)).collect();
    assert_eq!(scripts.len(), 1, "{during:?}");
}

#[tokio::test]
async fn promise_06_in_bypass_a_token_names_only_a_place_that_is_known() {
    let room = Room::shared(QUEUE).await;
    let (gone, active) = (room.join().await.token(), room.join().await.token());
    room.leave(&gone).await.is(204);
    patch(&room, json!({ "state": "bypass", "until": "2199-01-01T00:00:00Z" })).await;
    until("the gate is open", PATIENCE, async || room.get(GATE).send().await.status == 200).await;
    for _ in 0..20 {
        let passed = room.authorize(&gone).await;
        for name in ["x-anteroom-visitor", "x-anteroom-visitor-kind", "x-anteroom-place"] {
            assert_eq!(passed.is(200).header(name), "", "{name}");
        }
    }
    // The turn is taken as ever, and then this process knows it.
    until("the gate knows who passes", PATIENCE, async || {
        room.authorize(&active).await.is(200).header("x-anteroom-visitor") == "2"
    })
    .await;
    room.get(TOKEN).token(&active).send().await.is(200).place("active");
    room.leave(&active).await.is(204);
    assert_eq!(room.authorize(&active).await.is(200).header("x-anteroom-visitor"), "");
}

#[tokio::test]
async fn in_bypass_the_sessions_in_use_live_on() {
    let room = Room::shared(SHORT).await;
    let token = room.join().await.token();
    room.authorize(&token).await.is(200);
    patch(&room, json!({ "state": "bypass", "until": "2199-01-01T00:00:00Z" })).await;
    // Only a renewal makes the time that is left longer.
    let least = Cell::new(u64::MAX);
    until("the session is renewed", PATIENCE, async || {
        room.authorize(&token).await.is(200);
        let place = room.get(TOKEN).token(&token).send().await;
        let left = place.is(200).place("active")["expires_in_ms"].as_u64().expect("a time");
        left > least.replace(least.get().min(left))
    })
    .await;
    patch(&room, json!({ "state": null })).await;
    let passed = room.authorize(&token).await;
    assert_eq!(passed.is(200).header("x-anteroom-visitor"), "1", "no session ends with the bypass");
}

/// The old token polls as often as it can.
#[tokio::test]
async fn promise_06_the_token_of_a_gone_place_slows_no_later_place_of_its_holder_down() {
    let room = Room::shared(SLOW).await;
    let old = by_assertion(&room).send().await.is(201).token();
    room.leave(&old).await.is(204);
    let new = by_assertion(&room).send().await.is(201).token();
    let mut slowed = 0;
    for _ in 0..60 {
        let polled = room.get(TOKEN).token(&old).send().await;
        slowed += usize::from(polled.status == 429);
    }
    assert!(slowed > 0, "the old token has used up its rate");
    room.get(TOKEN).token(&new).send().await.is(200);
    room.get(GATE).token(&new).send().await.is(200);
}
