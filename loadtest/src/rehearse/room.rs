//! The waiting room as anybody sees it, and its rules as an operator does.

use std::time::Duration;

use anteroom_witness::Rules;
use anyhow::Context as _;
use serde_json::Value;

use crate::rehearse::connection::{Peer, get_json};

/// A look at the public state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Waiting and present.
    pub depth: u64,
    /// Ready or active.
    pub inside: u64,
    /// Joins are taken and places promoted.
    pub open: bool,
}

/// Looks at the public state of a queue.
///
/// # Errors
///
/// When there is no answer that shows it.
pub async fn look(public: &Peer, queue: &str) -> anyhow::Result<Look> {
    let state = get_json(public, &format!("/v1/queues/{queue}"), None).await?;
    let number = |name: &str| {
        state[name].as_u64().with_context(|| format!("the state of {queue} has no {name}"))
    };
    let open = state["state"] == "open" && state["paused_by"].is_null();
    Ok(Look { depth: number("depth")?, inside: number("ready")? + number("active")?, open })
}

/// The rules in force, as the service port shows them to an operator.
///
/// # Errors
///
/// When there is no answer that shows them.
pub async fn rules(service: &Peer, queue: &str, key: Option<&str>) -> anyhow::Result<Rules> {
    let state = get_json(service, &format!("/v1/admin/queues/{queue}"), key).await?;
    let rules = &state["rules"];
    let whole = |value: &Value| value.as_u64().and_then(|value| usize::try_from(value).ok());
    let span = |name: &str| {
        let millis = rules[name].as_u64().with_context(|| format!("the rules have no {name}"))?;
        anyhow::Ok(Duration::from_millis(millis))
    };
    // A batch that follows the health of the service is at most its greatest.
    let batch = whole(&state["adaptive"]["max_batch"]).or(whole(&rules["batch"]));
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
