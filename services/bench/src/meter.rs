//! What a load costs: counters of the processes, of the store and of admission, read before and
//! after a window of time in which the load runs.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anteroom_testkit::PATIENCE;
use anyhow::{Context as _, ensure};

use crate::{
    cpu, http,
    load::{Load, Plan},
    request::Requests,
    settings::Settings,
    world::{Cpu, World},
};

const A_MOMENT: Duration = Duration::from_millis(5);

/// Enough for queue time to go on after the scheduler was stopped.
pub const SOME_TICKS: Duration = Duration::from_millis(250);

/// What to ask of admission.
#[derive(Clone)]
pub struct Question {
    /// The operation that answers, such as `queue.join`.
    pub operation: &'static str,
    /// The requests.
    pub requests: Arc<Requests>,
    /// The one status that is right.
    pub expect: u16,
}

/// What was measured in one window. Times are processor time in µs.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Length in seconds.
    pub seconds: f64,
    /// Requests answered.
    pub requests: f64,
    /// Of all admissions.
    pub admission_us: f64,
    /// Of all schedulers.
    pub scheduler_us: f64,
    /// Of the store, with its ticks.
    pub store_us: f64,
    /// Of the load generator.
    pub generator_us: f64,
    /// Of all other programs on the machine.
    pub others_us: f64,
    /// Calls of the operation's script, as admission counts them.
    pub calls: f64,
    /// Items in these calls.
    pub items: f64,
    /// EVALSHA of all operations, as the store counts them.
    pub evalsha: f64,
    /// Time inside them, by the store's clock.
    pub script_us: f64,
}

impl Window {
    /// Requests per second.
    pub fn rate(&self) -> f64 {
        self.requests / self.seconds
    }

    /// A total per request.
    pub fn per_request(&self, total: f64) -> f64 {
        total / self.requests
    }

    /// How much of a core other programs took.
    pub fn others_cores(&self) -> f64 {
        (self.others_us / 1e6 / self.seconds).max(0.0)
    }

    /// Processor time of everything that took part, a request.
    pub fn all_us(&self) -> f64 {
        let parts = [self.admission_us, self.scheduler_us, self.store_us, self.generator_us];
        self.per_request(parts.iter().sum())
    }
}

/// Loads all admissions and measures the window after the warm-up.
pub async fn measure(
    world: &World,
    settings: &Settings,
    question: &Question,
) -> anyhow::Result<Window> {
    let load = Load::start(Plan {
        addresses: world.addresses(question.operation),
        requests: question.requests.clone(),
        expect: question.expect,
        connections: settings.connections,
        threads: settings.threads,
    });
    warm_up(&load, settings).await?;
    // The questions stand outside of the window, the counters at its ends.
    let told_before = Told::ask(world, question.operation).await?;
    let before = Counted::read(world, &load)?;
    pass(&load, settings.window).await?;
    let after = Counted::read(world, &load)?;
    let told_after = Told::ask(world, question.operation).await?;
    load.finish()?;
    let us = |of: fn(&Counted) -> u64| (of(&after) - of(&before)) as f64 / 1e3;
    Ok(Window {
        seconds: (after.at - before.at).as_secs_f64(),
        requests: (after.answered - before.answered) as f64,
        admission_us: us(|it| it.cpu.admission),
        scheduler_us: us(|it| it.cpu.scheduler),
        store_us: us(|it| it.cpu.store),
        generator_us: us(|it| it.generator),
        others_us: us(|it| it.machine) - us(Counted::ours),
        calls: told_after.calls - told_before.calls,
        items: told_after.items - told_before.items,
        evalsha: told_after.evalsha - told_before.evalsha,
        script_us: told_after.script_us - told_before.script_us,
    })
}

/// Waits until all connections are made and answered, and the warm-up is over.
pub async fn warm_up(load: &Load, settings: &Settings) -> anyhow::Result<()> {
    let mut left = settings.connections as u64;
    while left > 0 && load.is_running() {
        let before = load.answered();
        pass(load, A_MOMENT).await?;
        left = left.saturating_sub(load.answered() - before);
    }
    pass(load, settings.warm_up).await
}

/// Lets the load run for so long, and on a machine that has no time for it until something is
/// answered.
pub async fn pass(load: &Load, time: Duration) -> anyhow::Result<()> {
    let (begin, before) = (Instant::now(), load.answered());
    tokio::time::sleep(time).await;
    while load.answered() == before && load.is_running() {
        ensure!(begin.elapsed() < PATIENCE, "nothing was answered in {PATIENCE:?}");
        tokio::time::sleep(A_MOMENT).await;
    }
    Ok(())
}

