//! `local_answers`: the gateway check answers for places that it knows as active, and for no
//! others.

use std::fmt::Write as _;

use anteroom_testkit::{PATIENCE, Redis, until};
use reqwest::Method;
use serde_json::json;

use crate::room::Room;

const ADMIN: &str = "/v1/admin/queues/:name";
pub const LOCAL: &str =
    "[queues.:name]\ncapacity = 2\nlocal_answers = true\nrequests_per_place = 0\n";

/// How often the gate of the queue gave an answer by this rule.
async fn answered(room: &Room, by: &str) -> u64 {
    room.count(&format!("anteroom_gate_answers_total{{answer=\"{by}\",queue=\":name\"}}")).await
}

async fn authorizes(room: &Room) -> u64 {
    room.count("anteroom_operations_total{operation=\"queue.authorize\",outcome=\"ok\"}").await
}

/// Sends gateway checks for a place until one answer was local.
async fn becomes_local(room: &Room, token: &str) {
    let before = answered(room, "local").await;
    until("the gate answers by itself", PATIENCE, async || {
        room.authorize(token).await;
        answered(room, "local").await > before
    })
    .await;
}

#[tokio::test]
async fn a_place_that_is_known_as_active_passes_without_the_store() {
    let room = Room::behind_own_admission(LOCAL, &[]).await;
    let token = room.join().await.is(201).token();
    becomes_local(&room, &token).await;
    let (local, checks) = (answered(&room, "local").await, authorizes(&room).await);
    let admitted = answered(&room, "admitted").await;
    for _ in 0..300 {
        let answer = room.authorize(&token).await;
        assert_eq!(answer.is(200).header("x-anteroom-visitor"), "1");
        assert!(!answer.header("x-anteroom-place").is_empty(), "{answer:?}");
        let left: u64 = answer.header("x-anteroom-expires-in").parse().expect("seconds");
        assert!((200..=300).contains(&left), "{left}");
    }
    let admitted = answered(&room, "admitted").await - admitted;
    assert_eq!(answered(&room, "local").await - local, 300 - admitted);
    assert_eq!(authorizes(&room).await - checks, admitted, "a local answer needs no Redis");
    // A reading that comes late on a busy machine costs a few.
    assert!(admitted < 150, "{admitted} of 300 reached Redis");

    // All others go to Redis.
    room.authorize("forged").await.refuses(401, "token_invalid");
    let second = room.join().await.token();
    let waits = room.join().await.token();
    room.authorize(&waits).await.refuses(403, "not_admitted");
    becomes_local(&room, &second).await;
}

#[tokio::test]
async fn a_visitor_that_left_elsewhere_or_was_evicted_passes_no_more() {
    let room = Room::shared(LOCAL).await;
    let (first, second) = (room.join().await.token(), room.join().await.token());
    let other = room.anteroom.deployment.admission().await;
    // It listens before it has found the store.
    other.until_ready().await;
    becomes_local(&room, &first).await;
    becomes_local(&room, &second).await;
    let leave = room.call_at(&other.url("public"), Method::DELETE, "/v1/queues/:name/token");
    leave.token(&first).send().await.is(204);
    room.call("service", Method::DELETE, &format!("{ADMIN}/places/2")).send().await.is(204);
    for (token, reason) in [(&first, "completed"), (&second, "evicted")] {
        until("the gate knows of it", PATIENCE, async || room.authorize(token).await.status == 403)
            .await;
        let refused = room.authorize(token).await;
        assert_eq!(refused.refuses(403, "place_gone").json()["reason"], reason);
    }
    // After a reset the place is lost.
    let third = room.join().await.token();
    room.becomes(&third, "ready").await;
    becomes_local(&room, &third).await;
    room.call("service", Method::POST, &format!("{ADMIN}/reset")).send().await.is(202);
    until("the gate knows of the reset", PATIENCE, async || {
        room.authorize(&third).await.status == 403
    })
    .await;
}

#[tokio::test]
async fn while_redis_is_down_on_store_error_decides() {
    let mut queues = String::new();
    for (name, rule) in [("hold", "hold"), ("shut", "closed")] {
        let _ = write!(
            queues,
            "[queues.{name}]\ncapacity = 1\nlocal_answers = true\non_store_error = \"{rule}\"\n\
             requests_per_place = 0\n"
        );
    }
    let redis = Redis::start().await;
    let room = Room::start_on(redis, &queues, &[]).await;
    let gate = async |queue: &str, token: &str| {
        let path = format!("/v1/queues/{queue}/authorize");
        room.get(&path).token(token).send().await
    };
    let local = async |queue: &str| {
        let local = format!("anteroom_gate_answers_total{{answer=\"local\",queue=\"{queue}\"}}");
        room.count(&local).await
    };
    let mut tokens = Vec::new();
    for queue in ["hold", "shut"] {
        let joined = room.post(&format!("/v1/queues/{queue}/tokens")).send().await;
        let token = joined.is(201).token();
        until("the gate answers by itself", PATIENCE, async || {
            gate(queue, &token).await;
            local(queue).await > 0
        })
        .await;
        tokens.push(token);
    }
    for _ in 0..2 {
        room.anteroom.deployment.redis.freeze();
        until("the last reading has become old", PATIENCE, async || {
            let answer = gate("shut", &tokens[1]).await;
            answer.status == 403
        })
        .await;
        let before = (local("hold").await, local("shut").await);
        for _ in 0..5 {
            gate("shut", &tokens[1]).await.refuses(403, "store_unavailable");
            gate("hold", &tokens[0]).await.is(200);
        }
        assert_eq!((local("hold").await, local("shut").await), before, "not by itself");
        room.anteroom.deployment.redis.thaw();
        for (queue, token) in ["hold", "shut"].into_iter().zip(&tokens) {
            let before = local(queue).await;
            until("the gate answers by itself again", PATIENCE, async || {
                gate(queue, token).await;
                local(queue).await > before
            })
            .await;
        }
    }
}

#[tokio::test]
async fn the_rule_is_switched_by_the_file_and_by_operators() {
    let room = Room::start(LOCAL).await;
    let token = room.join().await.token();
    becomes_local(&room, &token).await;
    let stops = async || {
        until("the rule is off", PATIENCE, async || {
            let seen = room.service(ADMIN).await.is(200).json();
            seen["rules"]["local_answers"] == false
        })
        .await;
        let before = answered(&room, "local").await;
        for _ in 0..20 {
            room.authorize(&token).await.is(200);
        }
        // The view reads Redis now, the readings do 50 ms later.
        until("no answer is local any more", PATIENCE, async || {
            let before = answered(&room, "local").await;
            for _ in 0..20 {
                room.authorize(&token).await.is(200);
            }
            answered(&room, "local").await == before
        })
        .await;
        answered(&room, "local").await - before
    };
    room.reconfigure(&LOCAL.replace("true", "false"));
    stops().await;
    let patch = async |value: serde_json::Value| {
        room.patch_json(ADMIN, json!({ "local_answers": value })).await.is(200);
    };
    patch(json!(true)).await;
    becomes_local(&room, &token).await;
    patch(json!(null)).await;
    stops().await;
}
