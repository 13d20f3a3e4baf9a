//! What this process keeps of a limit between requests, and what limits refuse.

use std::sync::Arc;

use anteroom_config::LimitConfig;
use anteroom_core::limit::Limits;
use http::HeaderValue;

use super::metrics::{LimitFamilies, LimitMetrics};
use super::problems;
use crate::entities::{Entity, EntityContext, Served};
use crate::problem::Code;

/// One limit as handlers see it.
pub struct LimitState {
    pub(crate) name: String,
    pub(crate) config: LimitConfig,
    /// What `RateLimit-Policy` says of it.
    pub(crate) policy: HeaderValue,
    pub(crate) metrics: Arc<LimitMetrics>,
}

impl Served for Limits {
    type State = LimitState;
}

impl Entity for LimitState {
    type Kind = Limits;
    type Families = LimitFamilies;

    const UNKNOWN: Code = Code::UNKNOWN_LIMIT;
    const CODES: &'static [&'static [Code]] = &[problems::LIMIT];

    fn make(
        name: &str,
        config: &LimitConfig,
        before: Option<&Self>,
        families: &LimitFamilies,
        _context: &EntityContext<'_>,
    ) -> Self {
        let (limit, seconds) = (config.limit, config.window.as_secs());
        let policy = format!("\"{name}\";q={limit};w={seconds}");
        // A name has letters, digits and hyphens only.
        let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static(""));
        let metrics = before.map(|before| before.metrics.clone());
        let metrics = metrics.unwrap_or_else(|| Arc::new(families.of(name)));
        Self { name: name.to_owned(), config: *config, policy, metrics }
    }
}