/// [`measure`] without ticks, so that all scripts are those of the operation. Queue time stands
/// still five seconds after the last tick: a window is to be shorter.
pub async fn measure_without_ticks(
    world: &World,
    settings: &Settings,
    question: &Question,
) -> anyhow::Result<Window> {
    world.anteroom.scheduler.process.freeze();
    let window = measure(world, settings, question).await;
    world.anteroom.scheduler.process.thaw();
    tokio::time::sleep(SOME_TICKS).await;
    window
}

/// Counters that are read in an instant.
struct Counted {
    at: Instant,
    answered: u64,
    generator: u64,
    cpu: Cpu,
    machine: u64,
}

impl Counted {
    fn read(world: &World, load: &Load) -> anyhow::Result<Self> {
        Ok(Self {
            at: Instant::now(),
            answered: load.answered(),
            generator: load.cpu_ns(),
            cpu: world.cpu()?,
            machine: cpu::of_machine()?,
        })
    }

    fn ours(&self) -> u64 {
        self.generator + self.cpu.admission + self.cpu.scheduler + self.cpu.store
    }
}

/// Counters that admission and the store are asked for.
struct Told {
    calls: f64,
    items: f64,
    evalsha: f64,
    script_us: f64,
}

impl Told {
    async fn ask(world: &World, operation: &str) -> anyhow::Result<Self> {
        let (mut calls, mut items) = (0.0, 0.0);
        for address in &world.metrics {
            let (_, metrics) = http::get(*address, "/metrics").await.context("no metrics")?;
            let name =
                |part| format!("anteroom_store_batch_items_{part}{{operation=\"{operation}\"}}");
            calls += http::sample(&metrics, &name("count"));
            items += http::sample(&metrics, &name("sum"));
        }
        let stats: String = world.anteroom.deployment.redis.run(&["INFO", "commandstats"]).await;
        let field = |name| field_of(&stats, "evalsha", name);
        Ok(Self { calls, items, evalsha: field("calls"), script_us: field("usec") })
    }
}

/// What `INFO commandstats` tells of a command; 0 before its first call.
pub fn field_of(stats: &str, command: &str, name: &str) -> f64 {
    let of = || {
        let start = format!("cmdstat_{command}:");
        let fields = stats.lines().find_map(|line| line.strip_prefix(&start))?.split(',');
        fields.filter_map(|field| field.split_once('=')).find(|it| it.0 == name)?.1.parse().ok()
    };
    of().unwrap_or_default()
}

/// What another server did in one window.
#[derive(Clone, Copy, Debug)]
pub struct Other {
    /// Requests per second.
    pub rate: f64,
    /// Processor time in µs a request.
    pub server_us: f64,
    /// The same of its store, if it has one.
    pub store_us: f64,
    /// The same of the load generator.
    pub generator_us: f64,
}

impl Other {
    /// Processor time of everything that took part, a request.
    pub fn all_us(&self) -> f64 {
        self.server_us + self.store_us + self.generator_us
    }
}

/// Another server that is measured beside ours.
pub struct OtherServer {
    /// Its process id.
    pub id: u32,
    /// The process id of its store.
    pub store: Option<u32>,
    /// Where it listens.
    pub address: SocketAddr,
    /// What it is asked; all is answered 200.
    pub requests: Arc<Requests>,
}

impl OtherServer {
    /// Loads it and measures like [`measure`].
    pub async fn measure(&self, settings: &Settings) -> anyhow::Result<Other> {
        let (connections, threads) = (settings.connections, settings.threads);
        let (addresses, requests) = (vec![self.address], self.requests.clone());
        let load = Load::start(Plan { addresses, requests, expect: 200, connections, threads });
        warm_up(&load, settings).await?;
        let store = || self.store.map_or(Ok(0), cpu::of_process);
        let read = || -> anyhow::Result<_> {
            let cpu = [cpu::of_process(self.id)?, store()?, load.cpu_ns()];
            Ok((Instant::now(), load.answered(), cpu))
        };
        let before = read()?;
        pass(&load, settings.window).await?;
        let after = read()?;
        load.finish()?;
        let requests = (after.1 - before.1) as f64;
        let us = |of: usize| (after.2[of] - before.2[of]) as f64 / 1e3 / requests;
        Ok(Other {
            rate: requests / (after.0 - before.0).as_secs_f64(),
            server_us: us(0),
            store_us: us(1),
            generator_us: us(2),
        })
    }
}
