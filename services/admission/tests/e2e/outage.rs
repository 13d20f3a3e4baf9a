//! Redis is slow, down, or comes back empty: what the gateway check, the visitors and the probes
//! get.

use anteroom_testkit::{PATIENCE, Redis, until};
use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt as _};

use crate::{
    answer::Answer,
    room::{Call, ONE, Room},
    shared::PROXIES,
};

const THREE: &str = "[queues.hold]\ncapacity = 1\n\
    [queues.shut]\ncapacity = 1\non_store_error = \"closed\"\n\
    [queues.free]\ncapacity = 1\non_store_error = \"open\"\nopen_rate = \"5/1h\"\nopen_for = \"1h\"\n";

/// The answer of a queue's gateway check. Whatever happens to Redis, it is a decision.
async fn gate(room: &Room, queue: &str, with: impl FnOnce(Call) -> Call) -> Answer {
    let answer = with(room.get(&format!("/v1/queues/{queue}/authorize"))).send().await;
    assert!([200, 401, 403].contains(&answer.status), "{answer:?}");
    answer
}

async fn join(room: &Room, queue: &str) -> Answer {
    room.post(&format!("/v1/queues/{queue}/tokens")).send().await
}

/// A visitor that this admission has seen active, in each of the three queues.
async fn active(room: &Room) -> [String; 3] {
    let mut tokens = Vec::new();
    for queue in ["hold", "shut", "free"] {
        let token = join(room, queue).await.is(201).token();
        gate(room, queue, |call| call.token(&token)).await.is(200);
        tokens.push(token);
    }
    tokens.try_into().expect("three")
}

/// A busy machine may stand still for a second. That alone must not look like an outage.
const NOT_HASTY: [(&str, &str); 2] =
    [("ANTEROOM_STORE__COMMAND_TIMEOUT", "2s"), ("ANTEROOM_STORE__REQUEST_TIMEOUT", "4s")];

/// What `on_store_error` promises, while Redis is down.
async fn decides_as_configured(
    room: &Room,
    [hold, shut, free]: &[String; 3],
    [waiting, waits]: &[String; 2],
) {
    let unavailable = |answer: Answer| {
        assert!(!answer.refuses(403, "store_unavailable").header("retry-after").is_empty());
        assert!(answer.header("x-anteroom-room").contains("/queues/"), "{answer:?}");
    };
    let held = gate(room, "hold", |call| call.token(hold)).await;
    assert_eq!(held.is(200).header("x-anteroom-visitor"), "1");
    let left: u64 = held.header("x-anteroom-expires-in").parse().expect("seconds");
    assert!(left <= 300, "{left}");
    unavailable(gate(room, "hold", |call| call.token(waiting)).await);
    unavailable(gate(room, "shut", |call| call.token(shut)).await);
    for client in ["203.0.113.1", "203.0.113.2"] {
        let mut passed = 0;
        for _ in 0..8 {
            let answer = gate(room, "free", |call| call.header("x-forwarded-for", client)).await;
            passed += u32::from(answer.status == 200);
            assert_eq!(answer.header("x-anteroom-visitor"), "");
            let held =
                gate(room, "free", |call| call.token(free).header("x-forwarded-for", client));
            assert_eq!(held.await.is(200).header("x-anteroom-visitor"), "1", "it is known");
        }
        assert_eq!(passed, 5, "open, at open_rate for each address");
    }
    // A token of a place that is not known is as none.
    let elsewhere = |call: Call| call.token(waits).header("x-forwarded-for", "203.0.113.3");
    let opened = gate(room, "free", elsewhere).await;
    assert_eq!(opened.is(200).header("x-anteroom-visitor"), "");
    assert_eq!(opened.header("x-anteroom-place"), "");
    for queue in ["hold", "shut"] {
        gate(room, queue, |call| call).await.refuses(401, "token_missing");
    }
    gate(room, "hold", |call| call.token("forged")).await.refuses(401, "token_invalid");
}

