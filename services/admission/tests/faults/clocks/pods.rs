//! The pods' clocks are wrong by ten minutes, one ahead and one behind: they decide nothing.

use std::time::{Duration, Instant};

use anteroom_core::queue::AssertionKeys;
use anteroom_testkit::{
    Clock, Deployment, PATIENCE, PATIENT, Redis, Service, local_answers, until,
    witness::{Call, Caller, Crowd, Doors, Habit, Rules, Scene, Shown},
};
use jiff::Timestamp;
use reqwest::Client;
use serde_json::{Value, json};

use super::{WRONG, leap, service_is_off_by};
use crate::{HEAVY, LIGHT, machine, stage};

const QUEUES: &str = "[queues.hall]\ncapacity = 25\nbatch = 40\ninterval = \"1s\"\n\
    claim_ttl = \"5s\"\nsession_ttl = \"5s\"\nsession_max = \"10s\"\n\
    joins_per_address = \"none\"\nplaces_per_address = 0\nrequests_per_place = 0\n\
    [queues.desk]\ncapacity = 1\nsession_ttl = \"5s\"\n\
    joins_per_address = \"none\"\nplaces_per_address = 0\nrequests_per_place = 0\n\
    [targets.shop]\nwindow = \"60s\"\nmin_samples = 4\nopen_for = \"2s\"\nprobes = 2\n";
/// What the shop and the room share.
const IDENTITY: &str = "the-secret-between-shop-and-room";

/// Two admissions and two schedulers, the first of each ahead, the second behind.
struct Pods {
    admissions: Vec<Service>,
    schedulers: Vec<Service>,
    site: Deployment,
    _clocks: [Clock; 2],
}

impl Pods {
    async fn start() -> Self {
        let redis = Redis::builder().clock(Clock::off_by(0)).start().await;
        let secrets = ("ANTEROOM_ADMISSION__IDENTITY_SECRETS", IDENTITY);
        let site = Deployment::new(redis, QUEUES, &[&[secrets][..], &PATIENT].concat());
        let off = [WRONG, -WRONG];
        let clocks = off.map(Clock::off_by);
        let (mut admissions, mut schedulers) = (Vec::new(), Vec::new());
        for (clock, seconds) in clocks.iter().zip(off) {
            admissions.push(site.admission_under(clock).await);
            schedulers.push(site.scheduler_under(clock).await);
            for service in admissions.last().into_iter().chain(schedulers.last()) {
                service_is_off_by(service, seconds).await;
            }
        }
        Self { admissions, schedulers, site, _clocks: clocks }
    }

