//! Many schedulers, one rate: none leads, and the record of promotions keeps the promises.

use std::collections::HashMap;

use anteroom_core::queue::Queue;
use anteroom_testkit::Redis;

use crate::support::{deployment, join, queue, until_snapshot};

const BATCH: u64 = 30;
const INTERVAL_US: u64 = 1_000_000;
/// Long enough that no share of the rate comes back.
const CLAIM_TTL_US: u64 = 3_600_000_000;
const VISITORS: u64 = 100;

/// When each place became ready, in microseconds of queue time, in the order of the tickets: the
/// end of its claim time, less the time that it has to claim.
async fn promotions(redis: &Redis, queue: &str) -> Vec<u64> {
    let key = |name| format!("anteroom:v1:queue:{{{queue}}}:{name}");
    let ends: HashMap<Vec<u8>, f64> =
        redis.run(&["ZRANGE", &key("ready"), "0", "-1", "WITHSCORES"]).await;
    let ids: Vec<Vec<u8>> = redis.run(&["ZRANGE", &key("admitted"), "0", "-1"]).await;
    ids.iter().map(|id| ends[id] as u64 - CLAIM_TTL_US).collect()
}

/// The most promoted in any interval that ends with a promotion.
fn busiest(promotions: &[u64]) -> usize {
    let within = |end: u64| {
        let is_within = move |at: &&u64| **at <= end && **at + INTERVAL_US > end;
        promotions.iter().filter(is_within).count()
    };
    promotions.iter().map(|end| within(*end)).max().unwrap_or(0)
}

#[tokio::test]
async fn promises_02_and_03_any_number_of_schedulers_comes_and_goes() {
    let rules = format!("batch = {BATCH}\ninterval = \"1s\"\nclaim_ttl = \"1h\"\n");
    let even = format!("[queues.even]\npace = \"even\"\n{rules}");
    let batch = format!("[queues.batch]\npace = \"batch\"\n{rules}");
    let deployment = deployment(&format!("{even}{batch}")).await;
    let queues: Vec<Queue> =
        vec![queue(&deployment, "even").await, queue(&deployment, "batch").await];
    let (first, mut second) = (deployment.scheduler().await, deployment.scheduler().await);
    for queue in &queues {
        // Rules first: a join before them would seed the same ones.
        until_snapshot(queue, |it| it.rules.batch == Some(BATCH)).await;
        let mut joins = tokio::task::JoinSet::new();
        for n in 0..VISITORS {
            let queue = queue.clone();
            joins.spawn(async move { join(&queue, n).await });
        }
        joins.join_all().await;
    }
    // One is killed, one is away for a while, a third comes.
    until_snapshot(&queues[0], |it| it.ready > BATCH).await;
    second.process.kill();
    first.process.freeze();
    let third = deployment.scheduler().await;
    until_snapshot(&queues[0], |it| it.ready > 2 * BATCH).await;
    first.process.thaw();
    for queue in &queues {
        until_snapshot(queue, |it| it.ready == VISITORS).await;
    }
    for queue in &queues {
        let promotions = promotions(&deployment.redis, queue.name()).await;
        assert_eq!(promotions.len() as u64, VISITORS);
        assert!(promotions.is_sorted(), "{}: in ticket order", queue.name());
        let most = busiest(&promotions) as u64;
        assert!(most <= BATCH, "{}: {most} in an interval", queue.name());
    }
    first.end().await;
    third.end().await;
}