/// Visitors get a time to retry after, the gauge is right, and no probe takes a service out.
async fn away(room: &Room) {
    until("joins are refused", PATIENCE, async || {
        let refused = join(room, "hold").await;
        assert!([503, 504].contains(&refused.status), "{refused:?}");
        assert!(!refused.header("retry-after").is_empty(), "{refused:?}");
        refused.code() == "store_unavailable"
    })
    .await;
    for service in [&room.anteroom.admission, &room.anteroom.scheduler] {
        service.until_metric("anteroom_store_up", |it| it == Some(0.0)).await;
        // It can answer, by `on_store_error`; taken out of the balance it never could.
        assert_eq!(service.get("/readyz").await.0, 200);
        assert_eq!(service.get("/livez").await.0, 200);
    }
}

/// Both services have found the store again, by themselves.
async fn back(room: &mut Room) {
    for service in [&mut room.anteroom.admission, &mut room.anteroom.scheduler] {
        service.until_metric("anteroom_store_up", |it| it == Some(1.0)).await;
        assert!(service.process.try_exit().is_none());
    }
}

#[tokio::test]
async fn promise_05_a_killed_store_is_handled_as_configured_and_found_again() {
    let redis = Redis::builder().durable().start().await;
    let mut room = Room::start_on(redis, THREE, &[&[PROXIES][..], &NOT_HASTY].concat()).await;
    let tokens = active(&room).await;
    let waiting = [join(&room, "hold").await.token(), join(&room, "free").await.token()];
    gate(&room, "hold", |call| call.token(&waiting[0])).await.refuses(403, "not_admitted");

    room.anteroom.deployment.redis.kill();
    decides_as_configured(&room, &tokens, &waiting).await;
    away(&room).await;
    for answer in ["held", "opened", "store_unavailable"] {
        let counted = format!("anteroom_gate_answers_total{{answer=\"{answer}\"}}");
        assert!(room.count(&counted).await > 0, "{answer}");
    }

    room.anteroom.deployment.redis.restart().await;
    back(&mut room).await;
    let place = room.get("/v1/queues/hold/token").token(&waiting[0]).send().await;
    assert_eq!(place.is(200).place("waiting")["ticket"], 2, "an outage abandons no place");
    for (queue, token) in ["hold", "shut", "free"].into_iter().zip(&tokens) {
        gate(&room, queue, |call| call.token(token)).await.is(200);
    }
    let leave = room.call("public", reqwest::Method::DELETE, "/v1/queues/hold/token");
    leave.token(&tokens[0]).send().await.is(204);
    until("the scheduler promotes again", PATIENCE, async || {
        gate(&room, "hold", |call| call.token(&waiting[0])).await.status == 200
    })
    .await;
}

#[tokio::test]
async fn promise_05_a_frozen_store_is_handled_as_well() {
    let mut room = Room::start_with(THREE, &[&[PROXIES][..], &NOT_HASTY].concat()).await;
    let tokens = active(&room).await;
    let waiting = [join(&room, "hold").await.token(), join(&room, "free").await.token()];
    room.anteroom.deployment.redis.freeze();
    decides_as_configured(&room, &tokens, &waiting).await;
    away(&room).await;
    room.anteroom.deployment.redis.thaw();
    back(&mut room).await;
    let place = room.get("/v1/queues/hold/token").token(&waiting[0]).send().await;
    place.is(200).place("waiting");
    gate(&room, "shut", |call| call.token(&tokens[1])).await.is(200);
}

/// A poll changes nothing for the visitor, so no effect of it can be unknown.
#[tokio::test]
async fn a_poll_on_its_way_to_a_frozen_store_is_refused_as_any_other() {
    let queues = "[queues.exact]\ncapacity = 1\nrequests_per_place = 0\nlocal_answers = false\n";
    let room = Room::start_with(queues, &[]).await;
    let token = join(&room, "exact").await.is(201).token();
    room.anteroom.deployment.redis.freeze();
    for path in ["/v1/queues/exact/token", "/v1/queues/exact/token/events"] {
        let polls = (0..8).map(|_| room.get(path).token(&token).send());
        for refused in join_all(polls).await {
            refused.refuses(503, "store_unavailable");
        }
    }
}

