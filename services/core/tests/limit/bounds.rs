//! What the three algorithms promise of any window, held against their model: the histories hold
//! the model to the scripts.

use anteroom_testkit::model::limit::{Algorithm, Answer, Check, Limits, Rule};
use proptest::prelude::*;

const START: u64 = 1_800_000_000_000_000;

/// The most units of any window that came through, each attempt so many ms behind the one before.
fn most(rule: Rule, attempts: &[(u64, u64)]) -> u64 {
    let (mut limits, mut now) = (Limits::default(), START);
    let mut taken: Vec<(u64, u64)> = Vec::new();
    for (after_ms, cost) in attempts {
        now += 1000 * after_ms;
        let name = || "x".to_owned();
        let cost = 1 + cost % rule.limit;
        let check = Check { limit: name(), group: name(), key: name(), rule, cost };
        if let Answer::Decided(true, ..) = limits.check(now, &[check], false, None) {
            taken.push((now, cost));
        }
    }
    let window = |at: usize| {
        let rest = taken[at..].iter();
        let rest = rest.take_while(|(time, _)| time - taken[at].0 < 1000 * rule.window_ms);
        rest.map(|(_, units)| units).sum()
    };
    (0..taken.len()).map(window).max().unwrap_or_default()
}

fn rule(algorithm: Algorithm, limit: u64) -> Rule {
    Rule { algorithm, limit, window_ms: 1_000, shadow: false }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn promise_07_no_window_holds_more_than_is_documented(
        limit in 1u64..40,
        attempts in proptest::collection::vec((0u64..400, prop_oneof![4 => Just(0), 1 => 0u64..40]), 1..200),
    ) {
        prop_assert!(most(rule(Algorithm::Log, limit), &attempts) <= limit);
        for algorithm in [Algorithm::Counter, Algorithm::Gcra] {
            prop_assert!(most(rule(algorithm, limit), &attempts) < 2 * limit);
        }
    }
}

/// The documented bounds are not larger than they must be.
#[test]
fn promise_07_the_documented_bounds_are_reached() {
    let limit = 100;
    // All at once at the end of one window, then as many as come through each millisecond.
    let burst = |first_ms: u64| {
        let mut attempts = vec![(first_ms, limit - 1)];
        attempts.extend([(1, 0); 999]);
        attempts
    };
    assert_eq!(most(rule(Algorithm::Log, limit), &burst(999)), limit);
    assert_eq!(most(rule(Algorithm::Counter, limit), &burst(999)), 2 * limit - 1);
    assert_eq!(most(rule(Algorithm::Gcra, limit), &burst(0)), 2 * limit - 1);
    // Where units come evenly, two counters are exact.
    let even = [(10, 0); 1_000];
    assert_eq!(most(rule(Algorithm::Counter, limit), &even), limit);
}
