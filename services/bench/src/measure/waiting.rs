//! What visitors in line cost Redis who poll as often as they should: with local answers and exact,
//! through one admission and three.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, ensure};
use futures_util::future::try_join_all;
use rand::seq::SliceRandom as _;
use tokio::{net::TcpStream, time::Instant};

use crate::{
    answer::exchange,
    cpu,
    progress::say,
    report::{Bound, Row, Section},
    request::with_token,
    sections::Sections,
    settings::Settings,
    world::{World, line, local},
};

/// The name for `--only`.
pub const NAME: &str = "waiting";
/// Far behind the front a visitor polls after 16 to 20 s.
const EVERY: Duration = Duration::from_secs(18);
/// A slot in which visitors are seen, with the default `idle_ttl`.
const SLOT: Duration = Duration::from_secs(150);
/// So long Redis is watched before the first poll.
const IDLE: Duration = Duration::from_secs(30);
/// Polls that report a visitor wait for others: with so many connections no poll is late.
const CONNECTIONS: usize = 3_072;
const MOST_ITEMS: f64 = 0.1;
/// Of a core of Redis, with a million visitors in line.
const MOST_PERCENT: f64 = 2.0;
const MILLION: f64 = 1e6;

const LOCAL: &str = "local";
const EXACT: &str = "exact";
/// The systems, by queue and admissions.
const SYSTEMS: [(&str, &str, usize); 3] =
    [("local answers", LOCAL, 1), ("local answers, 3 admissions", LOCAL, 3), ("exact", EXACT, 1)];

/// What a window showed.
struct Measured {
    visitors: f64,
    polls: f64,
    items: f64,
    /// In cores.
    redis: f64,
    /// Of `redis`, what it takes without polls, too.
    without_polls: f64,
    /// In bytes.
    memory: f64,
    /// In cores.
    admissions: f64,
}

/// Measures each system for a whole slot.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let polling = settings.scaled(settings.polling);
    let waiting = settings.waiting.max(polling);
    let mut rows: Vec<Row> = Vec::new();
    let is_long = waiting > polling;
    for (name, queue, admissions) in SYSTEMS {
        // An exact answer costs nearly the same in any line.
        if is_long && queue == EXACT {
            continue;
        }
        say(&format!("waiting: {name}, for {:?}", window(settings)));
        let it = measure(settings, (waiting, polling), queue, admissions).await?;
        let of_polls = it.redis - it.without_polls;
        let us = |cores: f64| cores * 1e6 * window(settings).as_secs_f64() / it.polls;
        let is_local = queue == LOCAL;
        rows.push(
            Row::new(name)
                .figure("polls/s", it.polls / window(settings).as_secs_f64())
                .within(
                    "items/poll",
                    it.items / it.polls,
                    is_local.then_some(Bound::AtMost(MOST_ITEMS)),
                )
                .figure("% of a core of Redis", 100.0 * it.redis)
                .figure("of it without polls", 100.0 * it.without_polls)
                .within(
                    "more with polls, per million who poll",
                    100.0 * of_polls * MILLION / it.visitors,
                    is_local.then_some(Bound::AtMost(MOST_PERCENT)),
                )
                .figure("Redis µs", us(of_polls))
                .figure("admission µs", us(it.admissions))
                .figure("Redis MB", it.memory / 1e6),
        );
    }
    sections.put(Section {
        name: NAME,
        title: "Visitors in line who poll".to_owned(),
        how: format!(
            "{waiting} visitors wait, and {polling} of them poll every {EVERY:?}, for {:?}, from the \
             middle of a slot to that of the next. An item is a place that Redis looks up, or a \
             heartbeat. Times are µs a poll; those of Redis are what it takes more than without \
             polls.",
            window(settings),
        ),
        rows,
    });
    Ok(())
}

fn window(settings: &Settings) -> Duration {
    if settings.quick { Duration::from_millis(500) } else { SLOT }
}

