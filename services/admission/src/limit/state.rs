//! The limit as an entity that admission serves.

use anteroom_authorize::Code;
use anteroom_authorize::limit::LimitState;
use anteroom_authorize::limit::metrics::LimitFamilies;
use anteroom_config::LimitConfig;
use anteroom_core::changes::Changes;
use anteroom_core::limit::Limits;
use anteroom_core::store::Error;

use crate::app::App;
use crate::entities::{Entity, EntityContext, Served};

impl Served for Limits {
    type State = LimitState;
}

impl Entity for LimitState {
    type Kind = Limits;
    type Families = LimitFamilies;

    const UNKNOWN: Code = Code::UNKNOWN_LIMIT;

    fn make(
        name: &str,
        config: &LimitConfig,
        before: Option<&Self>,
        families: &LimitFamilies,
        _context: &EntityContext<'_>,
    ) -> Self {
        Self::new(name, config, before, families)
    }

    async fn changes(&self, app: &App, before: Option<u64>, limit: u64) -> Result<Changes, Error> {
        app.limits.changes(&self.name, before, limit).await
    }
}
