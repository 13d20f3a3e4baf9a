//! What this process keeps of a limit between requests, and what limits refuse.

use std::sync::Arc;

use anteroom_config::LimitConfig;
use anteroom_core::limit::{Limits, Rule};
use http::HeaderValue;
use utoipa_axum::router::OpenApiRouter;

use super::hot;
use super::metrics::{LimitFamilies, LimitMetrics};
use super::problems;
use crate::app::App;
use crate::entities::{Entity, EntityContext, Hot, Served};
use crate::http::audit::Audit;
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

impl Served for Limits {
    type State = LimitState;
}

impl Entity for LimitState {
    type Kind = Limits;
    type Families = LimitFamilies;

    const UNKNOWN: Code = Code::UNKNOWN_LIMIT;
    const CODES: &'static [&'static [Code]] = &[problems::LIMIT];
    const HOT: Hot = Hot { public: &[], service: hot::SERVICE };

    fn make(
        name: &str,
        config: &LimitConfig,
        before: Option<&Self>,
        families: &Self::Families,
        _context: &EntityContext<'_>,
    ) -> Self {
        let counted = before.map(|before| before.metrics.clone());
        Self::new(name, *config, counted.unwrap_or_else(|| Arc::new(families.of(name))))
    }

    fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
        super::service(audit)
    }
}
