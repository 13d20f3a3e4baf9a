//! Redis late, gone and stuck: the scheduler stays, says so once, and goes on by itself.

use anteroom_core::queue::Status;
use anteroom_testkit::Redis;

use crate::support::{deployment, deployment_on, join, queue, until_place, until_ticking};

const ERRORS: &str = "anteroom_tick_errors_total{tick=\"promote\"}";
/// What the log says of a call that fails, and of its end.
const FAILS: &str = "\"message\":\"a Redis call fails\"";
const WORKS: &str = "\"message\":\"the Redis call works again\"";
const UP: &str = "anteroom_store_up";
const RATIO: &str = "anteroom_success_ratio{service=\"scheduler\"}";

const ONE_BY_ONE: &str = "[queues.concert]\ncapacity = 1\n";

#[tokio::test]
async fn it_may_start_before_redis() {
    let mut redis = Redis::start().await;
    redis.kill();
    let mut deployment = deployment_on(redis, ONE_BY_ONE);
    let scheduler = deployment.scheduler().await;
    let (status, reason) = scheduler.get("/readyz").await;
    assert_eq!(status, 503, "{reason}");
    assert_eq!(scheduler.get("/livez").await.0, 200);
    assert_eq!(scheduler.metric(UP).await, Some(0.0));
    deployment.redis.restart().await;
    scheduler.until_ready().await;
    // It is the scheduler that gives the rules to the store, which then promotes.
    scheduler
        .until_metric("anteroom_queue_capacity{queue=\"concert\"}", |it| it == Some(1.0))
        .await;
    let queue = queue(&deployment, "concert").await;
    let (first, _) = join(&queue, 1).await;
    let (second, _) = join(&queue, 2).await;
    queue.leave(first).await.expect("a leave");
    until_place(&queue, second, |place| place.status() == Status::Ready).await;
    scheduler.end().await;
}

#[tokio::test]
async fn promise_05_it_goes_on_when_redis_was_killed_and_came_back() {
    let redis = Redis::builder().durable().start().await;
    let mut deployment = deployment_on(redis, ONE_BY_ONE);
    let scheduler = deployment.scheduler().await;
    until_ticking(&scheduler).await;
    let (first, second) = {
        let queue = queue(&deployment, "concert").await;
        (join(&queue, 1).await, join(&queue, 2).await)
    };
    assert_eq!((first.1.status(), second.1.status()), (Status::Ready, Status::Waiting));
    deployment.redis.kill();
    scheduler.until_metric(ERRORS, |it| it > Some(5.0)).await;
    assert_eq!(scheduler.metric(UP).await, Some(0.0));
    assert_eq!(scheduler.get("/readyz").await.0, 200, "restarted it could do no more");
    assert!(scheduler.metric(RATIO).await < Some(1.0));

    deployment.redis.restart().await;
    scheduler.until_metric(UP, |it| it == Some(1.0)).await;
    let queue = queue(&deployment, "concert").await;
    queue.leave(first.0).await.expect("a leave");
    until_place(&queue, second.0, |place| place.status() == Status::Ready).await;
    assert_eq!(scheduler.logged("\"message\":\"Redis is down\""), 1);
    assert!(scheduler.logged(FAILS) <= 1, "not at each tick");
    scheduler.end().await;
}

#[tokio::test]
async fn promise_05_it_goes_on_with_a_store_that_forgot_everything() {
    let mut deployment = deployment("[queues.concert]\ncapacity = 3\n").await;
    let scheduler = deployment.scheduler().await;
    let capacity = "anteroom_queue_capacity{queue=\"concert\"}";
    scheduler.until_metric(capacity, |it| it == Some(3.0)).await;
    deployment.redis.restart().await;
    let queue = queue(&deployment, "concert").await;
    for n in 0..4 {
        join(&queue, n).await;
    }
    let depth = "anteroom_queue_depth{queue=\"concert\"}";
    scheduler.until_metric(depth, |it| it == Some(1.0)).await;
    assert_eq!(scheduler.metric(capacity).await, Some(3.0));
    scheduler.end().await;
}

#[tokio::test]
async fn a_stuck_store_is_logged_once() {
    let deployment = deployment("[queues.a]\ncapacity = 1\n[queues.b]\ncapacity = 1\n").await;
    let scheduler = deployment.scheduler().await;
    until_ticking(&scheduler).await;
    deployment.redis.freeze();
    scheduler.until_metric(ERRORS, |it| it > Some(20.0)).await;
    deployment.redis.thaw();
    scheduler.until_metric(UP, |it| it == Some(1.0)).await;
    let done = "anteroom_tick_duration_seconds_count{tick=\"promote\"}";
    let errors = scheduler.metric(ERRORS).await.expect("shown");
    scheduler.until_metric(done, |it| it > Some(errors + 10.0)).await;
    let fails = scheduler.logged(FAILS);
    assert!((1..=2).contains(&fails), "{fails} lines for {errors} errors");
    assert_eq!(scheduler.logged(WORKS), fails);
    scheduler.end().await;
}
