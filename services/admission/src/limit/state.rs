//! What this process keeps of a limit between requests, and what limits refuse.

use std::sync::Arc;

use anteroom_core::limit::Rule;
use anteroom_runtime::Config;
use anteroom_runtime::config::LimitConfig;
use http::HeaderValue;

use super::metrics::{LimitFamilies, LimitMetrics};
use crate::entities::{Entities, Entity};
use crate::problem::Code;

/// One limit as handlers see it.
pub struct LimitState {
    pub(crate) name: String,
    pub(crate) config: LimitConfig,
    /// What `RateLimit-Policy` says of it.
    pub(crate) policy: HeaderValue,
    pub(crate) metrics: Arc<LimitMetrics>,
}

impl LimitState {
    fn new(name: &str, config: LimitConfig, metrics: Arc<LimitMetrics>) -> Self {
        let (limit, seconds) = (config.limit, config.window.as_secs());
        let policy = format!("\"{name}\";q={limit};w={seconds}");
        // A name has letters, digits and hyphens only.
        let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static(""));
        Self { name: name.to_owned(), config, policy, metrics }
    }

    pub(crate) fn rule(&self) -> Rule {
        self.config.rule()
    }
}

impl Entity for LimitState {
    const SECTION: &'static str = "limits";
    const LABEL: &'static str = "limit";
    const UNKNOWN: Code = Code::UNKNOWN_LIMIT;
}

/// The limits of a new configuration, each with what it counted before.
pub(crate) fn reload(
    config: &Config,
    before: Option<&Entities<LimitState>>,
    metrics: &LimitFamilies,
) -> Entities<LimitState> {
    let none = Entities::default();
    before.unwrap_or(&none).reload(&config.limits, |name, limit, before| {
        let counted = before.map(|before| before.metrics.clone());
        LimitState::new(name, *limit, counted.unwrap_or_else(|| Arc::new(metrics.of(name))))
    })
}
