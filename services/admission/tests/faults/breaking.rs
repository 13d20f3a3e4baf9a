//! What befalls the processes of a deployment, and its store, while a test goes on.
//!
//! `ANTEROOM_CHAOS_SECONDS` sets the length, `ANTEROOM_SEED` repeats the decisions of a run; the
//! moments at which they meet the processes are those of the machine.

use std::{sync::Arc, time::Duration};

use anteroom_testkit::{Cut, Deployment, Proxy, Service, witness::Doors};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use tokio::{
    sync::RwLock,
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep, sleep_until},
};

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// How long a run lasts.
pub fn length(seconds: u64) -> Duration {
    Duration::from_secs(setting("ANTEROOM_CHAOS_SECONDS").unwrap_or(seconds))
}

/// What decides everything that is not the machine's.
pub fn seeded() -> StdRng {
    let seed = setting("ANTEROOM_SEED").unwrap_or_else(rand::random);
    eprintln!("ANTEROOM_SEED={seed}");
    StdRng::seed_from_u64(seed)
}

/// One process of a deployment.
#[derive(Clone, Copy)]
pub enum Unit {
    /// At this door.
    Admission(u8),
    Scheduler,
    Issuer,
}

struct Site {
    deployment: RwLock<Deployment>,
    doors: Doors,
    /// Which port of an admission the doors lead to.
    port: &'static str,
    /// How long a process is frozen at most.
    freeze: Duration,
    end: Instant,
}

/// Kills and freezes, for each process a task.
pub struct Chaos {
    site: Arc<Site>,
    befalls: JoinSet<(Service, [u32; 2])>,
    store: Option<JoinHandle<[u32; 2]>>,
    /// Those that run when it is over.
    services: Vec<Service>,
}

impl Chaos {
    /// Starts the processes; from now on each is broken now and then, for so long.
    pub async fn begin(
        deployment: Deployment,
        units: &[Unit],
        port: &'static str,
        freeze: Duration,
        length: Duration,
        random: &mut StdRng,
    ) -> Self {
        let (mut services, mut urls) = (Vec::new(), Vec::new());
        for unit in units {
            let service = unit.start(&deployment).await;
            if let Unit::Admission(_) = unit {
                urls.push(service.url(port));
            }
            services.push((*unit, service));
        }
        let (deployment, doors) = (RwLock::new(deployment), Doors::new(urls));
        let end = Instant::now() + length;
        let site = Arc::new(Site { deployment, doors, port, freeze, end });
        let mut befalls = JoinSet::new();
        for (unit, service) in services {
            befalls.spawn(site.clone().befall(unit, service, random.random()));
        }
        Self { site, befalls, store: None, services: Vec::new() }
    }

    /// The admissions, wherever they stand.
    pub fn doors(&self) -> Doors {
        self.site.doors.clone()
    }

    /// The store is killed now and then as well, and calls that go through this link are cut.
    pub fn break_store(&mut self, link: Arc<Proxy>, random: &mut StdRng) {
        let site = self.site.clone();
        self.store = Some(tokio::spawn(site.break_store(link, random.random())));
    }

    /// When all is calm again and every process runs: how often each was killed and frozen, and
    /// at last how often the store was killed, and a call cut.
    ///
    /// # Panics
    /// When one of them was never broken.
    pub async fn over(&mut self) -> Vec<[u32; 2]> {
        let befallen = std::mem::take(&mut self.befalls).join_all().await;
        let mut happened: Vec<_> = befallen.iter().map(|(_, happened)| *happened).collect();
        self.services = befallen.into_iter().map(|(service, _)| service).collect();
        if let Some(store) = self.store.take() {
            happened.push(store.await.expect("the store came back"));
        }
        let broken = happened.iter().all(|it| it.iter().sum::<u32>() >= 1);
        assert!(broken, "each is broken at least once: {happened:?}");
        happened
    }
}

impl Unit {
    async fn start(self, deployment: &Deployment) -> Service {
        match self {
            Self::Admission(_) => deployment.admission().await,
            Self::Scheduler => deployment.scheduler().await,
            Self::Issuer => deployment.issuer().await,
        }
    }
}

impl Site {
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
                service = unit.start(&*self.deployment.read().await).await;
                if let Unit::Admission(door) = unit {
                    self.doors.moved(door, &service.url(self.port));
                }
            } else {
                happened[1] += 1;
                service.process.freeze();
                sleep(self.freeze.mul_f64(random.random_range(1.0 / 6.0..1.0))).await;
                service.process.thaw();
            }
        }
    }

    /// Kills the store now and then, more often cuts a call: it was executed, or not, and the
    /// reply is lost.
    async fn break_store(self: Arc<Self>, link: Arc<Proxy>, seed: u64) -> [u32; 2] {
        let mut random = StdRng::seed_from_u64(seed);
        let mut kills = 0;
        loop {
            let calm = self.freeze.mul_f64(random.random_range(0.05..0.3));
            if Instant::now() + calm >= self.end {
                sleep_until(self.end).await;
                return [kills, u32::try_from(link.cuts()).expect("not that many")];
            }
            sleep(calm).await;
            if random.random_bool(0.15) {
                kills += 1;
                self.deployment.write().await.redis.restart().await;
            } else {
                let cut = [Cut::After, Cut::Before, Cut::Amid];
                link.cut(b"EVALSHA", *cut.choose(&mut random).expect("three"));
            }
        }
    }
}
