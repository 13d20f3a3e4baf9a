//! A plan set live, by the operator's calls of the service port.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::Plan;
use crate::client::{Route, Sources, Target};

/// A service port that accepts no connection in this time does not answer.
const REACHED_WITHIN: Duration = Duration::from_secs(10);

/// The operator of one queue.
pub struct Operator {
    service: Arc<Route>,
    path: String,
    key: Option<String>,
}

impl Operator {
    /// With the key in `ANTEROOM_KEY`.
    pub async fn of(service: &Target, queue: &str) -> anyhow::Result<Self> {
        let reached = service.reach(Sources::default(), REACHED_WITHIN).await;
        let path = format!("/v1/admin/queues/{queue}");
        let service = reached.with_context(|| format!("{}: not applied", service.at(&path)))?;
        Ok(Self { service, path, key: std::env::var("ANTEROOM_KEY").ok() })
    }

    /// Overrides the rules of the queue, until an operator takes them back, and looks whether they
    /// are in force. What the plan does not know, such as a capacity, stays as it is.
    pub async fn apply(&self, plan: &Plan) -> anyhow::Result<()> {
        let Plan { batch, interval_ms, pace, capacity, .. } = plan;
        let mut rules = json!({ "batch": batch, "interval_ms": interval_ms, "pace": pace });
        if let Some(capacity) = capacity {
            rules["capacity"] = (*capacity).into();
        }
        self.call("PATCH", Some(&rules)).await?;
        let view = self.look().await?;
        for (rule, planned) in rules.as_object().into_iter().flatten() {
            let in_force = &view["rules"][rule];
            ensure!(
                in_force == planned,
                "{}: not applied: {rule} is {in_force} in the queue, and {planned} in the plan",
                self.service.target.at(&self.path)
            );
        }
        Ok(())
    }

    /// Looks at the queue: also before a run, so that it does not fail after it.
    pub async fn look(&self) -> anyhow::Result<Value> {
        self.call("GET", None).await
    }

    async fn call(&self, method: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let answer = self.service.json(method, &self.path, self.key.as_deref(), body).await;
        answer.context("not applied")
    }
}
