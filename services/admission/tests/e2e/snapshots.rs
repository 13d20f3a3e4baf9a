//! GET of an entity answers from the newest snapshot.

use anteroom_testkit::{PATIENCE, until};
use futures_util::future::join_all;
use reqwest::Method;

use crate::room::Room;

const EVERY_KIND: &str = "[queues.q]\ncapacity = 1\n[events.e]\nstock = 3\n\
    [pools.p]\nfunds = 5\n[targets.t]\n";
const PATHS: [&str; 4] = ["/v1/queues/q", "/v1/events/e", "/v1/pools/p", "/v1/targets/t"];

/// However many calls come, Redis runs a script about once a second for each process.
#[tokio::test]
async fn get_shows_its_age_and_does_not_run_a_script_each_time() {
    let room = Room::start(EVERY_KIND).await;
    for path in PATHS {
        until(path, PATIENCE, async || {
            let shown = room.service(path).await;
            shown.status == 200 && shown.json()["age_ms"].is_u64()
        })
        .await;
    }
    let snapshots = async || {
        let mut calls = 0;
        for operation in ["queue", "event", "pool", "target"] {
            let series =
                format!("anteroom_store_call_seconds_count{{operation=\"{operation}.snapshot\"}}");
            calls += room.count(&series).await;
        }
        calls
    };
    let (before, begun) = (snapshots().await, std::time::Instant::now());
    for _ in 0..20 {
        let calls = PATHS.iter().cycle().take(100);
        let calls = calls.map(|path| room.call("service", Method::GET, path).send());
        for shown in join_all(calls).await {
            assert!(shown.is(200).json()["age_ms"].as_u64() < Some(10_000));
        }
    }
    let most = 4 * (begun.elapsed().as_millis() / 500 + 3);
    let calls = u128::from(snapshots().await - before);
    assert!(calls <= most, "{calls} snapshots, at most {most}, for 2 000 requests");
}
