//! A key that an operator resets, while processes repeat its refusals without Redis.

use anteroom_testkit::{Deployment, PATIENCE, PATIENT, Redis, until};

use crate::MACHINE;
use crate::limited::Limited;

const LIMITS: &str = "[limits.log]\nlimit = 2\nwindow = \"1h\"\n\
    [limits.counter]\nlimit = 2\nwindow = \"1h\"\nalgorithm = \"counter\"\n\
    [limits.gcra]\nlimit = 2\nwindow = \"24h\"\nalgorithm = \"gcra\"\n";

#[tokio::test]
async fn a_key_that_is_reset_is_free_at_once_here_and_soon_elsewhere() {
    let _shared = MACHINE.read().await;
    let site = Deployment::new(Redis::start().await, LIMITS, &PATIENT);
    let (here, elsewhere) = (site.admission().await, site.admission().await);
    here.until_ready().await;
    elsewhere.until_ready().await;
    let [here, elsewhere] = [&here, &elsewhere].map(Limited::of);
    for limit in ["log", "counter", "gcra"] {
        while here.check(limit, "ann", 1).await.allowed() {}
        for client in [&here, &elsewhere] {
            for _ in 0..3 {
                assert!(!client.check(limit, "ann", 1).await.allowed(), "{limit}");
            }
        }
        here.forget(limit, "ann").await;
        assert!(here.check(limit, "ann", 1).await.allowed(), "{limit}");
        until("the key is free elsewhere", PATIENCE, async || {
            elsewhere.check(limit, "ann", 1).await.allowed()
        })
        .await;
    }
}
