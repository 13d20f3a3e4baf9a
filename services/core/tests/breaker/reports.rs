//! Reports to targets, as the tests make them.

use anteroom_core::breaker::{
    Breaker, Outcome, Permission, PermitId, Recorded, Rules, Snapshot, Window,
};

use super::support::TimedStore;

/// Rules by which a few outcomes decide.
pub fn quick(min_samples: u32) -> Rules {
    Rules { min_samples, ..Rules::default() }
}

pub fn from(reporter: usize, outcome: Outcome) -> Outcome {
    Outcome { reporter: Some(format!("replica-{reporter}")), ..outcome }
}

impl TimedStore {
    pub fn target(&self, name: &str) -> Breaker {
        Breaker::open_with_clock(&self.store, name, 1_000, self.clock())
    }
}

/// What a report counts.
pub async fn record(target: &Breaker, rules: &Rules, outcome: &Outcome) -> Window {
    match target.record(rules, outcome).await.expect("an answer") {
        Recorded::Counted(window) => window,
        other => panic!("not counted: {other:?}"),
    }
}

pub async fn look(target: &Breaker, rules: &Rules) -> Snapshot {
    target.snapshot(rules).await.expect("a look")
}

pub async fn ask(target: &Breaker, rules: &Rules) -> Permission {
    target.permit(rules, PermitId::random()).await.expect("an answer")
}
