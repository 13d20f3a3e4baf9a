//! Histories that failed once.

use anteroom_core::limit::Algorithm::Gcra;
use anteroom_testkit::history::Harness as _;

use super::step::Step;
use crate::support::TimedStore;

/// The clock leapt back, and a check that only stored the offset cut the debt to what its own rule
/// allows: an admission with a larger limit was given that much again.
#[tokio::test]
async fn a_refused_check_under_a_smaller_rule_forgives_no_debt() {
    let bases = [vec![(Gcra, 5, 7, false)], vec![(Gcra, 1, 1, false)]];
    let check = |cost| Step::Check { check: (0, 0, cost), grouped: true, id: None };
    let steps = [check(2), Step::Alternate, Step::Leap { seconds: -1 }, check(1)];
    let steps = [&steps[..], &[Step::Alternate, check(0)]].concat();
    if let Err(error) = TimedStore::new().await.play(&bases, &steps).await {
        panic!("{error}");
    }
}
