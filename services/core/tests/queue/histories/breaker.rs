//! The target that a queue follows in a history, as its schedulers read it.

use std::time::Duration;

use anteroom_core::breaker::{State, Totals};
use anteroom_core::queue::{Adaptive, BreakerReading, Health, StepReason};
use anteroom_testkit::history::{Outcome, differ};
use anteroom_testkit::model::queue as model;
use proptest::prelude::*;

use super::history::QueueHistory;
use super::step::{Op, VISITORS};

/// Buckets of latencies up to 10 ms, 100 ms and 1 s.
const LATENCIES: [usize; 3] = [3, 6, 9];
/// What `p95_target` may be, and how many buckets are within it.
const P95_TARGETS: [(Duration, usize); 2] =
    [(Duration::from_millis(100), 7), (Duration::from_millis(10), 4)];

/// The rules of a scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Scheduler {
    pub probes: u64,
    /// In seconds.
    pub open_for: u64,
    /// The bounds of the batch.
    pub adaptive: Option<(u64, u64)>,
    pub success_target: u64,
    /// One of the two above, or none.
    pub p95_target: Option<usize>,
    pub min_samples: u64,
}

/// What happens to the target, or to what schedulers know of it.
#[derive(Clone, Copy, Debug)]
pub enum Breaker {
    Closes,
    Opens,
    HalfOpens,
    /// It opens, all join, and it closes, with a tick each.
    Recovers,
    /// So many calls succeed and fail, and so many are of each latency.
    Outcomes([u64; 5]),
    /// The other of two schedulers with different rules makes the next ticks.
    Alternates,
    /// The store forgets what was reported.
    Forgotten,
    /// A scheduler ticks with what it read so many changes ago.
    ReadLate(usize),
    /// Whether schedulers can read it.
    Readable(bool),
    /// Whether the configuration makes the queue follow it.
    Followed(bool),
}

/// A target and its schedulers.
#[derive(Clone)]
pub struct Watched {
    readings: Vec<BreakerReading>,
    readable: bool,
    followed: bool,
    schedulers: [Scheduler; 2],
}

impl Watched {
    /// A queue follows it from the beginning, or none does, by schedulers with these rules.
    pub fn new(followed: bool, schedulers: [Scheduler; 2], now: u64) -> Self {
        let first = BreakerReading {
            state: State::Closed,
            version: now,
            probes: 0,
            open_for: Duration::ZERO,
            totals: Totals::default(),
        };
        Self { readings: vec![first], readable: true, followed, schedulers }
    }

    /// What a scheduler says that read it so many changes ago.
    pub fn health(&self, ago: usize) -> Health {
        if !self.followed {
            return Health::default();
        }
        let at = self.readings.len().saturating_sub(1 + ago);
        let [rules, _] = self.schedulers;
        let reading = self.readings.get(at).copied().filter(|_| self.readable);
        Health {
            reading: reading.map(|reading| BreakerReading {
                probes: rules.probes,
                open_for: Duration::from_secs(rules.open_for),
                ..reading
            }),
            adaptive: rules.adaptive.map(|(min_batch, max_batch)| Adaptive {
                min_batch,
                max_batch,
                success_target: rules.success_target,
                p95_target: rules.p95_target.map(|at| P95_TARGETS[at].0),
                min_samples: rules.min_samples,
            }),
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut BreakerReading)) {
        let last = self.readings.last().copied();
        self.readings.extend(last.map(|mut reading| {
            change(&mut reading);
            reading
        }));
    }

    fn turn(&mut self, state: State, wall: u64) {
        self.change(|reading| {
            reading.version = wall.max(reading.version + 1);
            reading.state = state;
        });
    }
}

