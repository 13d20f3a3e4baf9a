//! Every process is killed, frozen and restarted at random moments while thousands go through.
//!
//! `ANTEROOM_CHAOS_SECONDS` sets the length, `ANTEROOM_SEED` repeats the decisions of a run; the
//! moments at which they meet the processes are those of the machine.

use std::{sync::Arc, time::Duration};

use anteroom_testkit::{
    Deployment, Redis, Service,
    witness::{Crowd, Doors, Habit, Rules, Scene},
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

const QUEUE: &str = "[queues.rush]\ncapacity = 70\nbatch = 100\ninterval = \"2s\"\n\
    claim_ttl = \"5s\"\nsession_ttl = \"5s\"\nsession_max = \"10s\"\n\
    idle_ttl = \"60s\"\nkeep_ttl = \"60s\"\nfirst_poll_ttl = \"30s\"\n\
    joins_per_address = \"none\"\nrequests_per_place = 0\n";

fn rules() -> Rules {
    Rules {
        capacity: Some(70),
        batch: Some(100),
        interval: Duration::from_secs(2),
        claim_ttl: Duration::from_secs(5),
        session_ttl: Duration::from_secs(5),
        idle_ttl: Duration::from_secs(60),
        first_poll_ttl: Duration::from_secs(30),
        losses: Vec::new(),
    }
}

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// One of the two admissions or schedulers.
#[derive(Clone, Copy)]
enum Unit {
    Admission(u8),
    Scheduler,
}

/// What befalls the processes, one task for each.
struct Chaos {
    site: Arc<Deployment>,
    doors: Doors,
    /// How long a process is frozen at most.
    freeze: Duration,
    end: Instant,
}

impl Chaos {
    async fn start(&self, unit: Unit) -> Service {
        match unit {
            Unit::Scheduler => self.site.scheduler().await,
            Unit::Admission(door) => {
                let service = self.site.admission().await;
                self.doors.moved(door, &service.url("public"));
                service
            }
        }
    }

    /// Breaks a process now and then; in the end it runs. Returns it with what happened to it.
    async fn befall(
        self: Arc<Self>,
        unit: Unit,
        mut service: Service,
        seed: u64,
    ) -> (Service, [u32; 2]) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut happened = [0, 0];
        loop {
            let calm = self.freeze.mul_f64(random.random_range(0.2..1.5));
            if Instant::now() + calm >= self.end {
                sleep_until(self.end).await;
                return (service, happened);
            }
            sleep(calm).await;
            if random.random_bool(0.5) {
                happened[0] += 1;
                service.process.kill();
                sleep(Duration::from_millis(random.random_range(0..3_000))).await;
                service = self.start(unit).await;
            } else {
                happened[1] += 1;
                service.process.freeze();
                sleep(self.freeze.mul_f64(random.random_range(1.0 / 6.0..1.0))).await;
                service.process.thaw();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promises_01_to_05_hold_while_every_process_is_killed_and_frozen() {
    let seconds = setting("ANTEROOM_CHAOS_SECONDS").unwrap_or(60);
    let seed = setting("ANTEROOM_SEED").unwrap_or_else(rand::random);
    eprintln!("ANTEROOM_SEED={seed} ANTEROOM_CHAOS_SECONDS={seconds}");
    let mut random = StdRng::seed_from_u64(seed);
    let length = Duration::from_secs(seconds);

    let _shared = crate::MACHINE.read().await;
    let site = Arc::new(Deployment::new(Redis::start().await, QUEUE, &[]));
    let services = [
        (Unit::Admission(0), site.admission().await),
        (Unit::Admission(1), site.admission().await),
        (Unit::Scheduler, site.scheduler().await),
        (Unit::Scheduler, site.scheduler().await),
    ];
    let doors = Doors::new(services[..2].iter().map(|(_, service)| service.url("public")));
    let patience = Duration::from_millis(1_500);
    let scene = Scene { patience, ..Scene::new(doors.clone(), "rush") };
    let record = scene.record.clone();
    let chaos = Arc::new(Chaos {
        site,
        doors,
        // Half a minute where the run lasts for minutes, never so long that most of it is silence.
        freeze: (length / 6).min(Duration::from_secs(30)),
        end: Instant::now() + length,
    });
    let mut befalls = JoinSet::new();
    for (unit, service) in services {
        befalls.spawn(chaos.clone().befall(unit, service, random.random()));
    }
    let crowd = Crowd {
        first: 1,
        visitors: 2_000.max(u32::try_from(33 * seconds).expect("less than a year")),
        arrive_within: length.mul_f64(0.7),
        look_every: Duration::from_millis(1_500),
        stay: Duration::from_millis(800),
        seed: random.random(),
    };
    let ended = crowd.visit(&scene, 2 * length + Duration::from_secs(120)).await;
    let services = befalls.join_all().await;
    for (_, happened) in &services {
        assert!(happened.iter().sum::<u32>() >= 1, "each process is broken at least once");
    }
    eprintln!(
        "{} visitors, {} lines, kills and freezes {:?}",
        crowd.visitors,
        record.count(|_| true),
        services.iter().map(|(_, happened)| happened).collect::<Vec<_>>(),
    );
    let busiest = record.hold_to(&rules());
    eprintln!("{busiest:?}");
    // A run that never came to the limits would show nothing.
    assert!(busiest.inside > 65, "the room was full, for nearly all to see");
    assert!(busiest.promoted > 90, "an interval was full");
    assert_eq!(ended.unfinished, 0, "everybody's visit came to its end");
    let served = ended.done.iter().filter(|habit| **habit <= Habit::ManyTabs).count();
    assert!(served * 10 > ended.done.len() * 7, "{served} served");
}
