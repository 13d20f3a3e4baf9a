//! A changed file reaches the store without a restart; a bad one changes nothing.

use anteroom_core::queue::Rules;
use anteroom_testkit::mount_config_map;

use crate::support::{deployment, join, queue, until_snapshot};

const SUCCESS: &str = "anteroom_config_reload_success";

#[tokio::test]
async fn a_swapped_configmap_changes_the_rules_in_the_store() {
    let deployment = deployment("[queues.concert]\ncapacity = 1\n").await;
    let volume = tempfile::tempdir().expect("a temporary directory");
    mount_config_map(volume.path(), 1, "[queues.concert]\ncapacity = 1\n");
    let file = volume.path().join("anteroom.toml");
    let config = [("ANTEROOM_CONFIG", file.to_str().expect("text"))];
    let scheduler = deployment.scheduler_with(&config).await;
    let queue = queue(&deployment, "concert").await;
    until_snapshot(&queue, |it| it.rules.capacity == Some(1)).await;
    for version in 2..=3 {
        mount_config_map(
            volume.path(),
            version,
            &format!("[queues.concert]\ncapacity = {version}\n"),
        );
        until_snapshot(&queue, |it| it.rules.capacity == Some(u64::from(version))).await;
    }
    scheduler.end().await;
}

#[tokio::test]
async fn queues_come_and_go_with_the_file() {
    let depth = |name: &str| format!("anteroom_queue_depth{{queue=\"{name}\"}}");
    let deployment = deployment("[queues.first]\ncapacity = 1\n").await;
    let scheduler = deployment.scheduler().await;
    scheduler.until_metric(&depth("first"), |it| it == Some(0.0)).await;
    deployment.write("[queues.second]\ncapacity = 1\n");
    scheduler.until_metric(&depth("second"), |it| it == Some(0.0)).await;
    scheduler.until_metric(&depth("first"), |it| it.is_none()).await;
    deployment.write("[queues.first]\ncapacity = 1\n[queues.second]\ncapacity = 1\n");
    scheduler.until_metric(&depth("first"), |it| it == Some(0.0)).await;
    assert_eq!(scheduler.metric(&depth("second")).await, Some(0.0));
    scheduler.end().await;
}

#[tokio::test]
async fn a_bad_file_keeps_what_is_in_force() {
    let deployment = deployment("[queues.concert]\ncapacity = 4\n").await;
    let scheduler = deployment.scheduler().await;
    let queue = queue(&deployment, "concert").await;
    until_snapshot(&queue, |it| it.rules.capacity == Some(4)).await;
    for bad in ["[queues.concert]\ncapacity = 0\n", "[queues.concert]\n", "capacity ="] {
        deployment.write(bad);
        scheduler.until_metric(SUCCESS, |it| it == Some(0.0)).await;
        let snapshot = queue.snapshot().await.expect("a snapshot");
        assert_eq!(snapshot.rules.capacity, Some(4));
        // One wrong edit takes no scheduler out. A busy machine can, for a moment.
        scheduler.until_ready().await;
        deployment.write("[queues.concert]\ncapacity = 4\n# good again\n");
        scheduler.until_metric(SUCCESS, |it| it == Some(1.0)).await;
    }
    deployment.write("[queues.concert]\ncapacity = 5\n");
    until_snapshot(&queue, |it| it.rules.capacity == Some(5)).await;
    scheduler.end().await;
}

#[tokio::test]
async fn only_what_the_file_changed_is_written() {
    let deployment = deployment("[queues.a]\ncapacity = 1\n[queues.b]\ncapacity = 1\n").await;
    let scheduler = deployment.scheduler().await;
    let (a, b) = (queue(&deployment, "a").await, queue(&deployment, "b").await);
    for queue in [&a, &b] {
        until_snapshot(queue, |it| it.rules.capacity == Some(1)).await;
    }
    let written = "anteroom_operations_total{operation=\"queue.apply_rules\",outcome=\"ok\"}";
    scheduler.until_metric(written, |it| it == Some(2.0)).await;
    // Another scheduler with a newer file.
    let newer = Rules { capacity: Some(9), ..a.snapshot().await.expect("a snapshot").rules };
    a.apply_rules(&newer).await.expect("written");
    // Ours changes only `b`, so `a` stays as the newer one has set it.
    deployment.write("[queues.a]\ncapacity = 1\n[queues.b]\ncapacity = 2\n");
    until_snapshot(&b, |it| it.rules.capacity == Some(2)).await;
    scheduler.until_metric(written, |it| it == Some(3.0)).await;
    let rules = a.snapshot().await.expect("a snapshot").rules;
    assert_eq!(rules.capacity, Some(9));
    scheduler.end().await;
}

/// As after a version that knew no rule but one.
#[tokio::test]
async fn rules_that_no_file_sets_are_the_defaults_of_the_configuration() {
    let deployment = deployment("[queues.concert]\ncapacity = 1\n").await;
    let queue = queue(&deployment, "concert").await;
    let rules = queue.snapshot().await.expect("a snapshot").rules;
    let forget = "redis.call('HSET', KEYS[1], 'file', cmsgpack.pack({ capacity = '1' })) \
        local force = { capacity = 1, known = 1, last_change = 0, next_change = 0 } \
        redis.call('HSET', KEYS[1], 'force', cmsgpack.pack(force))";
    let meta = "anteroom:v1:queue:{concert}:meta";
    deployment.redis.run::<()>(&["EVAL", forget, "1", meta]).await;
    let (_, place) = join(&queue, 1).await;
    assert_eq!(place.expires_in(), Some(rules.claim_ttl));
    assert_eq!(queue.snapshot().await.expect("a snapshot").rules, rules);
}
