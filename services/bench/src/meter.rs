//! What a load costs: counters of the processes, of the store and of admission, read before and
//! after a window of time in which the load runs.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anteroom_testkit::{PATIENCE, Redis, Service};
use anyhow::ensure;

use crate::{
    cpu,
    load::{Load, Plan},
    request::Requests,
    settings::Settings,
    stats::median,
    world::World,
};

const A_MOMENT: Duration = Duration::from_millis(5);

/// Enough for queue time to go on after the scheduler was stopped.
pub const SOME_TICKS: Duration = Duration::from_millis(250);

/// What to request of admission.
#[derive(Clone)]
pub struct Question {
    /// The operation that answers, such as `queue.join`.
    pub operation: &'static str,
    /// The requests.
    pub requests: Arc<Requests>,
    /// The one status that is right.
    pub expect: u16,
}

/// What was measured in one window. Times of processes are processor time in µs a request.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Requests per second.
    pub rate: f64,
    /// Requests answered.
    pub requests: f64,
    /// Half of the answers came within this time, in µs; NaN where times are not kept.
    pub p50_us: f64,
    /// The same of 99 %.
    pub p99_us: f64,
    /// Of the gateway, if there is one.
    pub gateway_us: f64,
    /// Of all admissions, or of another server.
    pub server_us: f64,
    /// Of all schedulers.
    pub scheduler_us: f64,
    /// Of the store, with its ticks.
    pub store_us: f64,
    /// Of the load generator.
    pub generator_us: f64,
    /// How much of a core all other programs on the machine took.
    pub others_cores: f64,
    /// What admission and the store counted.
    pub counted: Counted,
}

/// The median of a figure over windows.
pub fn over(windows: &[Window], of: impl Fn(&Window) -> f64) -> f64 {
    median(&windows.iter().map(of).collect::<Vec<_>>())
}

impl Window {
    /// Processor time of admission and the store, a request.
    pub fn both_us(&self) -> f64 {
        self.server_us + self.store_us
    }

    /// Processor time of everything that took part, a request.
    pub fn all_us(&self) -> f64 {
        self.gateway_us + self.both_us() + self.scheduler_us + self.generator_us
    }

    /// Calls of the operation's script, a request.
    pub fn calls_a_request(&self) -> f64 {
        self.counted.calls / self.requests
    }
}

/// Of each round, how a row compares with what ran before and after it, by what `of` returns.
pub fn beside(windows: &[Window], base: &[Window], of: fn(&Window) -> f64) -> Vec<f64> {
    let around = base.windows(2).map(|pair| f64::midpoint(of(&pair[0]), of(&pair[1])));
    windows.iter().zip(around).map(|(it, around)| of(it) / around).collect()
}

/// Counters of admission and of the store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// Calls of the operation's script, as admission counts them.
    pub calls: f64,
    /// Items in these calls.
    pub items: f64,
    /// EVALSHA of all operations, as the store counts them.
    pub evalsha: f64,
    /// Time inside them in µs, by the store's clock.
    pub script_us: f64,
}

/// Where the counters are.
#[derive(Default)]
pub struct Counters<'a> {
    /// The store, if there is one.
    pub redis: Option<&'a Redis>,
    /// All admissions.
    pub admissions: Vec<&'a Service>,
}

impl Counters<'_> {
    async fn read(&self, operation: &str) -> Counted {
        let mut counted = Counted::default();
        if let Some(redis) = self.redis {
            let stats: String = redis.run(&["INFO", "commandstats"]).await;
            counted.evalsha = field_of(&stats, "evalsha", "calls");
            counted.script_us = field_of(&stats, "evalsha", "usec");
        }
        let label = format!("{{operation=\"{operation}\"}}");
        for admission in &self.admissions {
            for (part, sum) in [("count", &mut counted.calls), ("sum", &mut counted.items)] {
                let name = format!("anteroom_store_batch_items_{part}{label}");
                *sum += admission.metric(&name).await.unwrap_or_default();
            }
        }
        counted
    }
}

/// What `INFO commandstats` shows of a command; 0 before its first call.
pub fn field_of(stats: &str, command: &str, name: &str) -> f64 {
    let of = || {
        let start = format!("cmdstat_{command}:");
        let fields = stats.lines().find_map(|line| line.strip_prefix(&start))?.split(',');
        fields.filter_map(|field| field.split_once('=')).find(|it| it.0 == name)?.1.parse().ok()
    };
    of().unwrap_or_default()
}

/// The ids of the processes that answer a load.
#[derive(Clone, Default)]
pub struct Processes {
    /// The gateway in front of them, if there is one. Its children count, too.
    pub gateway: Option<u32>,
    /// All admissions, or another server.
    pub servers: Vec<u32>,
    /// All schedulers.
    pub schedulers: Vec<u32>,
    /// The store, if there is one.
    pub store: Option<u32>,
}