/// Starts the system again, so that all who wait have joined lately: most of a long line never
/// poll.
async fn measure(
    settings: &Settings,
    (waiting, polling): (u64, u64),
    queue: &str,
    admissions: usize,
) -> anyhow::Result<Measured> {
    let presence = "idle_ttl = \"10m\"\nfirst_poll_ttl = \"10m\"\n";
    let exact = line(queue) + presence;
    let mut world = World::start(&[if queue == LOCAL { local(&exact) } else { exact }]).await?;
    for _ in 1..admissions {
        world.add_admission().await;
    }
    let places = world.fill(queue, waiting).await?;
    let mut tokens = world.tokens(queue, &places, polling);
    // The next poll is after a random time, so they are soon in no order.
    tokens.shuffle(&mut rand::rng());
    let path = format!("/v1/queues/{queue}/token");
    let requests: Vec<_> = tokens.iter().map(|token| with_token(&path, token)).collect();

    let (first_round, window) = if settings.quick {
        (Duration::from_millis(200), window(settings))
    } else {
        // The window begins in the middle of a slot, so it has all first polls of the next one.
        // Before it, of several admissions each has to see each visitor once.
        let slots = if admissions == 1 { 1 } else { 3 };
        (slots * SLOT / 2, SLOT)
    };
    let redis = world.anteroom.deployment.redis.id().context("Redis runs")?;
    let idle = IDLE.min(window);
    let before = cpu::of_process(redis)?;
    tokio::time::sleep(idle).await;
    let without_polls = (cpu::of_process(redis)? - before) as f64 / idle.as_nanos() as f64;

    let polls = Arc::new(AtomicU64::new(0));
    let every = EVERY / u32::try_from(requests.len())?;
    let (start, end) = (Instant::now(), Instant::now() + first_round + window);
    let addresses = world.addresses("queue.place")?;
    let connection = async |n: usize| -> anyhow::Result<()> {
        let mut stream = TcpStream::connect(addresses[n % addresses.len()]).await?;
        loop {
            let number = polls.fetch_add(1, Ordering::Relaxed);
            let at = start + every * u32::try_from(number)?;
            if at >= end {
                return Ok(());
            }
            tokio::time::sleep_until(at).await;
            let request = &requests[usize::try_from(number)? % requests.len()];
            let (status, body) = exchange(&mut stream, request).await?;
            ensure!(status == 200, "{status}: {}", String::from_utf8_lossy(&body));
        }
    };
    let connections = if settings.quick { settings.connections } else { CONNECTIONS };
    let polling = try_join_all((0..connections).map(connection));
    let counting = async {
        tokio::time::sleep_until(start + first_round).await;
        let before = (read(&world, redis).await?, polls.load(Ordering::Relaxed));
        tokio::time::sleep_until(end).await;
        let after = (read(&world, redis).await?, polls.load(Ordering::Relaxed));
        anyhow::Ok(Measured {
            visitors: requests.len() as f64,
            polls: (after.1 - before.1) as f64,
            items: after.0.items - before.0.items,
            redis: (after.0.redis - before.0.redis) / window.as_nanos() as f64,
            without_polls,
            memory: world.used_memory().await?,
            admissions: (after.0.admissions - before.0.admissions) / window.as_nanos() as f64,
        })
    };
    Ok(tokio::try_join!(polling, counting)?.1)
}

/// Counters at one moment; processor times in ns.
struct Counters {
    items: f64,
    redis: f64,
    admissions: f64,
}

async fn read(world: &World, redis: u32) -> anyhow::Result<Counters> {
    let mut counters =
        Counters { items: 0.0, redis: cpu::of_process(redis)? as f64, admissions: 0.0 };
    for admission in world.admissions() {
        counters.admissions += cpu::of_process(admission.process.id())? as f64;
        for operation in ["queue.place", "queue.heartbeat"] {
            let name = format!("anteroom_store_batch_items_sum{{operation=\"{operation}\"}}");
            counters.items += admission.metric(&name).await.unwrap_or_default();
        }
    }
    Ok(counters)
}
