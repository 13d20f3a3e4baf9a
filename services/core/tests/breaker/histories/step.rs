//! The steps of a history and the rules it begins with, and how they are chosen.

use std::time::Duration;

use anteroom_core::breaker::{Kept, Outcome, PermitId, Rules};
use anteroom_testkit::model::breaker as model;
use proptest::prelude::*;

use crate::support::micros;

/// A report of a step.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub successes: u32,
    pub failures: u32,
    pub latency_ms: Option<u64>,
    pub reporter: Option<u64>,
    pub permit: Option<u8>,
}

/// One step of a history.
#[derive(Clone, Debug)]
pub enum Step {
    Record(Report, Option<u64>),
    /// Several at once share one call, each decided in its order: with these ids, or none.
    Together(Vec<Report>, Option<u64>),
    /// So many replicas report one outcome each.
    Fleet {
        first: u64,
        count: u64,
        is_success: bool,
    },
    Permit {
        permit: u8,
    },
    /// Several ask at once.
    Permits {
        first: u8,
        count: u8,
    },
    Look,
    /// The store's clock goes on.
    Pass {
        ms: u64,
    },
    /// By exactly so many windows, buckets, or times of being open; and one microsecond less.
    PassWindow {
        short: bool,
    },
    PassBucket {
        short: bool,
    },
    PassOpen {
        short: bool,
    },
    /// The store's clock leaps by so many seconds, as after a failover.
    Leap {
        seconds: i64,
    },
    /// The other of two admissions with different rules makes the next calls.
    Alternate,
    /// Other rules travel with the calls of this one from now on.
    Change(Base),
    /// The store loses everything.
    Empty,
    ForgetScripts,
    /// The step before is sent once more.
    Again,
}

/// Any step, more often the more it shows.
pub fn step() -> impl Strategy<Value = Step> {
    let id = || prop_oneof![2 => Just(None), 1 => (0u64..6).prop_map(Some)];
    let reports = proptest::collection::vec(report(), 1..9);
    prop_oneof![
        20 => (report(), id()).prop_map(|(report, id)| Step::Record(report, id)),
        6 => (reports, id()).prop_map(|(reports, id)| Step::Together(reports, id)),
        2 => (0u64..60, 1u64..70, any::<bool>())
            .prop_map(|(first, count, is_success)| Step::Fleet { first, count, is_success }),
        6 => (0u8..8).prop_map(|permit| Step::Permit { permit }),
        2 => (0u8..8, 1u8..8).prop_map(|(first, count)| Step::Permits { first, count }),
        6 => Just(Step::Look),
        6 => (1u64..300).prop_map(|ms| Step::Pass { ms }),
        6 => (300u64..20_000).prop_map(|ms| Step::Pass { ms }),
        2 => (20_000u64..400_000).prop_map(|ms| Step::Pass { ms }),
        1 => any::<bool>().prop_map(|short| Step::PassWindow { short }),
        2 => any::<bool>().prop_map(|short| Step::PassBucket { short }),
        5 => any::<bool>().prop_map(|short| Step::PassOpen { short }),
        1 => (-900i64..900).prop_map(|seconds| Step::Leap { seconds }),
        14 => Just(Step::Alternate),
        1 => base().prop_map(Step::Change),
        1 => Just(Step::Empty),
        1 => Just(Step::ForgetScripts),
        3 => Just(Step::Again),
    ]
}

fn report() -> impl Strategy<Value = Report> {
    let counts = prop_oneof![
        4 => Just((1, 0)),
        5 => Just((0, 1)),
        3 => (0u32..9, 1u32..9),
        1 => (0u32..60, 1u32..60),
    ];
    let latency_ms = prop_oneof![2 => Just(None), 1 => (0u64..12_000).prop_map(Some)];
    let reporter = prop_oneof![1 => Just(None), 3 => (0u64..4).prop_map(Some)];
    let permit = prop_oneof![3 => Just(None), 1 => (0u8..8).prop_map(Some)];
    (counts, latency_ms, reporter, permit).prop_map(
        |((successes, failures), latency_ms, reporter, permit)| Report {
            successes,
            failures,
            latency_ms,
            reporter,
            permit,
        },
    )
}

/// The rules that a history begins with; times in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    pub window: u64,
    pub threshold: u32,
    pub min_samples: u32,
    pub log: bool,
    pub quorum: u32,
    pub open_for: u64,
    pub probes: u32,
}

/// The rules of two admissions: the same, nearly the same, or any.
pub fn bases() -> impl Strategy<Value = [Base; 2]> {
    let seconds = prop_oneof![Just(1_000u64), Just(9_000), 1u64..20_000];
    (base(), base(), seconds, 0..5).prop_map(|(one, any, more, kind)| {
        let other = match kind {
            0 => one,
            1 => Base { window: one.window + more, ..one },
            2 => Base { log: !one.log, ..one },
            3 => Base { window: one.window + more, log: !one.log, ..any },
            _ => any,
        };
        [one, other]
    })
}

pub fn base() -> impl Strategy<Value = Base> {
    let window = prop_oneof![Just(1_000u64), Just(20_000), Just(300_000), 1_000u64..400_000,];
    let threshold = prop_oneof![3 => Just(500_000u32), 1 => 1u32..1_000_001];
    (window, threshold, 1u32..12, any::<bool>(), 1u32..5, 1_000u64..20_000, 1u32..6).prop_map(
        |(window, threshold, min_samples, log, quorum, open_for, probes)| Base {
            window,
            threshold,
            min_samples,
            log,
            quorum,
            open_for,
            probes,
        },
    )
}

impl Base {
    pub fn rules(&self) -> Rules {
        Rules {
            window: Duration::from_millis(self.window),
            threshold_ppm: self.threshold,
            min_samples: self.min_samples,
            kept: if self.log { Kept::InLog } else { Kept::InBuckets },
            quorum: self.quorum,
            open_for: Duration::from_millis(self.open_for),
            probes: self.probes,
        }
    }

    pub fn model(&self) -> model::Rules {
        let rules = self.rules();
        model::Rules {
            window: micros(rules.window),
            threshold: u64::from(self.threshold),
            min_samples: u64::from(self.min_samples),
            log: self.log,
            quorum: self.quorum as usize,
            open_for: micros(rules.open_for),
            probes: u64::from(self.probes),
        }
    }
}

pub fn permit(number: u8) -> PermitId {
    PermitId([number; 16])
}

impl Report {
    pub fn outcome(&self, id: Option<u64>) -> Outcome {
        Outcome {
            successes: self.successes,
            failures: self.failures,
            latency_ms: self.latency_ms,
            reporter: self.reporter.map(|reporter| format!("replica {reporter}")),
            permit: self.permit.map(permit),
            id: id.map(|id| format!("call {id}")),
        }
    }

    pub fn model(&self) -> model::Report {
        const BOUNDS: [u64; 13] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
        let bucket = |ms: u64| BOUNDS.iter().position(|bound| ms <= *bound).unwrap_or(13);
        model::Report {
            successes: u64::from(self.successes),
            failures: u64::from(self.failures),
            latency: self.latency_ms.map(bucket),
            latency_ms: self.latency_ms,
            reporter: self.reporter,
            permit: self.permit.map(u64::from),
        }
    }
}