/// Redis is up and only slow; else a client that polls often enough would pass.
#[tokio::test]
async fn a_full_lane_opens_no_gate() {
    let queue = "[queues.free]\ncapacity = 1\nrequests_per_place = 0\non_store_error = \"open\"\n\
        open_rate = \"1000/1h\"\nopen_for = \"1h\"\n";
    let patient = [
        ("ANTEROOM_ADMISSION__LANE_BOUND", "1"),
        ("ANTEROOM_STORE__COMMAND_TIMEOUT", "30s"),
        ("ANTEROOM_STORE__REQUEST_TIMEOUT", "60s"),
        ("ANTEROOM_ADMISSION__REQUEST_TIMEOUT", "60s"),
    ];
    let room = Room::start_with(queue, &patient).await;
    join(&room, "free").await.is(201);
    let waits = join(&room, "free").await.is(201).token();
    room.anteroom.deployment.redis.freeze();
    // One is under way, one waits, and there is no room for the others.
    let mut checks: FuturesUnordered<_> =
        (0..8).map(|_| gate(&room, "free", |call| call.token(&waits))).collect();
    for _ in 0..4 {
        checks.next().await.expect("an answer").refuses(403, "store_unavailable");
    }
    assert_eq!(room.anteroom.admission.metric("anteroom_store_up").await, Some(1.0));
    room.anteroom.deployment.redis.thaw();
    let rest: Vec<_> = checks.collect().await;
    assert!(rest.iter().any(|answer| answer.code() == "not_admitted"), "{rest:?}");
    assert!(rest.iter().all(|answer| answer.status == 403), "{rest:?}");
}

/// The frequent calls have no timer of their own, unless Redis may take longer than a request.
#[tokio::test]
async fn a_request_ends_in_its_time_where_redis_may_take_longer() {
    let queue = "[queues.free]\ncapacity = 1\n";
    let patient = [
        ("ANTEROOM_STORE__COMMAND_TIMEOUT", "30s"),
        ("ANTEROOM_STORE__REQUEST_TIMEOUT", "60s"),
        ("ANTEROOM_ADMISSION__REQUEST_TIMEOUT", "1s"),
    ];
    let room = Room::start_with(queue, &patient).await;
    let token = join(&room, "free").await.is(201).token();
    room.anteroom.deployment.redis.freeze();
    gate(&room, "free", |call| call.token(&token)).await.refuses(403, "request_timeout");
    let place = room.get("/v1/queues/free/token").token(&token).send().await;
    place.refuses(504, "request_timeout");
}

#[tokio::test]
async fn a_store_that_comes_back_empty_gives_new_places() {
    let mut room = Room::start_with(ONE, &[]).await;
    let (first, second) = (room.join().await.token(), room.join().await.token());
    room.authorize(&first).await.is(200);
    room.anteroom.deployment.redis.restart().await;
    back(&mut room).await;
    let path = "/v1/queues/:name/token";
    until("the store answers", PATIENCE, async || {
        room.get(path).token(&first).send().await.status == 410
    })
    .await;
    for token in [&first, &second] {
        let gone = room.get(path).token(token).send().await;
        assert_eq!(gone.refuses(410, "place_gone").json()["reason"], "lost");
        let refused = room.authorize(token).await;
        assert_eq!(refused.refuses(403, "place_gone").json()["reason"], "lost");
    }
    let again = room.post("/v1/queues/:name/tokens").token(&second).send().await;
    assert_eq!(again.is(201).place("ready")["ticket"], 1);
    room.authorize(&again.token()).await.is(200);
    room.authorize(&second).await.refuses(403, "place_gone");
    let waits = room.post("/v1/queues/:name/tokens").token(&first).send().await;
    assert_eq!(waits.is(201).place("waiting")["ticket"], 2);
}

#[tokio::test]
async fn a_state_that_has_become_old_is_not_shown() {
    let room = Room::start_with(ONE, &[]).await;
    let shown = async |status: u16| {
        until(&format!("the state is answered with {status}"), PATIENCE, async || {
            room.get("/v1/queues/:name").send().await.status == status
        })
        .await;
    };
    shown(200).await;
    room.anteroom.deployment.redis.freeze();
    shown(503).await;
    let answer = room.get("/v1/queues/:name").send().await;
    answer.refuses(503, "store_unavailable");
    room.anteroom.deployment.redis.thaw();
    shown(200).await;
}
