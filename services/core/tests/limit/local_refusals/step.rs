//! The steps of a history of two processes, and how they are chosen.

use anteroom_core::limit::Algorithm;
use proptest::prelude::*;

/// How many limits there are, and keys of each.
pub const LIMITS: usize = 3;
const KEYS: usize = 2;

/// A rule: algorithm, limit, window in seconds, shadow.
pub type Ruled = (Algorithm, u32, u64, bool);

/// One step. Processes are 0 and 1.
#[derive(Clone, Debug)]
pub enum Step {
    /// A process checks a key.
    Check { process: usize, limit: usize, key: usize, cost: u64 },
    /// An operator forgets a key at a process.
    Forget { process: usize, limit: usize, key: usize },
    /// A process takes the other of the two rules of a limit.
    Change { process: usize, limit: usize },
    /// Time passes everywhere, in microseconds.
    Pass { micros: u64 },
    /// The store's clock leaps by so many seconds.
    Leap { seconds: i64 },
    /// The step before once more.
    Again,
}

/// Any rule; most are soon full and free again.
fn rule() -> impl Strategy<Value = Ruled> {
    let algorithm = Algorithm::ALL.map(|(algorithm, _)| algorithm);
    let window = prop_oneof![4 => 1u64..6, 1 => Just(60)];
    (prop::sample::select(algorithm.to_vec()), 1u32..5, window, prop::bool::weighted(0.2))
}

/// Of each limit two rules, often of one algorithm.
pub fn rules() -> impl Strategy<Value = [[Ruled; 2]; LIMITS]> {
    let pair = || {
        (rule(), rule(), any::<bool>()).prop_map(|(one, any, same)| {
            if same { [one, (one.0, any.1, any.2, any.3)] } else { [one, any] }
        })
    };
    [pair(), pair(), pair()]
}

/// Any step, more often the more it shows.
pub fn step() -> impl Strategy<Value = Step> {
    let (process, limit, key) = (0..2usize, 0..LIMITS, 0..KEYS);
    let cost = prop_oneof![6 => Just(1u64), 1 => Just(0), 2 => 2u64..5];
    let micros = prop_oneof![
        3 => 0u64..3_000,
        4 => (0u64..300).prop_map(|ms| 1_000 * ms),
        // When one check asks, when all do, and when a window is over; a bit sooner or later.
        3 => (prop_oneof![Just(600u64), Just(1_000), Just(2_000)], 0u64..3)
            .prop_map(|(ms, more)| 1_000 * (ms + more) - 1_000),
        1 => 0u64..10_000_000,
    ];
    let seconds = prop_oneof![-20i64..20, -1i64..2];
    prop_oneof![
        20 => (process.clone(), limit.clone(), key.clone(), cost)
            .prop_map(|(process, limit, key, cost)| Step::Check { process, limit, key, cost }),
        1 => (process.clone(), limit.clone(), key)
            .prop_map(|(process, limit, key)| Step::Forget { process, limit, key }),
        2 => (process, limit).prop_map(|(process, limit)| Step::Change { process, limit }),
        7 => micros.prop_map(|micros| Step::Pass { micros }),
        1 => seconds.prop_map(|seconds| Step::Leap { seconds }),
        12 => Just(Step::Again),
    ]
}
