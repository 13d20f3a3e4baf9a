//! Promise 12: pods whose clocks are wrong by ten minutes, and a store whose clock leaps.

use anteroom_testkit::{Clock, Deployment, PATIENCE, PATIENT, Redis, until};
use futures_util::future::join_all;

use crate::MACHINE;
use crate::limited::{Decision, Limited};

const WRONG: i64 = 600;
const ALGORITHMS: [&str; 3] = ["log", "counter", "gcra"];

fn limits() -> String {
    ALGORITHMS
        .map(|name| {
            format!("[limits.{name}]\nlimit = 20\nwindow = \"10m\"\nalgorithm = \"{name}\"\n")
        })
        .concat()
}

/// How many of so many single units are allowed.
async fn allowed(client: &Limited, limit: &str, key: &str, count: usize) -> usize {
    let checks = (0..count).map(|_| client.check(limit, key, 1));
    let decisions = join_all(checks).await;
    assert!(!decisions.iter().any(Decision::degraded), "{decisions:?}");
    decisions.iter().filter(|decision| decision.allowed()).count()
}

#[tokio::test]
async fn promise_12_pods_clocks_wrong_by_ten_minutes_change_nothing() {
    let _shared = MACHINE.read().await;
    let redis = Redis::builder().clock(Clock::off_by(0)).start().await;
    let site = Deployment::new(redis, &limits(), &PATIENT);
    let clocks = [WRONG, -WRONG, 0].map(Clock::off_by);
    let mut pods = Vec::new();
    for clock in &clocks {
        let pod = site.admission_under(clock).await;
        pod.until_ready().await;
        pods.push(pod);
    }
    let clients: Vec<_> = pods.iter().map(Limited::of).collect();
    for limit in ALGORITHMS {
        let mut taken = 0;
        for client in clients.iter().cycle().take(9) {
            taken += allowed(client, limit, "ann", 3).await;
        }
        assert_eq!(taken, 20, "{limit}");
        // And all of them return the same time until there is more.
        let mut resets = Vec::new();
        for client in &clients {
            resets.push(client.check(limit, "ann", 0).await.number("reset_ms"));
        }
        let (least, most) = (resets.iter().min(), resets.iter().max());
        assert!(most.is_some_and(|most| *most <= 1_200_000), "{limit}: {resets:?}");
        let spread = most.zip(least).map(|(most, least)| most - least);
        assert!(spread.is_some_and(|spread| spread < 60_000), "{limit}: {resets:?}");
    }
}

#[tokio::test]
async fn promise_12_a_leap_of_the_stores_clock_frees_one_window_and_blocks_no_key_longer() {
    let _shared = MACHINE.read().await;
    let redis = Redis::builder().clock(Clock::off_by(0)).start().await;
    let site = Deployment::new(redis, &limits(), &PATIENT);
    let admission = site.admission().await;
    admission.until_ready().await;
    let client = Limited::of(&admission);
    for limit in ALGORITHMS {
        for (key, leaps) in [("ahead", [WRONG, 0]), ("back", [-WRONG, 0])] {
            site.redis.clock().leaps_to(0);
            let mut taken = allowed(&client, limit, key, 30).await;
            assert_eq!(taken, 20, "{limit}");
            for seconds in leaps {
                site.redis.clock().leaps_to(seconds);
                if (key, seconds) == ("ahead", WRONG) {
                    // A process may repeat refusals of before for a second.
                    until("the key is free", PATIENCE, async || {
                        client.check(limit, key, 1).await.allowed()
                    })
                    .await;
                    taken += 1;
                }
                taken += allowed(&client, limit, key, 30).await;
                let decision = client.check(limit, key, 1).await;
                let wait = decision.number("reset_ms");
                assert!(wait <= 1_200_000, "{limit}: {decision:?}");
            }
            assert!(taken <= 40, "{limit} {key}: {taken}");
        }
    }
}
