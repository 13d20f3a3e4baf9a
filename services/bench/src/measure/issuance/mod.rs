//! How fast an issuer issues, beside BullMQ and a bare stream on the same Redis.

mod bullmq;

use std::time::{Duration, Instant};

use anteroom_core::event::{Event, MAX_CLAIM};
use anteroom_testkit::{PATIENCE, StreamQueue};
use anyhow::ensure;

use self::bullmq::{Bullmq, CONCURRENCY};
use super::rows::HelloWorld;
use crate::{
    cpu,
    progress::say,
    report::{Bound, Row, Section},
    sections::Sections,
    settings::Settings,
    stats::{least, median, most},
    world::{World, apply},
};

/// The name for `--only`.
pub const NAME: &str = "issuance";
/// Accepted applications, or jobs, or entries, that wait when a drain begins.
const APPLICATIONS: u64 = 200_000;
const JOBS: u64 = 30_000;
const EVENT: &str = "[events.coupon]\nstock = 1_000_000_000\n";
/// How often the event is looked at meanwhile.
const A_LOOK: Duration = Duration::from_millis(5);

const OF_BULLMQ: f64 = 4.0;
/// 80 000 a second where the hello-world answers 110 000 requests.
const OF_HELLO: f64 = 80.0 / 110.0;

/// What one drain showed. Times are processor time in µs of one that was worked off.
#[derive(Clone, Copy, Debug)]
struct Drained {
    /// Worked off a second.
    rate: f64,
    /// Of the issuer, or of the worker.
    worker_us: f64,
    /// Of Redis.
    store_us: f64,
}

/// Drains by all three in turn, round after round.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let world = World::start(&[EVENT.to_owned()]).await?;
    let event = world.event("coupon")?;
    let hello = HelloWorld::start(settings).await?;
    let bullmq = installed(settings, sections).await;
    let redis = &world.anteroom.deployment.redis;
    let mut stream = StreamQueue::new(redis, "bench:stream").await;
    let mut rounds = Rounds::default();
    rounds.hello.push(hello.run().await?.rate);
    for round in 1..=settings.rounds as u64 {
        let applications = settings.scaled(APPLICATIONS);
        rounds.issuer.push(issue(&world, &event, round, applications).await?);
        if let Some(bullmq) = &bullmq {
            rounds.bullmq.push(bullmq.drain(redis, settings.scaled(JOBS)).await?);
        }
        rounds.stream.push(drain_stream(&world, &mut stream, applications).await?);
        rounds.hello.push(hello.run().await?.rate);
        say(&format!("issuance, round {round}: {:?}", rounds.last()));
        sections.put(rounds.section(settings));
    }
    Ok(())
}

/// BullMQ, where it is wanted and can be installed.
async fn installed(settings: &Settings, sections: &Sections) -> Option<Bullmq> {
    let Some(folder) = settings.bullmq.clone() else {
        sections.note("BullMQ: it is installed and measured with --bullmq.");
        return None;
    };
    match Bullmq::install(folder).await {
        Ok(bullmq) => Some(bullmq),
        Err(error) => {
            sections.note(format!("BullMQ: {error:#}"));
            None
        }
    }
}

/// A new issuer, as it runs in production, finds so many accepted applications. From the last look
/// at which none was issued to the first at which all are.
async fn issue(
    world: &World,
    event: &Event,
    round: u64,
    applications: u64,
) -> anyhow::Result<Drained> {
    apply(event, round, applications).await?;
    let before = event.snapshot().await?.issued;
    let issuer = world.anteroom.deployment.issuer().await;
    let ids = (issuer.process.id(), world.store_id()?);
    let begun = Instant::now();
    let mut last_before = None;
    loop {
        let issued = event.snapshot().await?.issued - before;
        let now = (Instant::now(), cpu::of_process(ids.0)?, cpu::of_process(ids.1)?);
        if issued == 0 || last_before.is_none() {
            last_before = Some(now);
        }
        if let Some(first) = last_before.filter(|_| issued == applications) {
            let units = applications as f64;
            return Ok(Drained {
                rate: units / (now.0 - first.0).as_secs_f64(),
                worker_us: (now.1 - first.1) as f64 / 1e3 / units,
                store_us: (now.2 - first.2) as f64 / 1e3 / units,
            });
        }
        ensure!(begun.elapsed() < PATIENCE, "{issued} of {applications} in {PATIENCE:?}");
        tokio::time::sleep(A_LOOK).await;
    }
}

