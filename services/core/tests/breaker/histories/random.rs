//! Random histories of a target.

use anteroom_testkit::history::{Harness, Outcome, play, random};
use proptest::prelude::Strategy;

use super::history::BreakerHistory;
use super::step::{Base, Step, bases, step};
use crate::support::TimedStore;

impl Harness for TimedStore {
    type Base = [Base; 2];
    type Step = Step;

    async fn start() -> Self {
        Self::new().await
    }

    fn bases() -> impl Strategy<Value = [Base; 2]> {
        bases()
    }

    fn steps() -> impl Strategy<Value = Step> {
        step()
    }

    async fn play(&self, bases: &[Base; 2], steps: &[Step]) -> Outcome {
        self.begin_again().await;
        play(&mut BreakerHistory::begin(self, *bases), steps).await
    }

    fn code(step: &Step) -> String {
        format!("Step::{step:?}").replace("Together([", "Together(vec![")
    }
}

#[test]
fn promises_08_11_12_random_histories_answer_like_the_model() {
    random::<TimedStore>(800, env!("CARGO_TARGET_TMPDIR"));
}
