//! A plan set live, by the operator's calls of the service port.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Client, RequestBuilder, redirect};
use serde_json::{Value, json};
use url::Url;

use super::Plan;
use crate::exit::Usage;

/// Of each call.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The operator of one queue.
pub struct Operator {
    client: Client,
    /// Of the queue.
    address: String,
}

impl Operator {
    /// With the key in `ANTEROOM_KEY`. It goes to the service port and nowhere else: through no
    /// proxy and after no redirect. A key that cannot be sent is a mistake of the caller.
    pub fn of(service: &Url, queue: &str) -> anyhow::Result<Self> {
        let mut headers = HeaderMap::new();
        if let Ok(key) = std::env::var("ANTEROOM_KEY") {
            let value = HeaderValue::try_from(format!("Bearer {key}"));
            let rule = "ANTEROOM_KEY: a key is one line of visible characters";
            let mut value = value.map_err(|_| Usage(rule.to_owned()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let client = Client::builder().default_headers(headers).timeout(TIMEOUT);
        let client = client.no_proxy().redirect(redirect::Policy::none()).build()?;
        let base = service.as_str().trim_end_matches('/');
        Ok(Self { client, address: format!("{base}/v1/admin/queues/{queue}") })
    }

    /// Looks at the queue: before a run, so that it does not fail after it.
    pub async fn look(&self) -> anyhow::Result<()> {
        self.send(self.client.get(&self.address)).await.map(drop)
    }

    /// Overrides the rules of the queue, until an operator takes them back, and looks whether they
    /// are in force. What the plan does not know, such as a capacity, stays as it is.
    ///
    /// # Errors
    ///
    /// When the service port refuses it, cannot be reached, or does not follow the plan.
    pub async fn apply(&self, plan: &Plan) -> anyhow::Result<()> {
        let Plan { batch, interval_ms, pace, capacity, .. } = plan;
        let mut rules = json!({ "batch": batch, "interval_ms": interval_ms, "pace": pace });
        if let Some(capacity) = capacity {
            rules["capacity"] = (*capacity).into();
        }
        self.send(self.client.patch(&self.address).json(&rules)).await?;
        let view = self.send(self.client.get(&self.address)).await?;
        let view: Value = serde_json::from_str(&view).unwrap_or_default();
        for (rule, planned) in rules.as_object().into_iter().flatten() {
            let (in_force, address) = (&view["rules"][rule], &self.address);
            ensure!(
                in_force == planned,
                "{address}: not applied: {rule} is {in_force} there, and {planned} in the plan"
            );
        }
        Ok(())
    }

    /// The text of an answer of success.
    async fn send(&self, request: RequestBuilder) -> anyhow::Result<String> {
        let answer = request.send().await.context("--apply: not applied")?;
        let (status, text) = (answer.status(), answer.text().await.unwrap_or_default());
        // A problem document tells in its detail what is wrong.
        ensure!(status.is_success(), "{}: not applied: {status}: {text}", self.address);
        Ok(text)
    }
}
