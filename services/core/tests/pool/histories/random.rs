//! Random histories of a pool.

use anteroom_testkit::history::{Harness, Outcome, play, random};
use proptest::prelude::Strategy;

use super::history::PoolHistory;
use super::step::{Base, Step, base, step};
use crate::support::TimedStore;

impl Harness for TimedStore {
    type Base = Base;
    type Step = Step;

    async fn start() -> Self {
        Self::new().await
    }

    fn bases() -> impl Strategy<Value = Base> {
        base()
    }

    fn steps() -> impl Strategy<Value = Step> {
        step()
    }

    async fn play(&self, base: &Base, steps: &[Step]) -> Outcome {
        self.begin_again().await;
        play(&mut PoolHistory::begin(self, base), steps).await
    }

    fn code(step: &Step) -> String {
        format!("Step::{step:?}").replace("s([", "s(vec![")
    }
}

#[test]
fn promises_10_11_12_random_histories_answer_like_the_model() {
    random::<TimedStore>(800, env!("CARGO_TARGET_TMPDIR"));
}
