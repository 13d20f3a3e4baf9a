//! Redis is stuck, full or read-only: visitors go on when that is over. Metrics and log show it to
//! the engineer on call; the probes stay as they are.

use anteroom_testkit::{
    PATIENCE, Redis, until,
    witness::{Call, Line, Shown},
};

use crate::stage::Stage;

#[tokio::test]
async fn promise_05_a_frozen_store_shows_in_metrics_and_log_and_all_goes_on_after_it() {
    let mut stage = Stage::open(Redis::start().await).await;
    stage.fills().await;
    stage.until_both_see_the_store(true).await;
    let mut visitor = stage.caller();
    visitor.ask_until(Call::Join, |shown| *shown != Shown::Nothing).await;
    let frozen = stage.record.now();
    stage.site.redis.freeze();
    stage.until_both_see_the_store(false).await;
    stage.until_refused_since(frozen).await;
    let more = |it: Option<f64>| it > Some(0.0);
    let (admission, scheduler) = (&stage.admission, &stage.scheduler);
    // The first second: calls were sent and not answered; then: no connection, no call.
    admission.until_metric("anteroom_store_errors_total{kind=\"unknown\"}", more).await;
    admission.until_metric("anteroom_store_errors_total{kind=\"unavailable\"}", more).await;
    admission.until_metric("anteroom_http_request_seconds_count{status=\"503\"}", more).await;
    let refused = visitor.ask(Call::Authorize).await;
    assert_eq!((refused.status, &*refused.code), (Some(403), "store_unavailable"));
    let counted = "anteroom_gate_answers_total{answer=\"store_unavailable\"}";
    admission.until_metric(counted, more).await;
    scheduler.until_metric("anteroom_tick_errors_total{tick=\"promote\"}", more).await;
    for (service, name) in [(admission, "admission"), (scheduler, "scheduler")] {
        let ratio = format!("anteroom_success_ratio{{service=\"{name}\"}}");
        service.until_metric(&ratio, |it| it < Some(1.0)).await;
        // What can no longer be read is not shown.
        service.until_metric("anteroom_queue_depth", |it| it.is_none()).await;
        assert_eq!(service.logged("\"message\":\"Redis is down\""), 1, "{name}");
        assert_eq!(service.logged("time-outs in a row"), 1, "{name} says why");
    }
    stage.site.redis.thaw();
    let back = stage.record.now();
    stage.until_both_see_the_store(true).await;
    stage.recovers(back).await;
    for service in [&stage.admission, &stage.scheduler] {
        service.until_metric("anteroom_queue_depth", |it| it.is_some()).await;
        assert_eq!(service.logged("\"message\":\"Redis is up\""), 2, "at the start, and now");
    }
    stage.ends_well().await;
}

async fn tick_errors(stage: &Stage) -> Option<f64> {
    stage.scheduler.metric("anteroom_tick_errors_total{tick=\"promote\"}").await
}

#[tokio::test]
async fn promise_05_a_full_store_shows_in_the_errors_alone_and_keeps_what_it_has() {
    let mut stage = Stage::open(Redis::start().await).await;
    stage.fills().await;
    // A long line: no visitor joins it once the memory is full.
    stage.more_come().await;
    stage.until_joined(180).await;
    let (from, errors) = (stage.record.now(), tick_errors(&stage).await);
    stage.site.redis.run::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await;
    stage.until_joins_are_refused_since(from).await;
    let more = |it: Option<f64>| it > Some(0.0);
    let refused = "anteroom_store_errors_total{kind=\"full\"}";
    stage.admission.until_metric(refused, more).await;
    stage.until_both_see_the_store(true).await;
    let admin = format!("{}/v1/admin/queues/hall", stage.admission.url("service"));
    for state in ["\"paused\"", "null"] {
        let patch = reqwest::Client::new().patch(&admin).header("content-type", "application/json");
        let body = format!("{{\"state\":{state}}}");
        let answer = patch.body(body).send().await.expect("an answer");
        assert_eq!(answer.status(), 200, "an operator can act");
    }
    assert_eq!(tick_errors(&stage).await, errors, "the line moves on");
    let served = |line: &Line| line.call == Call::Leave && line.status == Some(204);
    let before = stage.record.count(served);
    until("those in line are served", PATIENCE, async || stage.record.count(served) > before + 25)
        .await;
    let refused = |line: &Line| line.sent >= from && line.code == "store_unavailable";
    assert_eq!(stage.record.count(|line| refused(line) && line.call != Call::Join), 0);
    stage.site.redis.run::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await;
    let back = stage.record.now();
    stage.recovers(back).await;
    stage.ends_well().await;
}

#[tokio::test]
async fn promise_05_a_read_only_replica_is_named_in_the_log_and_all_goes_on_after_it() {
    let mut stage = Stage::open(Redis::start().await).await;
    stage.fills().await;
    stage.until_both_see_the_store(true).await;
    let from = stage.record.now();
    // Its primary is never reached, so it keeps what it has.
    stage.site.redis.run::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    stage.until_both_see_the_store(false).await;
    let reason = "read-only replica";
    for service in [&stage.admission, &stage.scheduler] {
        until("the log says why", PATIENCE, async || service.logged(reason) > 0).await;
    }
    stage.until_refused_since(from).await;
    stage.site.redis.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    let back = stage.record.now();
    stage.until_both_see_the_store(true).await;
    stage.recovers(back).await;
    stage.ends_well().await;
}
