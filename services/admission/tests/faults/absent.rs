//! All of one service is gone for long, and comes back.

use std::time::{Duration, Instant};

use anteroom_testkit::{
    Deployment, PATIENCE, PATIENT, Redis, local_answers, until,
    witness::{Call, Caller, Doors, Record, Rules, Scene, Shown},
};
use futures_util::future::join_all;

use crate::{LIGHT, machine};

/// Two at a time; a turn lasts 5 s, a session 8 s.
const QUEUE: &str = "[queues.desk]\ncapacity = 2\nclaim_ttl = \"5s\"\nsession_ttl = \"8s\"\n\
    first_poll_ttl = \"30s\"\njoins_per_address = \"none\"\n\
        places_per_address = 0\nrequests_per_place = 0\n";

fn rules() -> Rules {
    Rules {
        capacity: Some(2),
        claim_ttl: Duration::from_secs(5),
        session_ttl: Duration::from_secs(8),
        first_poll_ttl: Duration::from_secs(30),
        local_answers: local_answers(),
        ..Rules::default()
    }
}

fn scene(door: &str) -> Scene {
    Scene::new(Doors::new([door]), "desk")
}

/// Visitors who have joined, in this order.
async fn line(scene: &Scene, visitors: u32) -> Vec<Caller> {
    let mut line: Vec<_> = (1..=visitors).map(|visitor| Caller::new(scene, visitor)).collect();
    for caller in &mut line {
        caller.ask_until(Call::Join, |shown| *shown != Shown::Nothing).await;
    }
    line
}

/// Waits until so much time has passed on the record's clock.
async fn passes(record: &Record, time: Duration) {
    let end = record.now() + u64::try_from(time.as_micros()).expect("short");
    until("time passes", time + PATIENCE, async || record.now() >= end).await;
}

#[tokio::test]
async fn promise_05_without_a_scheduler_the_line_waits_and_no_visitor_runs_out_of_time() {
    let _shared = machine(LIGHT).await;
    let site = Deployment::new(Redis::start().await, QUEUE, &PATIENT);
    let (admission, mut scheduler) = (site.admission().await, site.scheduler().await);
    let scene = scene(&admission.url("public"));
    let mut line = line(&scene, 4).await;
    line[0].ask_until(Call::Claim, |shown| matches!(shown, Shown::Active { .. })).await;
    scheduler.process.kill();

    // Longer than a turn, longer than a session.
    passes(&scene.record, Duration::from_secs(12)).await;
    let shown = line[0].ask(Call::Place).await.shown;
    assert!(
        matches!(shown, Shown::Active { .. }),
        "queue time stops 5 s after the last tick: {shown:?}"
    );
    // Finishing works, and frees a slot, which no process gives away.
    assert_eq!(line[0].ask(Call::Leave).await.status, Some(204));
    passes(&scene.record, Duration::from_secs(2)).await;
    let shown = line[2].ask(Call::Place).await.shown;
    assert_eq!(shown, Shown::Waiting { position: Some(1) }, "no visitor is promoted");
    let shown =
        Caller::new(&scene, 5).ask_until(Call::Join, |shown| *shown != Shown::Nothing).await;
    assert_eq!(shown, Shown::Waiting { position: Some(3) }, "joins are taken");
    admission.until_metric("anteroom_queue_depth", |it| it == Some(3.0)).await;

    let _scheduler = site.scheduler().await;
    line[2].ask_until(Call::Place, |shown| matches!(shown, Shown::Ready { .. })).await;
    scene.record.hold_to(&rules());
}

#[tokio::test]
async fn promise_05_without_an_admission_turns_lapse_for_first_poll_ttl_and_then_the_line_waits() {
    let _shared = machine(LIGHT).await;
    let site = Deployment::new(Redis::start().await, QUEUE, &PATIENT);
    let (mut admission, scheduler) = (site.admission().await, site.scheduler().await);
    let scene = scene(&admission.url("public"));
    let mut line = line(&scene, 24).await;
    admission.process.kill();
    let promoted = async || scheduler.metric("anteroom_queue_promoted_total").await;

    // Past first_poll_ttl; then more than a turn's time in which nothing moves.
    passes(&scene.record, Duration::from_secs(31)).await;
    let before = promoted().await;
    passes(&scene.record, Duration::from_secs(7)).await;
    assert_eq!(promoted().await, before, "a turn given now would be missed");

    let admission = site.admission().await;
    scene.doors.moved(0, &admission.url("public"));
    let (mut lapsed, mut waiting) = (0, 0);
    // At once, for turns go on meanwhile. It listens before it has found its store.
    let ask = |caller| Caller::ask_until(caller, Call::Place, |shown| *shown != Shown::Nothing);
    for shown in join_all(line.iter_mut().map(ask)).await {
        match shown {
            Shown::Gone { reason } => {
                assert_eq!(reason, "unclaimed");
                lapsed += 1;
            }
            Shown::Waiting { position } => {
                waiting += 1;
                assert!(position <= Some(waiting), "in the old order");
            }
            other => assert!(matches!(other, Shown::Ready { .. }), "{other:?}"),
        }
    }
    // Two slots, each with a new turn every 5 s, for 30 s and the tick in which they end.
    assert!((2..=14).contains(&lapsed), "{lapsed} turns lapsed, {waiting} wait");
    assert!(waiting >= 8, "{lapsed} turns lapsed, {waiting} wait");
    let end = Instant::now() + 2 * PATIENCE;
    loop {
        let shown = join_all(line.iter_mut().map(|caller| caller.ask(Call::Place))).await;
        if shown.iter().any(|heard| matches!(heard.shown, Shown::Ready { .. })) {
            break;
        }
        assert!(Instant::now() < end, "no turn is given again");
    }
    scene.record.hold_to(&rules());
}