impl QueueHistory<'_> {
    pub async fn target(&mut self, target: Breaker) -> Outcome {
        let wall = self.world.now();
        match target {
            Breaker::Closes => self.watched.turn(State::Closed, wall),
            Breaker::Opens => self.watched.turn(State::Open, wall),
            Breaker::HalfOpens => self.watched.turn(State::HalfOpen, wall),
            Breaker::Recovers => {
                self.watched.turn(State::Open, wall);
                self.tick(self.watched.health(0)).await?;
                let everyone: Vec<_> = (0..VISITORS).map(|who| (who, 0)).collect();
                self.visits(Op::Join, &everyone).await?;
                self.watched.turn(State::Closed, wall);
                self.tick(self.watched.health(0)).await?;
            }
            Breaker::Alternates => self.watched.schedulers.reverse(),
            Breaker::Outcomes([successes, failures, ref latencies @ ..]) => {
                self.watched.change(|BreakerReading { totals, .. }| {
                    totals.successes += successes;
                    totals.failures += failures;
                    for (at, count) in LATENCIES.into_iter().zip(latencies) {
                        totals.latencies[at] += count;
                    }
                });
            }
            Breaker::Forgotten => {
                self.watched.change(|reading| reading.totals = Totals::default());
            }
            Breaker::ReadLate(ago) => self.tick(self.watched.health(ago)).await?,
            Breaker::Readable(readable) => self.watched.readable = readable,
            Breaker::Followed(followed) => self.watched.followed = followed,
        }
        Ok(())
    }

    /// What the queue shows of the target.
    pub async fn followed(&mut self) -> Outcome {
        self.look().await?;
        let snapshot = self.queue.snapshot().await?;
        differ("health", &snapshot.health.map(state), &self.model.health())?;
        let returned = snapshot.paused_by_health;
        differ("paused by health", &returned, &self.model.is_paused_by_health())?;
        let quarters = self.model.health_quarters().map(|it| it as f64 / 4.0);
        differ("part of the pace", &snapshot.health_pace, &quarters)?;
        let batch = snapshot.adaptive.map(|adaptive| adaptive.batch);
        differ("adaptive batch", &batch, &self.model.adaptive_batch())
    }
}

fn state(state: State) -> model::BreakerState {
    match state {
        State::Closed => model::BreakerState::Closed,
        State::Open => model::BreakerState::Open,
        State::HalfOpen => model::BreakerState::HalfOpen,
    }
}

/// What the scheduler says, as the model takes it.
pub fn known(health: &Health) -> model::Health {
    model::Health {
        reading: health.reading.map(|reading| {
            let Totals { successes, failures, latencies } = reading.totals;
            model::BreakerReading {
                state: state(reading.state),
                version: reading.version,
                probes: reading.probes,
                open_for: crate::support::micros(reading.open_for),
                totals: (successes, failures, latencies),
            }
        }),
        adaptive: health.adaptive.map(|adaptive| model::Adaptive {
            min_batch: adaptive.min_batch,
            max_batch: adaptive.max_batch,
            success_target: adaptive.success_target,
            quick: adaptive.p95_target.and_then(|target| {
                P95_TARGETS.into_iter().find(|(it, _)| *it == target).map(|(_, within)| within)
            }),
            min_samples: adaptive.min_samples,
        }),
    }
}

/// A step as the model names it; the start is none.
pub fn step_of(reason: StepReason) -> Option<model::Step> {
    match reason {
        StepReason::Start => None,
        StepReason::Raised => Some(model::Step::Raised),
        StepReason::Highest => Some(model::Step::Highest),
        StepReason::Unused => Some(model::Step::Unused),
        StepReason::CutSuccess => Some(model::Step::CutSuccess),
        StepReason::CutP95 => Some(model::Step::CutP95),
    }
}

/// Anything that may happen to a target.
pub fn target() -> impl Strategy<Value = Breaker> {
    let good = (5u64..20, 0u64..2, 0u64..20, 0u64..20, 0u64..2);
    let bad = (0u64..10, 0u64..10, 0u64..10, 0u64..10, 0u64..10);
    let calls = |(a, b, c, d, e)| Breaker::Outcomes([a, b, c, d, e]);
    prop_oneof![
        6 => Just(Breaker::Alternates),
        3 => Just(Breaker::Closes),
        2 => Just(Breaker::Opens),
        2 => Just(Breaker::HalfOpens),
        4 => Just(Breaker::Recovers),
        8 => good.prop_map(calls),
        3 => bad.prop_map(calls),
        1 => Just(Breaker::Forgotten),
        3 => (1usize..4).prop_map(Breaker::ReadLate),
        2 => any::<bool>().prop_map(Breaker::Readable),
        1 => any::<bool>().prop_map(Breaker::Followed),
    ]
}

/// The rules of two schedulers: the same, or any.
pub fn schedulers() -> impl Strategy<Value = [Scheduler; 2]> {
    (scheduler(), scheduler(), any::<bool>())
        .prop_map(|(one, other, agree)| [one, if agree { one } else { other }])
}

fn scheduler() -> impl Strategy<Value = Scheduler> {
    let adaptive = proptest::option::of((1u64..4, 0u64..60));
    let p95_target = proptest::option::weighted(0.8, 0..P95_TARGETS.len());
    let success_target = prop_oneof![2 => Just(900_000u64), 1 => 1u64..1_000_001];
    (1u64..4, 2u64..12, adaptive, success_target, p95_target, 1u64..9).prop_map(
        |(probes, open_for, adaptive, success_target, p95_target, min_samples)| Scheduler {
            probes,
            open_for,
            adaptive: adaptive.map(|(least, more)| (least, least + more)),
            success_target,
            p95_target,
            min_samples,
        },
    )
}
