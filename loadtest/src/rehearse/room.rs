//! The waiting room as every visitor sees it, and its rules as an operator does.

use std::sync::Arc;
use std::time::Duration;

use anteroom_witness::Rules;
use anyhow::Context as _;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::Route;

/// A look at the public state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Waiting and present.
    pub depth: u64,
    /// Ready or active.
    pub inside: u64,
    /// Joins are taken and places promoted.
    pub open: bool,
    /// All pass.
    pub bypass: bool,
}

/// Looks at the public state of a queue.
pub async fn look(public: &Arc<Route>, queue: &str) -> anyhow::Result<Look> {
    let state = public.json("GET", &format!("/v1/queues/{queue}"), None, None).await?;
    let number = |name: &str| {
        state[name].as_u64().with_context(|| format!("the state of {queue} has no {name}"))
    };
    let open = state["state"] == "open" && state["paused_by"].is_null();
    let (depth, inside) = (number("depth")?, number("ready")? + number("active")?);
    Ok(Look { depth, inside, open, bypass: state["state"] == "bypass" })
}

/// The rules of a queue; durations in milliseconds. By default nothing is known of them that could
/// accuse a room.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesInForce {
    /// How many may be inside at once.
    pub capacity: Option<usize>,
    /// How many are promoted within an interval. If it follows the health of the service, the most
    /// that it may be.
    pub batch: Option<usize>,
    /// Of the batch.
    pub interval_ms: u64,
    /// How long a turn lasts.
    pub claim_ttl_ms: u64,
    session_ttl_ms: u64,
    idle_ttl_ms: u64,
    first_poll_ttl_ms: u64,
    /// Whether positions can be off. Older versions have no such rule.
    #[serde(default)]
    local_answers: bool,
}

impl RulesInForce {
    /// Reads an operator's view of the queue.
    fn read(state: &Value) -> anyhow::Result<Self> {
        let mut rules = Self::deserialize(&state["rules"]).context("the rules of the queue")?;
        // An operator's batch goes before one that adapts.
        let most = state["adaptive"]["max_batch"].as_u64();
        if let Some(most) = most.filter(|_| state["overrides"]["batch"].is_null()) {
            rules.batch = Some(usize::try_from(most)?);
        }
        Ok(rules)
    }
}

impl From<RulesInForce> for Rules {
    fn from(rules: RulesInForce) -> Self {
        Self {
            capacity: rules.capacity,
            batch: rules.batch,
            interval: Duration::from_millis(rules.interval_ms),
            claim_ttl: Duration::from_millis(rules.claim_ttl_ms),
            session_ttl: Duration::from_millis(rules.session_ttl_ms),
            idle_ttl: Duration::from_millis(rules.idle_ttl_ms),
            first_poll_ttl: Duration::from_millis(rules.first_poll_ttl_ms),
            local_answers: rules.local_answers,
            losses: Vec::new(),
        }
    }
}

/// The rules in force, looked at again and again; without a service port nothing is known of them.
#[derive(Default)]
pub struct RulesWatch {
    service: Option<Arc<Route>>,
    path: String,
    key: Option<String>,
    /// All that were in force at a look, in order; each once.
    seen: Mutex<Vec<RulesInForce>>,
}

impl RulesWatch {
    /// Looks for the first time.
    pub async fn new(service: Option<Arc<Route>>, queue: &str) -> anyhow::Result<Self> {
        let key = std::env::var("ANTEROOM_KEY").ok();
        let path = format!("/v1/admin/queues/{queue}");
        let watch = Self { service, path, key, seen: Mutex::default() };
        watch.look().await?;
        Ok(watch)
    }

    /// Looks again. Without an answer nothing is known to have changed.
    pub async fn look(&self) -> anyhow::Result<()> {
        let Some(service) = &self.service else { return Ok(()) };
        let view = service.json("GET", &self.path, self.key.as_deref(), None).await?;
        let now = RulesInForce::read(&view)?;
        let mut seen = self.seen.lock();
        if !seen.contains(&now) {
            seen.push(now);
        }
        Ok(())
    }

    /// The rules at first.
    pub fn first(&self) -> Option<RulesInForce> {
        self.seen.lock().first().cloned()
    }

    /// What all of them forbid, and whether others than the first were in force at a look.
    pub fn together(&self) -> (Rules, bool) {
        let seen = self.seen.lock().clone();
        let changed = seen.len() > 1;
        let all = seen.into_iter().map(Rules::from).reduce(|all, next| all.or(&next));
        let unknown = || RulesInForce { local_answers: true, ..RulesInForce::default() };
        (all.unwrap_or_else(|| unknown().into()), changed)
    }
}
