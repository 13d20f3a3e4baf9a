//! What a load costs: counters of the processes, of the store and of admission, read before and after
//! a window of time in which the load runs.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};

use crate::{
    cpu, http,
    load::Load,
    request::Requests,
    settings::Settings,
    world::{Cpu, World},
};

/// Before the window: connections are made, caches and branch predictors have seen the work.
const WARM_UP: Duration = Duration::from_millis(300);

/// What was measured in one window.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Length in seconds.
    pub seconds: f64,
    /// Requests answered.
    pub requests: f64,
    /// Processor time in µs of the whole window.
    pub admission_us: f64,
    /// The same of the scheduler.
    pub scheduler_us: f64,
    /// The same of the store, with its ticks.
    pub store_us: f64,
    /// The same of the load generator.
    pub generator_us: f64,
    /// Calls of scripts by this operation.
    pub calls: f64,
    /// Items in these calls.
    pub items: f64,
    /// Time inside scripts of all operations, ticks included, in µs, as the store counts it.
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
}

/// Counters at one moment.
struct Reading {
    at: Instant,
    answered: u64,
    generator: u64,
    cpu: Cpu,
    calls: f64,
    items: f64,
    script_us: f64,
}

/// Loads admission with `requests` and measures the window after the warm-up. `operation` is what each
/// request asks of the store, such as `queue.join`.
pub async fn measure(
    world: &World,
    settings: &Settings,
    operation: &str,
    requests: Arc<Requests>,
    expect: u16,
) -> anyhow::Result<Window> {
    let load = Load::start(settings.plan(world.public.clone(), requests, expect));
    tokio::time::sleep(WARM_UP).await;
    let before = Reading::begin(world, operation, &load).await?;
    tokio::time::sleep(settings.window).await;
    let after = Reading::end(world, operation, &load).await?;
    let runs = load.is_running();
    load.finish()?;
    ensure!(runs, "the load ended by itself");
    Ok(before.until(&after))
}

/// What the hello-world did in one window.
#[derive(Clone, Copy, Debug)]
pub struct Hello {
    /// Requests per second.
    pub rate: f64,
    /// Processor time in µs a request.
    pub server_us: f64,
    /// The same of the load generator.
    pub generator_us: f64,
}

/// Loads the hello-world, the process `id`, and measures like [`measure`].
pub async fn hello(
    id: u32,
    address: SocketAddr,
    settings: &Settings,
    requests: Arc<Requests>,
) -> anyhow::Result<Hello> {
    let load = Load::start(settings.plan(vec![address], requests, 200));
    tokio::time::sleep(WARM_UP).await;
    let read = || -> anyhow::Result<_> {
        Ok((Instant::now(), load.answered(), cpu::of_process(id)?, load.cpu_ns()))
    };
    let before = read()?;
    tokio::time::sleep(settings.window).await;
    let after = read()?;
    load.finish()?;
    let requests = (after.1 - before.1) as f64;
    Ok(Hello {
        rate: requests / (after.0 - before.0).as_secs_f64(),
        server_us: (after.2 - before.2) as f64 / 1e3 / requests,
        generator_us: (after.3 - before.3) as f64 / 1e3 / requests,
    })
}

impl Reading {
    /// The questions first, then the counters: they are not part of the window.
    async fn begin(world: &World, operation: &str, load: &Load) -> anyhow::Result<Self> {
        let told = Self::ask(world, operation).await?;
        Self::read(world, load, told)
    }

    /// The counters first, then the questions.
    async fn end(world: &World, operation: &str, load: &Load) -> anyhow::Result<Self> {
        let read = Self::read(world, load, (0.0, 0.0, 0.0))?;
        let (calls, items, script_us) = Self::ask(world, operation).await?;
        Ok(Self { calls, items, script_us, ..read })
    }

    fn read(world: &World, load: &Load, told: (f64, f64, f64)) -> anyhow::Result<Self> {
        let (calls, items, script_us) = told;
        Ok(Self {
            at: Instant::now(),
            answered: load.answered(),
            generator: load.cpu_ns(),
            cpu: world.cpu()?,
            calls,
            items,
            script_us,
        })
    }

    /// Calls and items of the operation, from admission; time in scripts, from the store.
    async fn ask(world: &World, operation: &str) -> anyhow::Result<(f64, f64, f64)> {
        let (mut calls, mut items) = (0.0, 0.0);
        for address in &world.metrics {
            let (_, metrics) = http::get(*address, "/metrics").await.context("no metrics")?;
            let name =
                |part| format!("anteroom_store_batch_items_{part}{{operation=\"{operation}\"}}");
            calls += http::sample(&metrics, &name("count"));
            items += http::sample(&metrics, &name("sum"));
        }
        let stats: String = world.anteroom.redis.run(&["INFO", "commandstats"]).await;
        let script_us = stats
            .lines()
            .find_map(|line| line.strip_prefix("cmdstat_evalsha:")?.split(',').nth(1))
            .and_then(|usec| usec.strip_prefix("usec=")?.parse().ok());
        Ok((calls, items, script_us.unwrap_or_default()))
    }

    fn until(&self, after: &Self) -> Window {
        let us = |of: fn(&Self) -> u64| (of(after) - of(self)) as f64 / 1e3;
        Window {
            seconds: (after.at - self.at).as_secs_f64(),
            requests: (after.answered - self.answered) as f64,
            admission_us: us(|it| it.cpu.admission),
            scheduler_us: us(|it| it.cpu.scheduler),
            store_us: us(|it| it.cpu.store),
            generator_us: us(|it| it.generator),
            calls: after.calls - self.calls,
            items: after.items - self.items,
            script_us: after.script_us - self.script_us,
        }
    }
}
