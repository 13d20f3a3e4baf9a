//! Random histories of limits.

use anteroom_testkit::history::{Harness, Outcome, play, random};
use proptest::prelude::Strategy;

use super::history::LimitHistory;
use super::step::{Ruled, Step, rules, step};
use crate::support::TimedStore;

impl Harness for TimedStore {
    type Base = [Vec<Ruled>; 2];
    type Step = Step;

    async fn start() -> Self {
        Self::new().await
    }

    fn bases() -> impl Strategy<Value = Self::Base> {
        rules()
    }

    fn steps() -> impl Strategy<Value = Step> {
        step()
    }

    async fn play(&self, base: &Self::Base, steps: &[Step]) -> Outcome {
        self.begin_again().await;
        play(&mut LimitHistory::begin(self, base.clone()), steps).await
    }

    fn code(step: &Step) -> String {
        format!("Step::{step:?}").replace("asked: [", "asked: vec![")
    }
}

#[test]
fn promises_07_11_12_random_histories_answer_like_the_model() {
    random::<TimedStore>(320, env!("CARGO_TARGET_TMPDIR"));
}
