//! Every process is killed, frozen and restarted at random moments while thousands go through.
//!
//! `ANTEROOM_CHAOS_SECONDS` sets the length, `ANTEROOM_SEED` repeats the decisions of a run; the
//! moments at which they meet the processes are those of the machine.

use std::time::Duration;

use anteroom_testkit::{
    Deployment, Redis, local_answers,
    witness::{Crowd, Habit, Rules, Scene},
};
use rand::Rng as _;

use crate::breaking::{Chaos, Unit, length, seeded};

const QUEUE: &str = "[queues.rush]\ncapacity = 70\nbatch = 100\ninterval = \"2s\"\n\
    claim_ttl = \"5s\"\nsession_ttl = \"5s\"\nsession_max = \"10s\"\n\
    idle_ttl = \"60s\"\nkeep_ttl = \"60s\"\nfirst_poll_ttl = \"30s\"\n\
    joins_per_address = \"none\"\nplaces_per_address = 0\nrequests_per_place = 0\n";

fn rules() -> Rules {
    Rules {
        capacity: Some(70),
        batch: Some(100),
        interval: Duration::from_secs(2),
        claim_ttl: Duration::from_secs(5),
        session_ttl: Duration::from_secs(5),
        idle_ttl: Duration::from_secs(60),
        first_poll_ttl: Duration::from_secs(30),
        local_answers: local_answers(),
        losses: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promises_01_to_05_hold_while_every_process_is_killed_and_frozen() {
    let (mut random, length) = (seeded(), length(60));
    let seconds = length.as_secs();
    let _shared = crate::machine(crate::LIGHT).await;
    let site = Deployment::new(Redis::start().await, QUEUE, &[]);
    let units = [Unit::Admission(0), Unit::Admission(1), Unit::Scheduler, Unit::Scheduler];
    // Half a minute where the run lasts for minutes, never so long that most of it is silence.
    let freeze = (length / 6).min(Duration::from_secs(30));
    let mut chaos = Chaos::begin(site, &units, "public", freeze, length, &mut random).await;
    let patience = Duration::from_millis(1_500);
    let scene = Scene { patience, ..Scene::new(chaos.doors(), "rush") };
    let record = scene.record.clone();
    let crowd = Crowd {
        first: 1,
        visitors: 2_000.max(u32::try_from(33 * seconds).expect("less than a year")),
        arrive_within: length.mul_f64(0.7),
        look_every: Duration::from_millis(1_500),
        stay: Duration::from_millis(800),
        seed: random.random(),
    };
    let ended = crowd.visit(&scene, 2 * length + Duration::from_secs(120)).await;
    chaos.over().await;
    let busiest = record.hold_to(&rules());
    // A run that never came to the limits would show nothing.
    assert!(busiest.inside > 65, "the room was full, for nearly all to see");
    assert!(busiest.promoted > 90, "an interval was full");
    assert_eq!(ended.unfinished, 0, "every visit came to its end");
    let served = ended.done.iter().filter(|habit| **habit <= Habit::ManyTabs).count();
    assert!(served * 10 > ended.done.len() * 7, "{served} served");
}
