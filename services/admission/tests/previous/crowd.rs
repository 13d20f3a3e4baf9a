//! Hundreds of visitors go through while the scheduler changes its version, and changes it back.

use std::{collections::BTreeSet, time::Duration};

use anteroom_testkit::{
    PATIENCE, until,
    witness::{Call, Crowd, Ended, Line, Record, Rules, Scene, Shown},
};
use tokio::task::JoinHandle;

use crate::side_by_side::{NEW, OLD, SideBySide, Version};

const RULES: &str = "capacity = 20\nbatch = 25\ninterval = \"1s\"\n\
    claim_ttl = \"5s\"\nsession_ttl = \"5s\"\nsession_max = \"10s\"\n\
    idle_ttl = \"60s\"\nkeep_ttl = \"60s\"\nfirst_poll_ttl = \"30s\"\n\
    joins_per_address = \"none\"\nplaces_per_address = 0\nrequests_per_place = 0\n";

/// So many visitors have left after their session before the next scheduler starts or ends.
const SERVED: usize = 60;
/// So many come then, in two parts, so that a line remains for what follows, however long it takes.
const COME: u32 = 120;

fn rules() -> Rules {
    Rules {
        capacity: Some(20),
        batch: Some(25),
        interval: Duration::from_secs(1),
        claim_ttl: Duration::from_secs(5),
        session_ttl: Duration::from_secs(5),
        idle_ttl: Duration::from_secs(60),
        first_poll_ttl: Duration::from_secs(30),
        local_answers: true,
        losses: Vec::new(),
    }
}

async fn come(scene: Scene, first: u32, visitors: u32) -> Ended {
    let crowd = Crowd {
        first,
        visitors,
        arrive_within: Duration::from_secs(2),
        look_every: Duration::from_millis(400),
        stay: Duration::from_millis(300),
        seed: rand::random(),
    };
    crowd.visit(&scene, 8 * PATIENCE).await
}

fn is_poll(line: &Line, door: u8) -> bool {
    line.call == Call::Place && line.door == door && line.status == Some(200)
}

/// Hundreds of visitors, who come when a scheduler starts or ends.
struct Crowds {
    scene: Scene,
    coming: Vec<JoinHandle<Ended>>,
}

impl Crowds {
    /// More visitors come. Waits until some were served, and some have polled at either version.
    async fn until_more_are_served(&mut self) {
        // The first ones ask either version in turn, the others always the same one.
        for alternate in [true, false] {
            let first = 1_000 * self.coming.len() as u32;
            let scene = Scene { alternate, ..self.scene.clone() };
            self.coming.push(tokio::spawn(come(scene, first, COME / 2)));
        }
        until_more_are_served(&self.scene.record).await;
    }
}

async fn until_more_are_served(record: &Record) {
    let since = record.now();
    until("visitors are served", 2 * PATIENCE, async || {
        let count = |is: &dyn Fn(&Line) -> bool| record.count(|line| line.sent > since && is(line));
        count(&|line| line.call == Call::Leave && line.status == Some(204)) >= SERVED
            && [OLD, NEW].iter().all(|door| count(&|line| is_poll(line, *door)) > 20)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promises_01_to_05_hold_during_a_roll_out_and_a_roll_back() {
    let Some((mut sides, old)) = SideBySide::open("hall", RULES).await else { return };
    let scene = sides.scene();
    let record = scene.record.clone();
    let mut crowds = Crowds { scene, coming: Vec::new() };

    for _ in 0..3 {
        crowds.until_more_are_served().await;
    }
    until("a line forms", 2 * PATIENCE, async || {
        record.count(|line| matches!(line.shown, Shown::Waiting { position: Some(30..) })) > 0
    })
    .await;
    // No version answers from memory.
    let polls = record.count(|line| is_poll(line, NEW)) as u64;
    let at_redis = sides.polls_at_redis().await;
    assert!(at_redis >= polls, "{at_redis} of {polls} polls");

    let new = sides.scheduler(Version::New).await;
    crowds.until_more_are_served().await;
    old.end().await;
    crowds.until_more_are_served().await;
    let polls = record.count(|line| is_poll(line, NEW)) as u64;
    let at_redis = sides.polls_at_redis().await;
    assert!(at_redis < polls, "this version answers from memory: {at_redis} of {polls} polls");

    let old = sides.scheduler(Version::Old).await;
    crowds.until_more_are_served().await;
    new.end().await;

    for crowd in crowds.coming {
        let ended = crowd.await.expect("visitors do not panic");
        assert_eq!(ended.unfinished, 0, "every visit came to its end");
    }
    let busiest = record.hold_to(&rules());
    assert!(busiest.inside > 15, "the room was full, for nearly all to see: {busiest:?}");
    each_call_had_answers_of_both_versions(&record.lines());
    no_ticket_is_missing(&record.lines());
    old.end().await;
    sides.end().await;
}

fn each_call_had_answers_of_both_versions(lines: &[Line]) {
    for door in [OLD, NEW] {
        for call in
            [Call::Join, Call::Place, Call::Claim, Call::Authorize, Call::Renew, Call::Leave]
        {
            let is = |line: &&Line| line.door == door && line.call == call;
            let answers = lines.iter().filter(is).filter(|line| line.shown != Shown::Nothing);
            assert!(answers.count() > 10, "{call:?} at {door}");
        }
    }
    let failed = lines.iter().find(|line| line.status.is_none_or(|status| status >= 500));
    assert!(failed.is_none(), "{failed:?}");
}

fn no_ticket_is_missing(lines: &[Line]) {
    let places: BTreeSet<_> = lines.iter().filter_map(|line| line.given).collect();
    let epochs: BTreeSet<_> = places.iter().map(|place| place.epoch).collect();
    assert_eq!(epochs.len(), 1, "one epoch");
    assert!(places.iter().map(|place| place.ticket).eq(1..=places.len() as u64), "{places:?}");
}
