//! The steps of a history and the rules it begins with, and how they are chosen.

use anteroom_core::limit::Algorithm;
use proptest::prelude::*;

/// How many limits there are, keys, and names of calls.
pub const LIMITS: usize = 4;
const KEYS: usize = 2;
const IDS: u8 = 3;

/// A rule: algorithm, limit, window in seconds, shadow.
pub type Ruled = (Algorithm, u32, u64, bool);
/// A check: limit, key, cost.
pub type Checked = (usize, usize, u64);

/// One step of a history.
#[derive(Clone, Debug)]
pub enum Step {
    /// A check of its own, with or without a name; `grouped`: in the group of the checks that are
    /// decided together.
    Check {
        check: Checked,
        grouped: bool,
        id: Option<u8>,
    },
    /// Several, all or none.
    Several {
        checks: Vec<Checked>,
        id: Option<u8>,
    },
    /// Checks of their own that share a call, each decided in its order.
    Together {
        checks: Vec<Checked>,
        id: Option<u8>,
    },
    /// An operator forgets a key.
    Forget {
        limit: usize,
        key: usize,
        grouped: bool,
    },
    /// The other of two admissions with different rules makes the next calls.
    Alternate,
    /// A limit of this one has another rule.
    Change {
        limit: usize,
        rule: Ruled,
    },
    /// The store's clock goes on by so many microseconds.
    Pass {
        micros: u64,
    },
    /// It leaps by so many seconds, as after a failover.
    Leap {
        seconds: i64,
    },
    ForgetScripts,
    /// The step before is sent once more.
    Again,
}

/// Any rule; small ones are soon full.
fn rule() -> impl Strategy<Value = Ruled> {
    let algorithm = Algorithm::ALL.map(|(algorithm, _)| algorithm);
    let limit = prop_oneof![8 => 1u32..12, 1 => Just(150), 1 => Just(10_000)];
    let window = prop_oneof![6 => 1u64..20, 1 => Just(3_600), 1 => Just(86_400)];
    (prop::sample::select(algorithm.to_vec()), limit, window, prop::bool::weighted(0.2))
}

/// The rules of two admissions: of a limit the same, others of one algorithm, or any.
pub fn rules() -> impl Strategy<Value = [Vec<Ruled>; 2]> {
    let pair = (rule(), rule(), 0..3).prop_map(|(one, any, kind)| match kind {
        0 => [one, one],
        1 => [one, (one.0, any.1, any.2, any.3)],
        _ => [one, any],
    });
    proptest::collection::vec(pair, LIMITS)
        .prop_map(|pairs| [0, 1].map(|at| pairs.iter().map(|pair| pair[at]).collect()))
}

/// Any step, more often the more it shows.
pub fn step() -> impl Strategy<Value = Step> {
    let limit = 0..LIMITS;
    let key = 0..KEYS;
    let cost = prop_oneof![4 => Just(1u64), 1 => Just(0), 2 => 2u64..6, 1 => 6u64..101];
    let check = (limit.clone(), key.clone(), cost);
    let id = prop_oneof![2 => Just(None), 1 => (0..IDS).prop_map(Some)];
    let many = proptest::collection::vec(check.clone(), 1..6);
    let micros = prop_oneof![
        2 => 0u64..2_000,
        4 => (0u64..3_000).prop_map(|ms| 1_000 * ms),
        // To the microsecond at which a window is over.
        2 => (1u64..20).prop_map(|seconds| 1_000_000 * seconds),
        2 => 0u64..30_000_000,
        1 => 0u64..200_000_000_000,
    ];
    let seconds = prop_oneof![-700i64..700, -20i64..20];
    prop_oneof![
        12 => (check.clone(), any::<bool>(), id.clone())
            .prop_map(|(check, grouped, id)| Step::Check { check, grouped, id }),
        6 => (many.clone(), id.clone()).prop_map(|(checks, id)| Step::Several { checks, id }),
        5 => (many, id).prop_map(|(checks, id)| Step::Together { checks, id }),
        1 => (limit.clone(), key, any::<bool>())
            .prop_map(|(limit, key, grouped)| Step::Forget { limit, key, grouped }),
        8 => Just(Step::Alternate),
        1 => (limit, rule()).prop_map(|(limit, rule)| Step::Change { limit, rule }),
        10 => micros.prop_map(|micros| Step::Pass { micros }),
        2 => seconds.prop_map(|seconds| Step::Leap { seconds }),
        1 => Just(Step::ForgetScripts),
        2 => Just(Step::Again),
    ]
}