impl Processes {
    /// Processor time in ns: of the gateway, servers, schedulers, the store, the load, and the
    /// whole machine.
    fn read(&self, load: &Load) -> anyhow::Result<(Instant, u64, [u64; 6])> {
        let sum =
            |ids: &[u32]| ids.iter().map(|id| cpu::of_process(*id)).sum::<anyhow::Result<_>>();
        let gateway = self.gateway.map_or(Ok(0), cpu::with_children)?;
        let [servers, schedulers] = [&self.servers, &self.schedulers].map(|ids| sum(ids));
        let store = self.store.map_or(Ok(0), cpu::of_process)?;
        let load_cpu = load.cpu_ns();
        let cpu = [gateway, servers?, schedulers?, store, load_cpu, cpu::of_machine()?];
        Ok((Instant::now(), load.answered(), cpu))
    }
}

/// Runs a load and measures the window after the warm-up. The counters are requested outside of the
/// window, processor time is read at its ends.
pub async fn window(
    settings: &Settings,
    addresses: Vec<SocketAddr>,
    question: &Question,
    processes: &Processes,
    counters: &Counters<'_>,
) -> anyhow::Result<Window> {
    let Question { operation, requests, expect } = question.clone();
    let Settings { connections, threads, window, times, .. } = *settings;
    let load = Load::start(Plan { addresses, requests, expect, connections, threads, times });
    warm_up(&load, settings).await?;
    let first = counters.read(operation).await;
    load.take_times();
    let (begin, answered, before) = processes.read(&load)?;
    pass(&load, window).await?;
    let (end, answered_after, after) = processes.read(&load)?;
    let all_times = load.take_times();
    let last = counters.read(operation).await;
    load.finish()?;
    let requests = (answered_after - answered) as f64;
    let seconds = (end - begin).as_secs_f64();
    let us = |of: usize| after[of].saturating_sub(before[of]) as f64 / 1e3;
    let ours: f64 = (0..5).map(us).sum();
    let within = |share| match all_times.len() {
        0 => f64::NAN,
        _ => all_times.value_at_quantile(share) as f64 / 1e3,
    };
    Ok(Window {
        rate: requests / seconds,
        requests,
        p50_us: within(0.50),
        p99_us: within(0.99),
        gateway_us: us(0) / requests,
        server_us: us(1) / requests,
        scheduler_us: us(2) / requests,
        store_us: us(3) / requests,
        generator_us: us(4) / requests,
        others_cores: ((us(5) - ours) / 1e6 / seconds).max(0.0),
        counted: Counted {
            calls: last.calls - first.calls,
            items: last.items - first.items,
            evalsha: last.evalsha - first.evalsha,
            script_us: last.script_us - first.script_us,
        },
    })
}

/// [`window`] on all admissions.
pub async fn measure(
    world: &World,
    settings: &Settings,
    question: &Question,
) -> anyhow::Result<Window> {
    let addresses = world.addresses(question.operation)?;
    let redis = Some(&world.anteroom.deployment.redis);
    let counters = Counters { redis, admissions: world.admissions().collect() };
    window(settings, addresses, question, &world.processes(), &counters).await
}

/// Waits until all connections are made and answered, and the warm-up is over.
async fn warm_up(load: &Load, settings: &Settings) -> anyhow::Result<()> {
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
async fn pass(load: &Load, time: Duration) -> anyhow::Result<()> {
    let (begin, before) = (Instant::now(), load.answered());
    tokio::time::sleep(time).await;
    while load.answered() == before && load.is_running() {
        ensure!(begin.elapsed() < PATIENCE, "nothing was answered in {PATIENCE:?}");
        tokio::time::sleep(A_MOMENT).await;
    }
    Ok(())
}

/// [`measure`] without ticks, so that all scripts are those of the operation. Queue time stops
/// five seconds after the last tick: a window is to be shorter.
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

/// Another server that is measured beside ours.
pub struct OtherServer {
    /// Its process and that of its store.
    pub processes: Processes,
    /// Where it listens.
    pub address: SocketAddr,
    /// What is requested of it; all is answered 200.
    pub requests: Arc<Requests>,
}

impl OtherServer {
    /// Loads it and measures a [`window`].
    pub async fn measure(&self, settings: &Settings) -> anyhow::Result<Window> {
        let question = Question { operation: "", requests: self.requests.clone(), expect: 200 };
        let counters = Counters::default();
        window(settings, vec![self.address], &question, &self.processes, &counters).await
    }
}
