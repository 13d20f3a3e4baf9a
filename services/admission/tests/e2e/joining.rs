//! Who joins: an anonymous visitor by a key of its own, or an identified one by what a backend
//! signs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anteroom_core::queue::AssertionKeys;
use serde_json::json;

use crate::{
    answer::Answer,
    room::{ONE, Room},
    shared,
};

const JOIN: &str = "/v1/queues/:name/tokens";
const IDENTITY: &str = shared::IDENTITY.1;

#[tokio::test]
async fn promise_04_a_hundred_joins_at_once_with_one_key_are_one_place() {
    let room = Room::shared(ONE).await;
    let mut joins = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let key = "one-key-of-22-characters";
        joins.spawn(room.post(JOIN).header("idempotency-key", key).send());
    }
    let answers = joins.join_all().await;
    assert!(answers.iter().all(|answer| answer.json()["ticket"] == 1));
    let created = answers.iter().filter(|answer| answer.status == 201);
    assert_eq!(created.count(), 1);
    assert_eq!(room.join().await.json()["ticket"], 2);
}

#[tokio::test]
async fn an_assertion_gives_a_known_visitor_its_one_place() {
    let room = Room::shared(ONE).await;
    let queue = &*room.name;
    let join = |assertion: String| room.post(JOIN).json(json!({ "assertion": assertion })).send();

    let phone = join(identity(IDENTITY, queue, "ana", 120)).await;
    assert_eq!(phone.is(201).place("ready")["ticket"], 1);
    let laptop = join(identity(IDENTITY, queue, "ana", 240)).await;
    assert_eq!(laptop.is(200).place("ready")["ticket"], 1, "a second device");
    let passed = room.authorize(&laptop.token()).await;
    assert_eq!(passed.is(200).header("x-anteroom-visitor"), "ana");
    let bob = join(identity(IDENTITY, queue, "bob", 120)).await;
    assert_eq!(bob.is(201).place("waiting")["ticket"], 2);

    let refused = |answer: Answer| assert_eq!(answer.refuses(401, "assertion_invalid").status, 401);
    refused(join(identity(IDENTITY, queue, "eve", -1)).await);
    refused(join(identity(IDENTITY, queue, "eve", 600)).await);
    refused(join(identity("a-secret-that-the-room-does-not-know", queue, "eve", 120)).await);
    refused(join(identity(IDENTITY, "opera", "eve", 120)).await);
    let good = identity(IDENTITY, queue, "eve", 120);
    refused(join(good.replace("ara1.", "ara2.")).await);
    refused(join(good[..good.len() - 1].to_owned()).await);
    refused(join(String::new()).await);
    assert_eq!(join(good).await.is(201).json()["ticket"], 3, "the refused ones took no ticket");
}

#[tokio::test]
async fn without_identity_secrets_no_identity_is_taken() {
    let room = Room::start(ONE).await;
    let assertion = identity(IDENTITY, &room.name, "ana", 120);
    let answer = room.post(JOIN).json(json!({ "assertion": assertion })).send().await;
    answer.refuses(401, "assertion_invalid");
}

/// What a backend signs, for so many seconds from now.
pub fn identity(secret: &str, queue: &str, visitor_id: &str, seconds: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let keys = AssertionKeys::new(&[secret.to_owned().into()]);
    keys.sign(queue, visitor_id, now.saturating_add_signed(seconds)).expect("there is a secret")
}
