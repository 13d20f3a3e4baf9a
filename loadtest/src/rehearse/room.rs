//! The waiting room as anybody sees it, and its rules as an operator does.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anteroom_witness::Rules;
use anyhow::Context as _;
use http_body_util::Full;
use hyper::header;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::{Connection, Route};

/// A look at the public state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Waiting and present.
    pub depth: u64,
    /// Ready or active.
    pub inside: u64,
    /// Joins are taken and places promoted.
    pub open: bool,
    /// Everybody passes.
    pub bypass: bool,
}

/// Looks at the public state of a queue.
///
/// # Errors
///
/// When there is no answer that shows it.
pub async fn look(public: &Arc<Route>, queue: &str) -> anyhow::Result<Look> {
    let state = get_json(public, &format!("/v1/queues/{queue}"), None).await?;
    let number = |name: &str| {
        state[name].as_u64().with_context(|| format!("the state of {queue} has no {name}"))
    };
    let open = state["state"] == "open" && state["paused_by"].is_null();
    let (depth, inside) = (number("depth")?, number("ready")? + number("active")?);
    Ok(Look { depth, inside, open, bypass: state["state"] == "bypass" })
}

/// The rules in force, as the service port shows them to an operator.
///
/// # Errors
///
/// When there is no answer that shows them.
async fn rules(service: &Arc<Route>, queue: &str, key: Option<&str>) -> anyhow::Result<Rules> {
    read(&get_json(service, &format!("/v1/admin/queues/{queue}"), key).await?)
}

/// The rules of an operator's view.
fn read(state: &Value) -> anyhow::Result<Rules> {
    let rules = &state["rules"];
    let whole = |value: &Value| value.as_u64().and_then(|value| usize::try_from(value).ok());
    let span = |name: &str| {
        let millis = rules[name].as_u64().with_context(|| format!("the rules have no {name}"))?;
        anyhow::Ok(Duration::from_millis(millis))
    };
    // A batch that follows the health of the service is at most its greatest; an operator's goes
    // before it.
    let adapts = state["overrides"]["batch"].is_null();
    let most = whole(&state["adaptive"]["max_batch"]).filter(|_| adapts);
    let batch = most.or(whole(&rules["batch"]));
    Ok(Rules {
        capacity: whole(&rules["capacity"]),
        batch,
        interval: span("interval_ms")?,
        claim_ttl: span("claim_ttl_ms")?,
        session_ttl: span("session_ttl_ms")?,
        idle_ttl: span("idle_ttl_ms")?,
        first_poll_ttl: span("first_poll_ttl_ms")?,
        losses: Vec::new(),
    })
}

/// One GET and its answer as JSON, on a connection of its own.
///
/// # Errors
///
/// When there is no answer, or another one than 200.
async fn get_json(route: &Arc<Route>, path: &str, key: Option<&str>) -> anyhow::Result<Value> {
    let mut request = route.target.request("GET", path);
    if let Some(key) = key {
        request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
    }
    let request =
        request.body(Full::default()).context("ANTEROOM_KEY: must be one line of text")?;
    let place = route.target.at(path);
    let answer = Connection::new(route).send(request, Duration::from_secs(5)).await;
    let answer = answer.map_err(|fault| anyhow::anyhow!("{place}: {fault}"))?;
    if answer.status != 200 {
        let body = String::from_utf8_lossy(&answer.body);
        anyhow::bail!("{place} answers {}: {}", answer.status.as_u16(), body.trim());
    }
    serde_json::from_slice(&answer.body).with_context(|| format!("{place}: not JSON"))
}

/// The rules in force, looked at again and again.
pub struct RulesWatch {
    service: Arc<Route>,
    queue: String,
    key: Option<String>,
    first: Rules,
    /// What all that were seen forbid.
    together: Mutex<Rules>,
    changed: AtomicBool,
}

impl RulesWatch {
    /// The rules as they are at first.
    ///
    /// # Errors
    ///
    /// When there is no answer that shows them.
    pub async fn new(service: &Arc<Route>, queue: &str, key: Option<&str>) -> anyhow::Result<Self> {
        let first = rules(service, queue, key).await?;
        Ok(Self {
            service: Arc::clone(service),
            queue: queue.to_owned(),
            key: key.map(str::to_owned),
            together: Mutex::new(first.clone()),
            first,
            changed: AtomicBool::new(false),
        })
    }

    /// Looks again. Where nobody answers, nothing is known to have changed.
    pub async fn look(&self) {
        if let Ok(now) = rules(&self.service, &self.queue, self.key.as_deref()).await
            && now != self.first
        {
            self.changed.store(true, Ordering::Relaxed);
            let mut together = self.together.lock().unwrap_or_else(PoisonError::into_inner);
            *together = together.clone().or(&now);
        }
    }

    /// The rules at first.
    pub fn first(&self) -> &Rules {
        &self.first
    }

    /// What all rules that were in force at a look forbid.
    pub fn together(&self) -> Rules {
        self.together.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether others than the first were in force at a look.
    pub fn changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }
}

/// What is known of a queue whose rules are not: nothing that could accuse anybody.
pub fn unknown_rules() -> Rules {
    Rules {
        capacity: None,
        batch: None,
        interval: Duration::ZERO,
        claim_ttl: Duration::ZERO,
        session_ttl: Duration::ZERO,
        idle_ttl: Duration::ZERO,
        first_poll_ttl: Duration::ZERO,
        losses: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operators_batch_goes_before_one_that_adapts() {
        let view = |overrides: Value| {
            json!({
                "rules": {
                    "capacity": 150, "batch": 60, "interval_ms": 2_000, "claim_ttl_ms": 5_000,
                    "session_ttl_ms": 5_000, "idle_ttl_ms": 5_000, "first_poll_ttl_ms": 5_000,
                },
                "adaptive": { "max_batch": 20 },
                "overrides": overrides,
            })
        };
        let batch = |overrides| read(&view(overrides)).expect("the rules").batch;
        assert_eq!(batch(json!({ "batch": { "value": 60 } })), Some(60));
        assert_eq!(batch(json!({})), Some(20));
    }
}
