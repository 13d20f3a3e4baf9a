//! The steps of a history and the rules it begins with, and how they are chosen.

use std::time::Duration;

use anteroom_core::event::{Issue, Rules};
use anteroom_testkit::model::event as model;
use proptest::prelude::*;

use crate::support::{SECOND, START, micros};

/// Which claim a step is about, counted from the newest, and which of its applications: those whose
/// bit is set, again and again.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub claim: usize,
    pub mask: u8,
}

/// One step of a history.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Apply {
        visitor: u64,
    },
    /// Several at once share one call, each decided in its order.
    Together {
        first: u64,
        count: u64,
    },
    Status {
        first: u64,
        count: u64,
    },
    Claim {
        most: usize,
    },
    Renew(Part),
    Finish(Part),
    /// Each of them fails: to be tried again after so many milliseconds, or dead.
    Fail(Part, Option<u64>),
    GiveBack(Part),
    Tick,
    Kick,
    Look,
    AddStock {
        name: u64,
        units: u64,
    },
    Load {
        first: u64,
        count: u64,
    },
    Dead {
        after: u64,
        limit: u64,
    },
    RetryDead {
        first: u64,
        count: u64,
    },
    RetryAllDead,
    GiveUp {
        visitor: u64,
    },
    /// The store's clock goes on.
    Pass {
        ms: u64,
    },
    /// By exactly one lease, or a microsecond less; with a tick every 900 ms.
    PassLease {
        short: bool,
    },
    /// The store's clock leaps by so many seconds, as after a failover.
    Leap {
        seconds: i64,
    },
    /// The scheduler's file changes.
    Change(Base),
    /// The store loses everything.
    Empty,
    /// The store loses the meta hash alone, or its epoch alone.
    LoseMeta {
        whole: bool,
    },
    ForgetScripts,
    /// The step before is sent once more.
    Again,
}

/// Any step, more often the more it shows.
pub fn step() -> impl Strategy<Value = Step> {
    let some = || {
        let claim = prop_oneof![3 => Just(0usize), 1 => 0usize..6];
        let mask = prop_oneof![2 => Just(255u8), 1 => any::<u8>()];
        (claim, mask).prop_map(|(claim, mask)| Part { claim, mask })
    };
    let retry = prop_oneof![
        1 => Just(None),
        2 => Just(Some(0)),
        3 => (0u64..3_000).prop_map(Some),
    ];
    let units = prop_oneof![8 => 1u64..9, 1 => Just((1u64 << 53) - 1)];
    prop_oneof![
        10 => (0u64..40).prop_map(|visitor| Step::Apply { visitor }),
        8 => (0u64..40, 1u64..20).prop_map(|(first, count)| Step::Together { first, count }),
        4 => (0u64..40, 1u64..40).prop_map(|(first, count)| Step::Status { first, count }),
        16 => (1usize..9).prop_map(|most| Step::Claim { most }),
        3 => some().prop_map(Step::Renew),
        10 => some().prop_map(Step::Finish),
        8 => (some(), retry).prop_map(|(some, retry)| Step::Fail(some, retry)),
        4 => some().prop_map(Step::GiveBack),
        8 => Just(Step::Tick),
        2 => Just(Step::Kick),
        4 => Just(Step::Look),
        3 => (0u64..4, units).prop_map(|(name, units)| Step::AddStock { name, units }),
        3 => (0u64..30, 1u64..20).prop_map(|(first, count)| Step::Load { first, count }),
        2 => (0u64..20, 1u64..6).prop_map(|(after, limit)| Step::Dead { after, limit }),
        4 => (0u64..40, 1u64..9).prop_map(|(first, count)| Step::RetryDead { first, count }),
        1 => Just(Step::RetryAllDead),
        4 => (0u64..40).prop_map(|visitor| Step::GiveUp { visitor }),
        6 => (1u64..3_000).prop_map(|ms| Step::Pass { ms }),
        5 => any::<bool>().prop_map(|short| Step::PassLease { short }),
        1 => (-900i64..900).prop_map(|seconds| Step::Leap { seconds }),
        1 => base().prop_map(Step::Change),
        1 => Just(Step::Empty),
        2 => any::<bool>().prop_map(|whole| Step::LoseMeta { whole }),
        1 => Just(Step::ForgetScripts),
        3 => Just(Step::Again),
    ]
}

/// The rules that a history begins with; times in milliseconds, moments in seconds of the history.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    pub stock: u64,
    pub over_apply: u64,
    pub opens_at: u64,
    pub ends_at: Option<u64>,
    pub codes: bool,
    pub lease: u64,
    pub max_attempts: u64,
    pub max_per_second: u64,
}

pub fn base() -> impl Strategy<Value = Base> {
    let over_apply = prop_oneof![2 => Just(1_000_000u64), 1 => 1_000_000u64..3_000_000];
    let opens_at = prop_oneof![4 => Just(0u64), 1 => 1u64..20];
    let ends_at = prop_oneof![4 => Just(None), 1 => (20u64..200).prop_map(Some)];
    let max_per_second = prop_oneof![3 => Just(0u64), 1 => 1u64..60];
    let lease = 1_000u64..12_000;
    (0u64..20, over_apply, opens_at, ends_at, any::<bool>(), lease, 1u64..4, max_per_second)
        .prop_map(
            |(stock, over_apply, opens_at, ends_at, codes, lease, max_attempts, max_per_second)| {
                Base {
                    stock,
                    over_apply,
                    opens_at,
                    ends_at,
                    codes,
                    lease,
                    max_attempts,
                    max_per_second,
                }
            },
        )
}

impl Base {
    pub fn rules(&self) -> Rules {
        let moment = |seconds: u64| START / SECOND + seconds;
        Rules {
            stock: Some(self.stock).filter(|stock| *stock > 0),
            over_apply: self.over_apply,
            opens_at: Some(self.opens_at).filter(|at| *at > 0).map(moment),
            ends_at: self.ends_at.map(moment),
            issue: if self.codes { Issue::Codes } else { Issue::Count },
            lease: Duration::from_millis(self.lease),
            max_attempts: self.max_attempts,
            max_per_second: self.max_per_second,
            keep_ttl: Duration::from_secs(86_400),
            ..Rules::default()
        }
    }

    pub fn model(&self) -> model::Rules {
        let rules = self.rules();
        model::Rules {
            stock: self.stock,
            over_apply: self.over_apply,
            opens_at: rules.opens_at.unwrap_or(0) * SECOND,
            ends_at: rules.ends_at.unwrap_or(0) * SECOND,
            codes: self.codes,
            lease: micros(rules.lease),
            max_attempts: self.max_attempts,
            max_per_second: self.max_per_second,
            keep_ttl: micros(rules.keep_ttl),
        }
    }
}

pub fn visitor(number: u64) -> String {
    format!("visitor {number}")
}

pub fn code(number: u64) -> String {
    format!("code {number}")
}
