//! Random histories of a queue.

use anteroom_testkit::history::{Harness, Outcome, play, random};
use proptest::prelude::Strategy;

use super::history::QueueHistory;
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
        let rules = base.rules();
        play(&mut QueueHistory::begin(self, base, &rules).await, steps).await
    }

    fn code(step: &Step) -> String {
        let step = format!("Step::{step:?}");
        let step = step.replace("op: ", "op: Op::").replace("whom: [", "whom: vec![");
        step.replace("Breaker(", "Breaker(Breaker::")
    }
}

#[test]
fn promises_01_to_05_11_12_random_histories_answer_like_the_model() {
    random::<TimedStore>(320, env!("CARGO_TARGET_TMPDIR"));
}
