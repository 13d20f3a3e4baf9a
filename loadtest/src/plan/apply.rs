//! A plan set live, by the operator's call of the service port.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, RequestBuilder, redirect};
use serde_json::{Value, json};
use url::Url;

use super::Plan;
use crate::exit::Usage;

/// Of each of the two calls.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Overrides the rules of the queue, until an operator takes them back, and looks whether they are
/// in force. What the plan does not know, such as a capacity, stays as it is.
///
/// The key goes to the service port and nowhere else: through no proxy and after no redirect.
///
/// # Errors
///
/// When the service port refuses it, cannot be reached, or does not follow the plan.
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
    let client = Client::builder().no_proxy().redirect(redirect::Policy::none()).timeout(TIMEOUT);
    let client = client.build()?;
    let authorization = key.map(bearer).transpose()?;
    let send = async |mut request: RequestBuilder| {
        if let Some(authorization) = &authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let answer = request.send().await.with_context(|| format!("{address}: not applied"))?;
        let (status, text) = (answer.status(), answer.text().await.unwrap_or_default());
        // A problem document tells in its detail what is wrong.
        ensure!(status.is_success(), "{address}: not applied: {status}: {text}");
        Ok(text)
    };
    send(client.patch(&address).json(&rules)).await?;
    let view = send(client.get(&address)).await?;
    let view: Value = serde_json::from_str(&view).unwrap_or_default();
    for (rule, planned) in rules.as_object().into_iter().flatten() {
        let in_force = &view["rules"][rule];
        if in_force != planned {
            bail!("{address}: not applied: {rule} is {in_force} there, and {planned} in the plan");
        }
    }
    Ok(())
}

fn bearer(key: &str) -> Result<HeaderValue, Usage> {
    let value = HeaderValue::try_from(format!("Bearer {key}"));
    let mut value =
        value.map_err(|_| Usage("ANTEROOM_KEY: not a key: no header can hold it".into()))?;
    value.set_sensitive(true);
    Ok(value)
}
