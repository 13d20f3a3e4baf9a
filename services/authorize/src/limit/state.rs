//! What this process keeps of a limit between requests, and what limits refuse.

use std::sync::Arc;

use anteroom_config::LimitConfig;
use http::HeaderValue;

use super::metrics::{LimitFamilies, LimitMetrics};
use super::recent::Recent;

/// One limit as handlers see it.
pub struct LimitState {
    /// The name of the limit.
    pub name: String,
    /// Its part of the configuration.
    pub config: LimitConfig,
    /// What `RateLimit-Policy` says of it.
    pub policy: HeaderValue,
    /// What is counted of it.
    pub metrics: Arc<LimitMetrics>,
    /// The rates of its checks and refusals.
    pub recent: Arc<Recent>,
}

impl LimitState {
    /// The limit of a new configuration, which carries over what `before` counts.
    pub fn new(
        name: &str,
        config: &LimitConfig,
        before: Option<&Self>,
        families: &LimitFamilies,
    ) -> Self {
        let (limit, seconds) = (config.limit, config.window.as_secs());
        let policy = format!("\"{name}\";q={limit};w={seconds}");
        // A name has letters, digits and hyphens only.
        let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static(""));
        let metrics = before.map(|before| before.metrics.clone());
        let metrics = metrics.unwrap_or_else(|| Arc::new(families.of(name)));
        let recent = before.map(|before| before.recent.clone()).unwrap_or_default();
        Self { name: name.to_owned(), config: *config, policy, metrics, recent }
    }
}
