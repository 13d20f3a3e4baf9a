//! Histories that failed once.

use anteroom_testkit::history::Harness as _;

use super::step::{Base, Report, Step};
use crate::support::TimedStore;

/// Plays one history on a store of its own.
async fn holds(base: Base, steps: &[Step]) {
    if let Err(error) = TimedStore::new().await.play(&[base, base], steps).await {
        panic!("{error}");
    }
}

const BASE: Base = Base {
    window: 300_000,
    threshold: 500_000,
    min_samples: 1,
    log: false,
    quorum: 1,
    open_for: 1_000,
    probes: 1,
};
const FAILURE: Report =
    Report { successes: 0, failures: 1, latency_ms: None, reporter: None, permit: None };
const SUCCESS: Report = Report { successes: 1, failures: 0, ..FAILURE };

/// A permit that ends before one given in an earlier call was not the first to end.
#[tokio::test]
async fn a_shorter_time_of_being_open_makes_permits_end_earlier() {
    let base = Base { open_for: 8_377, ..BASE };
    let steps = [
        Step::Record(FAILURE, None),
        Step::PassOpen { short: false },
        Step::Permit { permit: 0 },
        Step::Change(Base { window: 1_000, open_for: 1_000, probes: 2, ..base }),
        Step::Permits { first: 0, count: 3 },
    ];
    holds(base, &steps).await;
}

/// A success decided with the window of a target that probes had closed: alone, not in a call that
/// it shared with them.
#[tokio::test]
async fn a_closed_target_is_judged_the_same_within_a_call_and_by_the_next() {
    let base = Base { window: 20_000, open_for: 2_153, probes: 3, ..BASE };
    let report = |successes, failures, permit| Report { successes, failures, permit, ..FAILURE };
    let shared = vec![
        report(0, 1, Some(0)),
        report(0, 1, None),
        report(0, 1, None),
        report(3, 1, None),
        report(1, 0, None),
    ];
    let steps = [
        Step::Record(report(0, 1, None), None),
        Step::PassOpen { short: false },
        Step::Together(shared, None),
    ];
    holds(base, &steps).await;
}

/// A permit under rules with fewer probes judged those of before for itself alone: nothing of that
/// is written, and the next outcome judges them again.
#[tokio::test]
async fn what_a_look_judges_by_other_rules_is_not_kept() {
    let base = Base { probes: 2, ..BASE };
    let steps = [
        Step::Record(FAILURE, None),
        Step::Record(SUCCESS, None),
        Step::PassBucket { short: false },
        Step::Record(Report { reporter: Some(0), ..FAILURE }, None),
        Step::Permit { permit: 0 },
        Step::Change(Base { window: 1_000, quorum: 2, probes: 1, ..base }),
        Step::Permit { permit: 0 },
        Step::Record(SUCCESS, None),
    ];
    holds(base, &steps).await;
}

/// Two outcomes that share a call evict once, 128 at most; one of 129 stays and counts again.
#[tokio::test]
async fn a_shared_call_evicts_once() {
    let base = Base { window: 1_000, threshold: 1, min_samples: 4, log: true, ..BASE };
    let steps = [
        Step::Record(Report { successes: 0, failures: 84, ..SUCCESS }, None),
        Step::Fleet { first: 0, count: 45, is_success: false },
        Step::PassOpen { short: false },
        Step::Together(vec![SUCCESS, SUCCESS], None),
        Step::Change(Base { window: 20_000, threshold: 500_000, min_samples: 1, ..base }),
        Step::Record(SUCCESS, None),
    ];
    holds(base, &steps).await;
}
