//! Real schedulers make a queue follow a real target.

use anteroom_core::breaker::{Breaker, Outcome, Rules, State};
use anteroom_core::queue::{Queue, Status, StepReason};
use anteroom_testkit::{Deployment, PATIENCE, until};

use crate::support::{deployment, join, opened, queue, until_place, until_snapshot};

const TARGET: &str = "[targets.shop]\nmin_samples = 5\nopen_for = \"1s\"\nprobes = 2\n";

/// The target of the file, as those who call it report to it.
async fn target(deployment: &Deployment) -> (Breaker, Rules) {
    let (config, store) = opened(deployment).await;
    (Breaker::open(&store, "shop", 100), config.targets["shop"].rules())
}

async fn report(target: &(Breaker, Rules), successes: u32, failures: u32) {
    let (target, rules) = target;
    target.record(rules, &Outcome::counted(successes, failures)).await.expect("a report");
}

async fn until_health(queue: &Queue, state: State) {
    until_snapshot(queue, |snapshot| snapshot.health == Some(state)).await;
}

#[tokio::test]
async fn promotion_stops_in_fallback_and_comes_back_when_the_target_recovers() {
    let file = format!("[queues.concert]\ncapacity = 100\nhealth = \"shop\"\n{TARGET}");
    let deployment = deployment(&file).await;
    let schedulers = [deployment.scheduler().await, deployment.scheduler().await];
    let (queue, target) = (queue(&deployment, "concert").await, target(&deployment).await);
    until_health(&queue, State::Closed).await;
    assert_eq!(join(&queue, 1).await.1.status(), Status::Ready);
    let silent = "the target that the queue follows gets no reports";
    until("the silence is logged", PATIENCE, async || {
        schedulers.iter().all(|scheduler| scheduler.logged(silent) == 1)
    })
    .await;

    report(&target, 0, 5).await;
    until_health(&queue, State::Open).await;
    let (second, place) = join(&queue, 2).await;
    assert_eq!(place.status(), Status::Waiting);
    let paused = "anteroom_queue_paused_by_health{queue=\"concert\"}";
    // By then it may be half open again.
    until("a scheduler shows it", PATIENCE, async || {
        report(&target, 0, 5).await;
        schedulers[0].metric(paused).await == Some(1.0)
    })
    .await;
    // Half open, a visitor is admitted as a probe, and the calls succeed.
    until("it has recovered", PATIENCE, async || {
        report(&target, 5, 0).await;
        queue.snapshot().await.expect("a snapshot").health == Some(State::Closed)
    })
    .await;
    until_place(&queue, second, |place| place.status() == Status::Ready).await;
    schedulers[0].until_metric(paused, |it| it == Some(0.0)).await;
    for scheduler in schedulers {
        assert_eq!(
            (scheduler.logged(silent), scheduler.logged("the queue follows gets reports")),
            (1, 1)
        );
        scheduler.end().await;
    }
}

#[tokio::test]
async fn each_change_of_the_target_is_told_once_by_each_scheduler() {
    let file = format!("[queues.concert]\ncapacity = 100\nhealth = \"shop\"\n{TARGET}");
    let deployment = deployment(&file).await;
    let schedulers = [deployment.scheduler().await, deployment.scheduler().await];
    let (queue, target) = (queue(&deployment, "concert").await, target(&deployment).await);
    until_health(&queue, State::Closed).await;
    let changes = [
        ("WARN", "the target is open: admission is paused"),
        ("INFO", "the target is half open: a few visitors are admitted to test it"),
        ("INFO", "the target is closed: the admission rate returns in steps"),
    ];
    for (so_far, outcomes) in [(0, (0, 5)), (1, (0, 0)), (2, (5, 0))] {
        if outcomes != (0, 0) {
            report(&target, outcomes.0, outcomes.1).await;
        }
        // The next change is logged, and none before it again.
        for scheduler in &schedulers {
            until(changes[so_far].1, PATIENCE, async || scheduler.logged(changes[so_far].1) > 0)
                .await;
        }
    }
    for scheduler in schedulers {
        for (level, message) in changes {
            let line = format!(
                "\"level\":\"{level}\",\"message\":\"{message}\",\"queue\":\"concert\",\"followed\":\"shop\""
            );
            assert_eq!((scheduler.logged(message), scheduler.logged(&line)), (1, 1), "{line}");
        }
        scheduler.end().await;
    }
}

