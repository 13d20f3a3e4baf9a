//! What each durability setting can lose, and what the services do then.

use std::collections::{BTreeSet, HashSet};

use anteroom_testkit::{
    Deployment, Fault, PATIENCE, Proxy, Redis, until,
    witness::{Call, Caller, Doors, Scene, Shown},
};

use crate::stage::Stage;

/// How many places were shown as lost; none of them was acknowledged before `from`.
fn lost_since(stage: &Stage, from: u64) -> usize {
    let lines = stage.record.lines();
    let acknowledged: HashSet<_> = lines
        .iter()
        .filter(|line| line.received <= from && line.status == Some(201))
        .map(|line| (line.identity, line.place()))
        .collect();
    let lost: HashSet<_> = lines
        .iter()
        .filter(|line| matches!(&line.shown, Shown::Gone { reason } if reason == "lost"))
        .map(|line| (line.identity, line.place()))
        .collect();
    let early: Vec<_> = lost.intersection(&acknowledged).collect();
    assert!(early.is_empty(), "lost although the store was to keep them: {early:?}");
    lost.len()
}

#[tokio::test]
async fn everysec_loses_the_last_second_and_those_join_again() {
    let redis = Redis::builder().arg("--appendonly", "yes").arg("--appendfsync", "everysec");
    let mut stage = Stage::open(redis.start().await).await;
    stage.fills().await;
    // The machine stops, and what was written in the last second had not reached the disk.
    let from = stage.record.now();
    // While the disk is busy, Redis keeps what it has acknowledged for up to two seconds.
    until("all of it is in the file", PATIENCE, async || {
        let info: String = stage.site.redis.run(&["INFO", "persistence"]).await;
        info.contains("aof_buffer_length:0\r\n")
    })
    .await;
    let flushed = stage.site.redis.append_only_bytes();
    stage.more_come().await;
    until("a second passes", PATIENCE, async || stage.record.now() > from + 1_000_000).await;
    let killed = stage.record.now();
    stage.site.redis.kill();
    stage.site.redis.cut_append_only(flushed);
    stage.until_refused_since(killed).await;
    stage.site.redis.restart().await;
    let back = stage.record.now();
    stage.loses(from, back);
    stage.recovers(back).await;
    stage.ends_well().await;
    let lost = lost_since(&stage, from);
    assert!(lost > 0, "joins of the last second are shown as lost");
}

#[tokio::test]
async fn a_snapshot_loses_what_came_after_it() {
    // A schedule that never comes: only the SAVE below writes the file.
    let redis = Redis::builder().arg("--save", "86400 1").start().await;
    let mut stage = Stage::open(redis).await;
    stage.fills().await;
    let saved = stage.record.now();
    stage.site.redis.run::<()>(&["SAVE"]).await;
    stage.more_come().await;
    let killed = stage.record.now();
    stage.site.redis.kill();
    stage.until_refused_since(killed).await;
    stage.site.redis.restart().await;
    let back = stage.record.now();
    stage.loses(saved, back);
    stage.recovers(back).await;
    stage.ends_well().await;
    assert!(lost_since(&stage, saved) > 0, "a join after the snapshot is shown as lost");
}

#[tokio::test]
async fn what_was_done_after_the_snapshot_is_undone() {
    let queue =
        "[queues.hall]\ncapacity = 2\njoins_per_address = \"none\"\nplaces_per_address = 0\n";
    let redis = Redis::builder().arg("--save", "86400 1").start().await;
    let mut site = Deployment::new(redis, queue, &[]);
    let (admission, _scheduler) = (site.admission().await, site.scheduler().await);
    let scene = Scene::new(Doors::new([admission.url("public")]), "hall");
    let heard = |shown: &Shown| *shown != Shown::Nothing;
    let [mut claims, mut finishes, mut joins, mut other] =
        [1, 2, 3, 4].map(|visitor| Caller::new(&scene, visitor));
    for visitor in [&mut claims, &mut finishes] {
        visitor.ask_until(Call::Join, |shown| matches!(shown, Shown::Ready { .. })).await;
    }
    assert!(matches!(finishes.ask(Call::Claim).await.shown, Shown::Active { .. }));
    site.redis.run::<()>(&["SAVE"]).await;
    assert!(matches!(claims.ask(Call::Claim).await.shown, Shown::Active { .. }));
    assert_eq!(joins.ask(Call::Join).await.ticket, Some(3));
    assert_eq!(finishes.ask(Call::Leave).await.status, Some(204));
    site.redis.restart().await;

    assert!(matches!(claims.ask_until(Call::Place, heard).await, Shown::Ready { .. }));
    assert!(matches!(finishes.ask(Call::Place).await.shown, Shown::Active { .. }));
    let lost = Shown::Gone { reason: "lost".to_owned() };
    assert_eq!(joins.ask(Call::Place).await.shown, lost);
    assert_eq!(other.ask(Call::Join).await.ticket, Some(3), "a ticket is given again");
    assert_eq!(joins.ask(Call::Leave).await.status, Some(204));
    let shown = other.ask(Call::Place).await.shown;
    assert_eq!(shown, Shown::Waiting { position: Some(1) }, "another's token does nothing to it");
    assert_eq!(joins.ask(Call::Place).await.shown, lost);
}

#[tokio::test]
async fn without_a_file_a_new_life_begins_and_all_join_again() {
    let mut stage = Stage::open(Redis::start().await).await;
    stage.fills().await;
    let killed = stage.record.now();
    stage.site.redis.kill();
    stage.until_refused_since(killed).await;
    stage.site.redis.restart().await;
    let back = stage.record.now();
    stage.loses(killed, back);
    stage.recovers(back).await;
    stage.ends_well().await;
    assert!(lost_since(&stage, 0) > 20, "the places of those who waited are shown as lost");
    let lines = stage.record.lines();
    let epochs = |is: &dyn Fn(u64) -> bool| {
        let given = lines.iter().filter(|line| is(line.sent)).filter_map(|line| line.given);
        given.map(|place| place.epoch).collect::<BTreeSet<_>>()
    };
    let (before, after) = (epochs(&|sent| sent < killed), epochs(&|sent| sent >= back));
    assert_eq!((before.len(), after.len()), (1, 1), "one life before, one after");
    assert!(before.is_disjoint(&after));
}

#[tokio::test]
async fn a_replica_that_lags_loses_what_it_had_not_received() {
    let primary = Redis::start().await;
    let (link, address) = (Proxy::start(primary.port()).await, Proxy::start(primary.port()).await);
    let follows = format!("127.0.0.1 {}", link.port());
    let replica = Redis::builder().arg("--replicaof", &follows).start().await;
    until("the replica follows", PATIENCE, async || {
        let info = replica.run::<String>(&["INFO", "replication"]).await;
        info.contains("master_link_status:up")
    })
    .await;
    let mut stage = Stage::open_with(primary, &[("ANTEROOM_STORE__URL", &address.url())]).await;
    stage.fills().await;
    let lags = stage.record.now();
    stage.site.redis.is_caught_up_by(&replica).await;
    link.set(Fault::Blackhole);
    stage.more_come().await;
    let killed = stage.record.now();
    stage.site.redis.kill();
    stage.until_refused_since(killed).await;
    replica.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    address.redirect(replica.port());
    let back = stage.record.now();
    stage.loses(lags, back);
    stage.recovers(back).await;
    stage.ends_well().await;
    let lost = lost_since(&stage, lags);
    assert!(lost > 0, "a join that the replica had not received is shown as lost");
}