async fn drain_stream(
    world: &World,
    stream: &mut StreamQueue,
    entries: u64,
) -> anyhow::Result<Drained> {
    stream.fill(entries).await;
    let ids = (std::process::id(), world.store_id()?);
    let before = (Instant::now(), cpu::of_process(ids.0)?, cpu::of_process(ids.1)?);
    let drained = stream.drain(MAX_CLAIM).await as f64;
    ensure!(drained == entries as f64, "{drained} of {entries}");
    Ok(Drained {
        rate: drained / before.0.elapsed().as_secs_f64(),
        worker_us: (cpu::of_process(ids.0)? - before.1) as f64 / 1e3 / drained,
        store_us: (cpu::of_process(ids.1)? - before.2) as f64 / 1e3 / drained,
    })
}

impl Drained {
    /// Processor time of all that took part.
    fn all_us(&self) -> f64 {
        self.worker_us + self.store_us
    }
}

/// What was measured so far; of the hello-world one more, since each round is between two.
#[derive(Default)]
struct Rounds {
    issuer: Vec<Drained>,
    bullmq: Vec<Drained>,
    stream: Vec<Drained>,
    hello: Vec<f64>,
}

impl Rounds {
    fn last(&self) -> [Option<f64>; 4] {
        let rate = |of: &[Drained]| of.last().map(|it| it.rate.round());
        let hello = self.hello.last().map(|rate| rate.round());
        [rate(&self.issuer), rate(&self.bullmq), rate(&self.stream), hello]
    }

    fn section(&self, settings: &Settings) -> Section {
        let issuer = self.row("issuer", &self.issuer, true);
        let bullmq = (!self.bullmq.is_empty()).then(|| self.row("BullMQ", &self.bullmq, false));
        let stream = self.row("bare stream", &self.stream, false);
        Section {
            name: NAME,
            title: "Issued a second".to_owned(),
            how: format!(
                "{} accepted applications are issued by one issuer in `count` mode with the defaults: \
                 claims of at most {MAX_CLAIM} under leases of 10 s, 5 attempts, the scheduler's \
                 ticks. BullMQ: {} jobs that do nothing and have 5 attempts, {CONCURRENCY} at once. \
                 The bare stream: XREADGROUP of {MAX_CLAIM} and XACK in one pipeline, without leases \
                 and retries: the ceiling. All on the same Redis, by turns; medians of {} rounds. \
                 `of BullMQ` compares with the same round, `by CPU` the processor time of worker and \
                 Redis instead, which other programs disturb less; `of hello` with the requests a second of \
                 the hello-world before and after it ({:.0}, the median). Times are processor time in \
                 µs a unit.",
                settings.scaled(APPLICATIONS),
                settings.scaled(JOBS),
                settings.rounds,
                median(&self.hello),
            ),
            rows: [Some(issuer), bullmq, Some(stream)].into_iter().flatten().collect(),
        }
    }

    fn row(&self, name: &str, drained: &[Drained], is_issuer: bool) -> Row {
        let over = |of: fn(&Drained) -> f64| drained.iter().map(of).collect::<Vec<_>>();
        let beside = drained.iter().zip(&self.bullmq);
        let of_bullmq: Vec<_> = beside.clone().map(|(it, other)| it.rate / other.rate).collect();
        let by_cpu: Vec<_> = beside.map(|(it, other)| other.all_us() / it.all_us()).collect();
        let around = self.hello.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
        let of_hello: Vec<_> =
            drained.iter().zip(around).map(|(it, hello)| it.rate / hello).collect();
        let bound = |least, is_there: bool| is_there.then_some(Bound::AtLeast(least));
        let rates = over(|it| it.rate);
        Row::new(name)
            .figure("a second", median(&rates))
            .figure("least", least(&rates))
            .figure("most", most(&rates))
            .within(
                "of BullMQ",
                median(&of_bullmq),
                bound(OF_BULLMQ, is_issuer && !of_bullmq.is_empty()),
            )
            .figure("by CPU", median(&by_cpu))
            .within("of hello", median(&of_hello), bound(OF_HELLO, is_issuer))
            .figure("worker µs", median(&over(|it| it.worker_us)))
            .figure("Redis µs", median(&over(|it| it.store_us)))
    }
}
