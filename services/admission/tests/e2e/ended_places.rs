//! A place that has ended passes no visitor while Redis is down, at the process that knows its end.

use anteroom_testkit::Redis;
use reqwest::Method;
use serde_json::json;

use crate::gone_tokens::QUEUE;
use crate::room::Room;

const TOKEN: &str = "/v1/queues/:name/token";
const ADMIN: &str = "/v1/admin/queues/:name";

/// A room with a Redis of its own, and a visitor whom its admission knows as active.
async fn with_active_visitor() -> (Room, String) {
    let room = Room::start_on(Redis::start().await, QUEUE, &[]).await;
    let token = room.join().await.is(201).token();
    room.authorize(&token).await.is(200);
    (room, token)
}

async fn does_not_pass_without_redis(mut room: Room, token: &str) {
    room.anteroom.deployment.redis.kill();
    room.authorize(token).await.refuses(403, "store_unavailable");
}

#[tokio::test]
async fn promise_06_after_a_reset_no_old_place_passes_without_redis() {
    let (room, token) = with_active_visitor().await;
    room.call("service", Method::POST, &format!("{ADMIN}/reset")).send().await.is(202);
    does_not_pass_without_redis(room, &token).await;
}

#[tokio::test]
async fn promise_06_an_evicted_place_does_not_pass_without_redis() {
    let (room, token) = with_active_visitor().await;
    let place = format!("{ADMIN}/places/1");
    room.call("service", Method::DELETE, &place).send().await.is(204);
    does_not_pass_without_redis(room, &token).await;
}

/// Another admission evicts the visitor.
async fn is_evicted_elsewhere(room: &Room) {
    let other = room.anteroom.deployment.admission().await;
    other.until_ready().await;
    let place = format!("{ADMIN}/places/1");
    room.call_at(&other.url("service"), Method::DELETE, &place).send().await.is(204);
}

/// As after an eviction whose reply was lost: the second attempt finds nothing.
#[tokio::test]
async fn promise_06_a_place_that_is_evicted_again_does_not_pass_without_redis() {
    let (room, token) = with_active_visitor().await;
    is_evicted_elsewhere(&room).await;
    let place = format!("{ADMIN}/places/1");
    room.call("service", Method::DELETE, &place).send().await.is(204);
    does_not_pass_without_redis(room, &token).await;
}

#[tokio::test]
async fn promise_06_a_place_whose_stream_has_ended_does_not_pass_without_redis() {
    let (room, token) = with_active_visitor().await;
    let events = room.call("public", Method::GET, &format!("{TOKEN}/events"));
    let events = events.token(&token).open().await;
    is_evicted_elsewhere(&room).await;
    let events = events.text().await.expect("the whole stream");
    assert!(events.contains("event: gone"), "{events}");
    does_not_pass_without_redis(room, &token).await;
}

/// This admission has only answered that it is gone.
#[tokio::test]
async fn promise_06_a_place_that_was_answered_as_gone_does_not_pass_without_redis() {
    for (method, path) in [(Method::GET, ""), (Method::POST, "/claim"), (Method::POST, "/renew")] {
        let (room, token) = with_active_visitor().await;
        is_evicted_elsewhere(&room).await;
        let call = room.call("public", method, &format!("{TOKEN}{path}"));
        call.token(&token).send().await.refuses(410, "place_gone");
        does_not_pass_without_redis(room, &token).await;
    }
}

/// Another admission resets the queue; of this one a call reads the new epoch before the task does
/// that reads it about once a second.
#[tokio::test]
async fn promise_06_after_a_reset_elsewhere_no_old_place_passes_without_redis() {
    let (room, token) = with_active_visitor().await;
    let other = room.anteroom.deployment.admission().await;
    other.until_ready().await;
    let reset = format!("{ADMIN}/reset");
    room.call_at(&other.url("service"), Method::POST, &reset).send().await.is(202);
    room.patch_json(ADMIN, json!({ "capacity": 10 })).await.is(200);
    does_not_pass_without_redis(room, &token).await;
}
