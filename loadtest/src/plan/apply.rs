//! A plan set live, by the operator's calls of the service port.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Client, RequestBuilder, redirect};
use serde_json::{Value, json};
use url::Url;

use super::Plan;
use crate::exit::Usage;

/// Of each call.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Whether a queue can be looked at as its operator: before a run, not after it.
///
/// # Errors
///
/// When the service port refuses it, or cannot be reached.
pub async fn look(service: &Url, queue: &str, key: Option<&str>) -> anyhow::Result<()> {
    let (client, address) = operator(service, queue, key)?;
    send(client.get(&address)).await.map(drop)
}

/// Overrides the rules of the queue, until an operator takes them back, and looks whether they are
/// in force. What the plan does not know, such as a capacity, stays as it is.
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
    let (client, address) = operator(service, queue, key)?;
    send(client.patch(&address).json(&rules)).await?;
    let view: Value = serde_json::from_str(&send(client.get(&address)).await?).unwrap_or_default();
    for (rule, planned) in rules.as_object().into_iter().flatten() {
        let in_force = &view["rules"][rule];
        if in_force != planned {
            bail!("{address}: not applied: {rule} is {in_force} there, and {planned} in the plan");
        }
    }
    Ok(())
}

/// Whoever calls with this key, and where. The key goes to the service port and nowhere else:
/// through no proxy and after no redirect.
fn operator(service: &Url, queue: &str, key: Option<&str>) -> anyhow::Result<(Client, String)> {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        let value = HeaderValue::try_from(format!("Bearer {key}"));
        let rule = "ANTEROOM_KEY: a key is one line of visible characters";
        let mut value = value.map_err(|_| Usage(rule.to_owned()))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let client = Client::builder().default_headers(headers).timeout(TIMEOUT);
    let client = client.no_proxy().redirect(redirect::Policy::none()).build()?;
    let base = service.as_str().trim_end_matches('/');
    Ok((client, format!("{base}/v1/admin/queues/{queue}")))
}

/// The text of an answer of success.
async fn send(request: RequestBuilder) -> anyhow::Result<String> {
    let (client, request) = request.build_split();
    let request = request?;
    let address = request.url().clone();
    let answer = client.execute(request).await.context("--apply: not applied")?;
    let (status, text) = (answer.status(), answer.text().await.unwrap_or_default());
    // A problem document tells in its detail what is wrong.
    ensure!(status.is_success(), "{address}: not applied: {status}: {text}");
    Ok(text)
}
