//! The steps of a history.

use std::time::Duration;

use crate::money::units;
use anteroom_core::pool;
use anteroom_core::rules::{Amounts, Name};
use anteroom_testkit::model::pool as model;
use proptest::prelude::*;

/// What a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    pub funds: u64,
    pub hold_ttl: u64,
    pub options: u64,
}

impl Base {
    pub fn rules(&self) -> pool::Rules {
        let options = self.model().options.into_iter().enumerate();
        let options = options.map(|(at, amount)| (option(at), amount));
        pool::Rules {
            funds: Some(self.funds).filter(|funds| *funds > 0),
            hold_ttl: Duration::from_millis(self.hold_ttl),
            options: Amounts::new(options).expect("amounts"),
            ..pool::Rules::default()
        }
    }

    pub fn model(&self) -> model::Rules {
        model::Rules {
            funds: Some(self.funds).filter(|funds| *funds > 0),
            hold_ttl: 1_000 * self.hold_ttl,
            options: (1..=self.options).map(|n| 5 * n).collect(),
        }
    }
}

/// The name of an option.
pub fn option(at: usize) -> String {
    format!("option-{at}")
}

/// How much a step asks for.
#[derive(Clone, Copy, Debug)]
pub enum Ask {
    Amount(u64),
    Option(usize),
}

impl Ask {
    pub fn asked(self) -> pool::AmountRequest {
        match self {
            Self::Amount(amount) => pool::AmountRequest::Amount(units(amount)),
            Self::Option(at) => pool::AmountRequest::Option(Name::new(option(at)).expect("a name")),
        }
    }

    pub fn model(self) -> model::AmountRequest {
        match self {
            Self::Amount(amount) => model::AmountRequest::Amount(amount),
            Self::Option(at) => model::AmountRequest::Option(at),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Step {
    Fund { amount: u64, id: u64 },
    Hold(Ask, u64),
    Holds(Vec<(Ask, u64)>),
    Draw(Ask, u64),
    Draws(Vec<(Ask, u64)>),
    Settle { hold: u64, amount: u64 },
    Extend { hold: u64 },
    Cancel { hold: u64 },
    Look { hold: u64 },
    Snapshot,
    Tick,
    Pass { ms: u64 },
    PassTtl { short: bool },
    PassDay,
    Leap { seconds: i64 },
    Change(Base),
    Empty,
    ForgetScripts,
    Again,
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        6 => (1..25u64).prop_map(Ask::Amount),
        1 => Just(Ask::Amount(model::MAX_AMOUNT)),
        3 => (0..5usize).prop_map(Ask::Option),
    ]
}

pub fn base() -> impl Strategy<Value = Base> {
    (prop_oneof![Just(0), 1..60u64], prop_oneof![Just(1_000), 1_000..90_000u64], 0..4u64)
        .prop_map(|(funds, hold_ttl, options)| Base { funds, hold_ttl, options })
}

pub fn step() -> impl Strategy<Value = Step> {
    let id = || 0..7u64;
    prop_oneof![
        3 => (prop_oneof![1..40u64, Just(model::MAX_AMOUNT), Just(model::MAX_AMOUNT - 20)], id())
            .prop_map(|(amount, id)| Step::Fund { amount, id }),
        8 => (ask(), id()).prop_map(|(ask, id)| Step::Hold(ask, id)),
        3 => prop::collection::vec((ask(), id()), 1..10).prop_map(Step::Holds),
        6 => (ask(), id()).prop_map(|(ask, id)| Step::Draw(ask, id)),
        2 => prop::collection::vec((ask(), id()), 1..10).prop_map(Step::Draws),
        8 => (id(), 0..25u64).prop_map(|(hold, amount)| Step::Settle { hold, amount }),
        3 => id().prop_map(|hold| Step::Extend { hold }),
        4 => id().prop_map(|hold| Step::Cancel { hold }),
        3 => id().prop_map(|hold| Step::Look { hold }),
        3 => Just(Step::Snapshot),
        6 => Just(Step::Tick),
        6 => (0..7_000u64).prop_map(|ms| Step::Pass { ms }),
        3 => any::<bool>().prop_map(|short| Step::PassTtl { short }),
        1 => Just(Step::PassDay),
        1 => (-50..50i64).prop_map(|seconds| Step::Leap { seconds }),
        1 => base().prop_map(Step::Change),
        1 => Just(Step::Empty),
        1 => Just(Step::ForgetScripts),
        4 => Just(Step::Again),
    ]
}