#[tokio::test]
async fn a_batch_adapts_and_the_metrics_show_it() {
    let adaptive = "[queues.concert.adaptive]\nmin_batch = 10\nmax_batch = 50\n\
        success_target = 0.9\n";
    let queues = "[queues.concert]\nbatch = 20\ninterval = \"1s\"\nhealth = \"shop\"\n";
    let deployment = deployment(&format!("{queues}{adaptive}{TARGET}threshold = 0.1\n")).await;
    let scheduler = deployment.scheduler().await;
    let (queue, target) = (queue(&deployment, "concert").await, target(&deployment).await);
    until_snapshot(&queue, |snapshot| {
        snapshot.adaptive.is_some_and(|it| (it.batch, it.reason) == (20, StepReason::Start))
    })
    .await;
    until("it was cut", PATIENCE, async || {
        report(&target, 5, 5).await;
        let adaptive = queue.snapshot().await.expect("a snapshot").adaptive.expect("it adapts");
        (adaptive.batch, adaptive.reason) == (10, StepReason::CutSuccess)
    })
    .await;
    let cuts = "anteroom_queue_adaptive_steps_total{queue=\"concert\",reason=\"cut_success\"}";
    scheduler.until_metric(cuts, |it| it >= Some(3.0)).await;
    let adaptive =
        [("adaptive_batch", 10.0), ("adaptive_batch_min", 10.0), ("adaptive_batch_max", 50.0)];
    for (name, value) in adaptive.into_iter().chain([("batch", 10.0)]) {
        let name = format!("anteroom_queue_{name}{{queue=\"concert\"}}");
        scheduler.until_metric(&name, |it| it == Some(value)).await;
    }
    // Taken out of the file, the batch of the rules is in force again.
    deployment.write(&format!("{queues}{TARGET}"));
    until_snapshot(&queue, |snapshot| snapshot.adaptive.is_none()).await;
    let batch = "anteroom_queue_adaptive_batch{queue=\"concert\"}";
    scheduler.until_metric(batch, |it| it.is_none()).await;
    scheduler.end().await;
}

#[tokio::test]
async fn a_target_that_cannot_be_read_stops_nothing_and_says_so_once() {
    let file = format!("[queues.concert]\ncapacity = 1\nhealth = \"shop\"\n{TARGET}");
    let deployment = deployment(&file).await;
    let scheduler = deployment.scheduler().await;
    let (queue, target) = (queue(&deployment, "concert").await, target(&deployment).await);
    until_health(&queue, State::Closed).await;
    // What is under its key is of another kind.
    report(&target, 1, 0).await;
    let meta = "anteroom:v1:target:{shop}:meta";
    let _: () = deployment.redis.run(&["SET", meta, "?"]).await;
    let fails = "a Redis call fails";
    until("it is logged", PATIENCE, async || scheduler.logged(fails) == 1).await;
    let (first, _) = join(&queue, 1).await;
    let (second, place) = join(&queue, 2).await;
    assert_eq!(place.status(), Status::Waiting);
    queue.leave(first).await.expect("a leave");
    until_place(&queue, second, |place| place.status() == Status::Ready).await;
    until_snapshot(&queue, |snapshot| snapshot.health.is_none()).await;
    assert_eq!(scheduler.logged(fails), 1, "not at each tick");

    let _: () = deployment.redis.run(&["DEL", meta]).await;
    until_health(&queue, State::Closed).await;
    let works = "the Redis call works again";
    until("that is logged, too", PATIENCE, async || scheduler.logged(works) == 1).await;
    scheduler.end().await;
}
