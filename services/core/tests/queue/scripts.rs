//! The scripts of a queue of which the store knows nothing.

use anteroom_core::Kind as _;
use anteroom_core::queue::Queue;

use super::support::TimedStore;

/// Where the store holds no rules for a queue, every operation but those for just that says so and
/// writes nothing.
#[tokio::test]
async fn a_script_without_rules_writes_nothing() {
    let world = TimedStore::new().await;
    let mut connection = world.redis.connection().await;
    let needs_none = ["queue.seed_rules", "queue.apply_rules", "queue.purge", "queue.changes"];
    for script in Queue::scripts().iter().filter(|script| !needs_none.contains(&script.name)) {
        let keys = script.keys_of("q");
        let mut eval = redis::cmd("EVAL");
        eval.arg(script.source()).arg(keys.len());
        for key in keys.iter() {
            eval.arg(key);
        }
        eval.arg(&["", "an epoch", "0", "", "0", "", "1"]);
        let reply: Vec<i64> = eval.query_async(&mut connection).await.expect("a reply");
        assert_eq!(reply, [1], "{}: NO_RULES", script.name);
    }
    let keys: Vec<String> = world.redis.run(&["KEYS", "*"]).await;
    assert_eq!(keys, Vec::<String>::new());
}