    fn scene(&self, queue: &str) -> Scene {
        Scene::new(Doors::new(self.admissions.iter().map(|it| it.url("public"))), queue)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promises_01_to_05_hold_and_every_journey_ends_with_pods_clocks_wrong_by_ten_minutes() {
    let _alone = machine(HEAVY).await;
    let pods = Pods::start().await;
    let scene = pods.scene("hall");
    let crowd = Crowd {
        first: 1,
        visitors: 400,
        arrive_within: Duration::from_secs(5),
        look_every: Duration::from_millis(300),
        stay: Duration::from_millis(300),
        seed: rand::random(),
    };
    let ended = crowd.visit(&scene, 8 * PATIENCE).await;
    let busiest = scene.record.hold_to(&stage::rules());
    assert!(busiest.inside > 20, "the room was full, for nearly all to see");
    assert_eq!(ended.unfinished, 0, "every visit came to its end");
    let served = ended.done.iter().filter(|habit| **habit <= Habit::ManyTabs).count();
    assert!(served * 10 > ended.done.len() * 7, "{served} served");
    for scheduler in &pods.schedulers {
        let promoted = scheduler.metric("anteroom_queue_promoted_total").await;
        assert!(promoted > Some(0.0), "each of the schedulers promotes");
    }
}

#[tokio::test]
async fn promise_12_a_session_lasts_as_long_through_every_door_whatever_the_pods_clocks_say() {
    let _shared = machine(LIGHT).await;
    let pods = Pods::start().await;
    let scene = pods.scene("desk");
    let mut visitor = Caller::new(&scene, 1);
    visitor.ask_until(Call::Join, |shown| matches!(shown, Shown::Ready { .. })).await;
    visitor.turn_to_the_next_door();
    visitor.ask_until(Call::Claim, |shown| matches!(shown, Shown::Active { .. })).await;
    let claimed = scene.record.now();
    // To its end, each time by the other door. The record checks that it does not end before
    // what any of them returned.
    loop {
        visitor.turn_to_the_next_door();
        match visitor.ask_until(Call::Place, |shown| *shown != Shown::Nothing).await {
            Shown::Active { left_ms } => assert!(left_ms <= 5_000, "{left_ms}"),
            shown => break assert_eq!(shown, Shown::Gone { reason: "expired".to_owned() }),
        }
        let lasted = Duration::from_micros(scene.record.now() - claimed);
        assert!(lasted < PATIENCE, "still active after {lasted:?}");
    }
    let session_ttl = Duration::from_secs(5);
    scene.record.hold_to(&Rules {
        capacity: Some(1),
        session_ttl,
        local_answers: local_answers(),
        ..Rules::default()
    });
}

#[tokio::test]
async fn promise_12_whom_a_backend_vouches_for_is_judged_by_the_stores_clock_and_not_by_the_pods() {
    let _shared = machine(LIGHT).await;
    let pods = Pods::start().await;
    let keys = AssertionKeys::new(&[IDENTITY.to_owned().into()]);
    let join = async |pod: &Service| {
        let expiry = Timestamp::now().as_second() + 120;
        let expiry = u64::try_from(expiry).expect("after 1970");
        let assertion = keys.sign("desk", "ana", expiry).expect("there is a secret");
        let request = Client::new().post(format!("{}/v1/queues/desk/tokens", pod.url("public")));
        let answer = request.json(&json!({ "assertion": assertion })).send().await;
        answer.expect("an answer").status().as_u16()
    };
    // The pods have the store's time from their last look at it, a second ago or more.
    for (seconds, statuses) in [(0, [200, 201]), (WRONG, [401, 401]), (0, [200, 200])] {
        leap(&pods.site.redis, seconds).await;
        for pod in &pods.admissions {
            until("it is judged so", PATIENCE, async || statuses.contains(&join(pod).await)).await;
        }
    }
}

/// One window for all: a report to one pod counts at the other, and the clock of Redis alone
/// decides when the target is half open.
#[tokio::test]
async fn promise_12_a_target_is_the_same_at_every_pod_whatever_their_clocks_say() {
    let _shared = machine(LIGHT).await;
    let pods = Pods::start().await;
    let http = Client::new();
    let target = |pod: usize| format!("{}/v1/targets/shop", pods.admissions[pod].url("service"));
    let record = async |pod: usize, body: Value| {
        let answer = http.post(format!("{}/outcomes", target(pod))).json(&body).send().await;
        answer.expect("an answer").json::<Value>().await.expect("JSON")
    };
    for pod in [0, 1] {
        until("the store answers", PATIENCE, async || {
            let looked = http.get(target(pod)).send().await.expect("an answer");
            looked.json::<Value>().await.expect("JSON")["degraded"].is_null()
        })
        .await;
    }
    let mut before = Instant::now();
    for n in 1..=4 {
        before = Instant::now();
        let reporter = format!("pod-{}", n % 2);
        let shown = record(n % 2, json!({ "success": n == 1, "reporter": reporter })).await;
        assert_eq!(shown["successes"], 1, "{shown}");
        assert_eq!(shown["failures"], n - 1, "{shown}");
        assert_eq!(shown["fallback"], n == 4, "{shown}");
    }
    until("it is tried again", PATIENCE, async || {
        let looked = http.get(target(0)).send().await.expect("an answer");
        looked.json::<Value>().await.expect("JSON")["state"] == "half_open"
    })
    .await;
    assert!(before.elapsed() > Duration::from_millis(1_900), "not before open_for");
    record(0, json!({ "success": true })).await;
    assert_eq!(record(1, json!({ "success": true })).await["state"], "closed");
}
