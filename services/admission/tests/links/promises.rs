//! Promises 1 to 5 on a broken link, from a record of every answer.

use std::time::Duration;

use anteroom_testkit::{
    PATIENCE, local_answers, until,
    witness::{Crowd, Doors, Rules, Scene, Shown},
};

use crate::breaks::Linked;

const QUEUE: &str = "[queues.hall]\ncapacity = 25\nbatch = 40\ninterval = \"1s\"\n\
    claim_ttl = \"5s\"\nsession_ttl = \"5s\"\nsession_max = \"10s\"\n\
    joins_per_address = \"none\"\nplaces_per_address = 0\nrequests_per_place = 0\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promises_01_to_05_hold_while_the_link_breaks_in_every_way() {
    let linked = Linked::start(QUEUE).await;
    let doors = Doors::new([linked.admission.url("public")]);
    let scene = Scene { patience: 2 * PATIENCE, ..Scene::new(doors, "hall") };
    let record = scene.record.clone();
    let crowd = Crowd {
        first: 1,
        visitors: 500,
        arrive_within: Duration::from_secs(15),
        look_every: Duration::from_millis(300),
        stay: Duration::from_millis(300),
        seed: rand::random(),
    };
    let breaks = linked.breaks(2, async || {
        // The next break finds everything going on; in the end no visitor is left.
        let from = record.now();
        let is_over = || record.now() > from + 5_000_000;
        until("a visitor gets its place again", PATIENCE, async || {
            is_over() || record.count(|line| line.sent > from && line.shown != Shown::Nothing) > 30
        })
        .await;
    });
    let (ended, ()) = tokio::join!(crowd.visit(&scene, 8 * PATIENCE), breaks);
    let rules = Rules {
        capacity: Some(25),
        batch: Some(40),
        interval: Duration::from_secs(1),
        claim_ttl: Duration::from_secs(5),
        session_ttl: Duration::from_secs(5),
        local_answers: local_answers(),
        ..Rules::default()
    };
    let busiest = record.hold_to(&rules);
    assert!(busiest.inside > 20, "the room was full, for nearly all to see");
    assert_eq!(ended.unfinished, 0, "every visit came to its end");
}
