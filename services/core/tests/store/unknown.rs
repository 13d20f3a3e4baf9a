//! When it is unknown whether a call was executed, and when answers come late.

use std::time::Duration;

use anteroom_core::store::{Config, Error, Repeat, Store};
use anteroom_testkit::{Fault, PATIENCE, Proxy, Redis, until};

use crate::support::{SCRIPTS, add, brisk, echo, opened, patient};

/// What is in Redis: (total, runs).
async fn stored(redis: &Redis, tag: &str) -> (i64, i64) {
    let key = format!("test:{{{tag}}}:account");
    let read = async |field: &str| {
        redis.run::<Option<i64>>(&["HGET", &key, field]).await.unwrap_or_default()
    };
    (read("total").await, read("runs").await)
}

async fn behind_proxy(config: fn(String) -> Config) -> (Redis, Proxy, Store) {
    let redis = Redis::start().await;
    redis.load(SCRIPTS.iter().map(|script| script.source())).await;
    let proxy = Proxy::start(redis.port()).await;
    let store = opened(&config(proxy.url())).await;
    (redis, proxy, store)
}

#[tokio::test]
async fn a_lost_reply_is_asked_for_again_and_the_effect_is_once() {
    let (redis, proxy, store) = behind_proxy(patient).await;
    proxy.cut_reply_to(b"EVALSHA");
    // The second run found the operation's id, changed nothing, and gave the first answer.
    assert_eq!(add(&store, "t", "op", 7, Repeat::IfUnknown).await, Ok((7, 2)));
    assert_eq!(proxy.cuts(), 1);
    assert_eq!(stored(&redis, "t").await, (7, 2));
}

#[tokio::test]
async fn a_lost_reply_is_unknown_when_repeats_are_forbidden() {
    let (redis, proxy, store) = behind_proxy(patient).await;
    proxy.cut_reply_to(b"EVALSHA");
    let lost = add(&store, "t", "op", 7, Repeat::Never).await;
    assert!(matches!(lost, Err(Error::Unknown(_))), "{lost:?}");
    assert_eq!(stored(&redis, "t").await, (7, 1));
}

#[tokio::test]
async fn a_reply_lost_twice_is_unknown() {
    let (redis, proxy, store) = behind_proxy(patient).await;
    proxy.cut_reply_to(b"EVALSHA");
    let call = tokio::spawn(async move { add(&store, "t", "op", 7, Repeat::IfUnknown).await });
    until("the first cut", PATIENCE, || async { proxy.cuts() == 1 }).await;
    proxy.cut_reply_to(b"EVALSHA");
    match call.await.unwrap() {
        Err(Error::Unknown(_)) => assert_eq!(stored(&redis, "t").await, (7, 2)),
        // The repeat was faster than the second cut.
        Ok(answer) => assert_eq!((answer, proxy.cuts()), ((7, 2), 1)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_lost_reply_stays_unknown_when_the_server_does_not_come_back() {
    let (mut redis, proxy, store) =
        behind_proxy(|url| Config { request_timeout: Duration::from_millis(400), ..brisk(url) })
            .await;
    redis.freeze();
    let call = {
        let store = store.clone();
        tokio::spawn(async move { add(&store, "t", "op", 7, Repeat::IfUnknown).await })
    };
    until("the call is under way", PATIENCE, || async { !call.is_finished() }).await;
    proxy.set(Fault::Refuse);
    redis.kill();
    let lost = call.await.unwrap();
    assert!(matches!(lost, Err(Error::Unknown(_))), "{lost:?}");
}

#[tokio::test]
async fn a_call_that_times_out_may_have_been_executed() {
    let (redis, _proxy, store) = behind_proxy(brisk).await;
    redis.freeze();
    let late = add(&store, "t", "op", 7, Repeat::Never).await;
    assert!(matches!(late, Err(Error::Unknown(_))), "{late:?}");
    redis.thaw();
    until("the late call is executed", PATIENCE, || async { stored(&redis, "t").await == (7, 1) })
        .await;
}

#[tokio::test]
async fn a_late_reply_never_reaches_another_caller() {
    let (_redis, proxy, store) = behind_proxy(brisk).await;
    for fault in [
        Fault::Delay(Duration::from_millis(160)),
        Fault::Trickle(Duration::from_millis(4)),
        Fault::Pass,
    ] {
        proxy.set(fault);
        let callers: Vec<_> = (0..40)
            .map(|caller| {
                let store = store.clone();
                tokio::spawn(async move {
                    let text = format!("caller {caller} asks");
                    match echo(&store, &text).await {
                        Ok(reply) => assert_eq!(reply, text),
                        Err(Error::Unknown(_) | Error::Unavailable(_)) => {}
                        other => panic!("{other:?}"),
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.unwrap();
        }
    }
    until("all is well again", PATIENCE, || async { echo(&store, "x").await.is_ok() }).await;
}

#[tokio::test]
async fn a_kill_under_load_loses_no_answer_and_counts_nothing_twice() {
    let mut redis = Redis::builder().durable().start().await;
    let store = opened(&patient(redis.url())).await;
    let callers: Vec<_> = (0..16)
        .map(|caller| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut done = 0;
                for call in 0..40 {
                    let id = format!("{caller}.{call}");
                    // A caller that insists: the same id until there is an answer.
                    until("an answer", PATIENCE, || async {
                        add(&store, "t", &id, 1, Repeat::IfUnknown).await.is_ok()
                    })
                    .await;
                    done += 1;
                }
                done
            })
        })
        .collect();
    for _ in 0..3 {
        let before = redis.evalsha_calls().await;
        until("calls arrive", PATIENCE, || async { redis.evalsha_calls().await > before + 20 })
            .await;
        redis.restart().await;
    }
    let mut done = 0;
    for caller in callers {
        done += caller.await.unwrap();
    }
    assert_eq!(done, 640);
    assert_eq!(stored(&redis, "t").await.0, 640);
}
