//! The version before beside this one: it knows one window.

use std::time::Duration;

use anteroom_core::breaker::{Kept, Outcome, State};

use super::of;
use crate::reports::{look, record};
use crate::support::TimedStore;

/// Takes away what the version before does not know, plays, and puts it back.
async fn as_the_version_before(world: &TimedStore, play: impl Future<Output = ()>) {
    const MOVE: &str =
        "redis.call('HSET', KEYS[2], 'others', redis.call('HGET', KEYS[1], 'others'))
        return redis.call('HDEL', KEYS[1], 'others')";
    let (meta, aside) = ("anteroom:v1:target:{t}:meta", "{t}aside");
    world.redis.run::<u64>(&["EVAL", MOVE, "2", meta, aside]).await;
    play.await;
    world.redis.run::<u64>(&["EVAL", MOVE, "2", aside, meta]).await;
}

/// It writes the buckets alone.
#[tokio::test]
async fn promise_08_outcomes_that_the_version_before_counted_are_in_every_window() {
    for other in [of(61, Kept::InBuckets), of(60, Kept::InLog), of(90, Kept::InLog)] {
        let world = TimedStore::new().await;
        let (target, rules) = (world.target("t"), of(60, Kept::InBuckets));
        record(&target, &rules, &Outcome::counted(4, 2)).await;
        record(&target, &other, &Outcome::counted(3, 1)).await;
        world.pass(other.window + Duration::from_secs(9));
        as_the_version_before(&world, async {
            record(&target, &rules, &Outcome::counted(2, 2)).await;
        })
        .await;
        let returned = record(&target, &other, &Outcome::counted(1, 0)).await;
        assert_eq!((returned.successes, returned.failures), (3, 2), "{other:?}");
        assert_eq!(look(&target, &rules).await.successes, 3, "{other:?}");
        // It opens the target, probes it, and empties the window it knows.
        as_the_version_before(&world, async {
            record(&target, &rules, &Outcome::counted(0, 50)).await;
            world.pass(rules.open_for);
            look(&target, &rules).await;
        })
        .await;
        let shown = look(&target, &other).await;
        assert_eq!((shown.state, shown.failures), (State::HalfOpen, 0), "{other:?}");
    }
}
