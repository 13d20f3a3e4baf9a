//! The daily work: the head of the line moves on, what has ended is cleared away, gauges are read.

use anteroom_core::queue::{Leave, Status, Visit};

use crate::support::{deployment, join, look, queue, until_place};

#[tokio::test]
async fn a_place_is_promoted_when_there_is_room_and_the_metrics_show_it() {
    let deployment = deployment("[queues.concert]\ncapacity = 1\n").await;
    let scheduler = deployment.scheduler().await;
    scheduler.until_ready().await;
    let queue = queue(&deployment, "concert").await;
    let (first, place) = join(&queue, 1).await;
    assert_eq!(place.status(), Status::Ready, "the line is empty: promoted by its own join");
    let (second, place) = join(&queue, 2).await;
    assert_eq!(place.status(), Status::Waiting);
    scheduler.until_metric("anteroom_queue_depth{queue=\"concert\"}", |it| it == Some(1.0)).await;
    assert!(matches!(look(&queue, second).await, Visit::Here(place) if place.position() == 1));

    assert!(matches!(queue.leave(first).await.expect("a leave"), Leave::Left(_)));
    until_place(&queue, second, |place| place.status() == Status::Ready).await;
    scheduler.until_metric("anteroom_queue_depth{queue=\"concert\"}", |it| it == Some(0.0)).await;
    for (name, value) in [
        ("anteroom_queue_ready{queue=\"concert\"}", 1.0),
        ("anteroom_queue_active{queue=\"concert\"}", 0.0),
        ("anteroom_queue_away{queue=\"concert\"}", 0.0),
        ("anteroom_queue_capacity{queue=\"concert\"}", 1.0),
        ("anteroom_queue_promoted_total{queue=\"concert\"}", 1.0),
        ("anteroom_queue_wait_seconds_count{queue=\"concert\"}", 1.0),
        ("anteroom_promotion_lag_seconds_count{queue=\"concert\"}", 1.0),
        ("anteroom_queue_gone_total{queue=\"concert\",reason=\"abandoned\"}", 0.0),
        ("anteroom_tick_errors_total{tick=\"promote\"}", 0.0),
        ("anteroom_success_ratio{service=\"scheduler\"}", 1.0),
    ] {
        let shown = scheduler.metric(name).await;
        // A tick that finds the line blocked by the capacity is late too, by its own share.
        let good = if name.contains("lag") { shown >= Some(value) } else { shown == Some(value) };
        assert!(good, "{name} is {shown:?}");
    }
    for tick in ["promote", "sweep", "snapshot"] {
        let name = format!("anteroom_tick_duration_seconds_count{{tick=\"{tick}\"}}");
        scheduler.until_metric(&name, |count| count > Some(0.0)).await;
    }
    scheduler.end().await;
}

#[tokio::test]
async fn a_turn_that_nobody_takes_is_swept_and_counted() {
    let deployment = deployment("[queues.concert]\ncapacity = 1\nclaim_ttl = \"5s\"\n").await;
    let scheduler = deployment.scheduler().await;
    let queue = queue(&deployment, "concert").await;
    let (_, place) = join(&queue, 1).await;
    assert_eq!(place.status(), Status::Ready);
    let (second, _) = join(&queue, 2).await;
    until_place(&queue, second, |place| place.status() == Status::Ready).await;
    let unclaimed = "anteroom_queue_gone_total{queue=\"concert\",reason=\"unclaimed\"}";
    scheduler.until_metric(unclaimed, |it| it == Some(1.0)).await;
    scheduler.end().await;
}

#[tokio::test]
async fn a_long_line_moves_on_in_chunks_within_one_tick() {
    let deployment = deployment("[queues.concert]\ncapacity = 1\n").await;
    let queue = queue(&deployment, "concert").await;
    let mut joins = tokio::task::JoinSet::new();
    for n in 0..1_000 {
        let queue = queue.clone();
        joins.spawn(async move { join(&queue, n).await });
    }
    joins.join_all().await;
    // More than one call may promote.
    deployment.write("[queues.concert]\ncapacity = 2000\n");
    let scheduler = deployment.scheduler().await;
    let promoted = "anteroom_queue_promoted_total{queue=\"concert\"}";
    scheduler.until_metric(promoted, |it| it == Some(999.0)).await;
    let waits = "anteroom_queue_wait_seconds_count{queue=\"concert\"}";
    assert_eq!(scheduler.metric(waits).await, Some(999.0));
    let estimates = "anteroom_queue_eta_error_ratio_count{queue=\"concert\"}";
    assert!(scheduler.metric(estimates).await.is_some());
    scheduler.end().await;
}
