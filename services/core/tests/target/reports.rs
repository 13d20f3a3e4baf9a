//! Reports to targets, as the tests make them.

use anteroom_core::target::{
    Outcome, Permission, PermitId, Recorded, Rules, Snapshot, Target, Window,
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
    pub fn target(&self, name: &str) -> Target {
        Target::open_with_clock(&self.store, name, 1_000, self.clock())
    }
}

/// What a report counts.
pub async fn record(target: &Target, rules: &Rules, outcome: &Outcome) -> Window {
    match target.record(rules, outcome).await.expect("an answer") {
        Recorded::Counted(window) => window,
        other => panic!("not counted: {other:?}"),
    }
}

pub async fn look(target: &Target, rules: &Rules) -> Snapshot {
    target.snapshot(rules).await.expect("a look")
}

pub async fn ask(target: &Target, rules: &Rules) -> Permission {
    target.permit(rules, PermitId::random()).await.expect("an answer")
}
