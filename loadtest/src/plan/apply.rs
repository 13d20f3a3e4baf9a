//! A plan set live, by the operator's call of the service port.

use anyhow::{Context as _, bail};
use serde_json::json;
use url::Url;

use super::Plan;

/// Overrides the rules of the queue, until an operator takes them back. What the plan does not
/// know, such as a capacity, stays as it is.
///
/// # Errors
///
/// When the service port refuses it, or cannot be reached.
pub async fn apply(
    plan: &Plan,
    service: &Url,
    queue: &str,
    key: Option<&str>,
) -> anyhow::Result<()> {
    let mut rules = json!({
        "batch": plan.batch,
        "interval_ms": plan.interval_ms,
        "pace": plan.pace,
    });
    if let Some(capacity) = plan.capacity {
        rules["capacity"] = capacity.into();
    }
    let base = service.as_str().trim_end_matches('/');
    let address = format!("{base}/v1/admin/queues/{queue}");
    let mut request = reqwest::Client::new().patch(&address).json(&rules);
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let answer = request.send().await.with_context(|| format!("{address}: the plan's effect"))?;
    let status = answer.status();
    if !status.is_success() {
        // A problem document tells in its detail what is wrong.
        let text = answer.text().await.unwrap_or_default();
        bail!("{address}: not applied: {status}: {text}");
    }
    Ok(())
}
