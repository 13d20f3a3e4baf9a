//! The queue as an entity that admission serves.

use anteroom_authorize::Code;
use anteroom_authorize::callers::cookies::Cookies;
use anteroom_authorize::queue::metrics::QueueFamilies;
use anteroom_authorize::queue::state::{QueueContext, QueueState};
use anteroom_authorize::queue::{line::Sketches, refresh, revocations::Revoked};
use anteroom_config::QueueConfig;
use anteroom_core::changes::Changes;
use anteroom_core::queue::Queue;
use anteroom_core::store::Error;

use crate::app::App;
use crate::entities::{Entity, EntityContext, Served};
use crate::tasks::Tasks;

impl Served for Queue {
    type State = QueueState;
}

impl Entity for QueueState {
    type Kind = Queue;
    type Families = QueueFamilies;

    const UNKNOWN: Code = Code::UNKNOWN_QUEUE;

    fn make(
        name: &str,
        config: &QueueConfig,
        before: Option<&Self>,
        families: &QueueFamilies,
        context: &EntityContext<'_>,
    ) -> Self {
        let EntityContext { config: whole, store, retries, lane_bound } = *context;
        let cookies = Cookies::of(&whole.admission);
        let of = QueueContext { name, config, cookies, families, store, lane_bound, retries };
        Self::new(of, before)
    }

    async fn changes(&self, _app: &App, before: Option<u64>, limit: u64) -> Result<Changes, Error> {
        self.queue.changes(before, limit).await
    }

    fn spawn(tasks: &Tasks<'_>) {
        tasks.snapshots::<Self>();
        tasks.keep::<Self, _>("queue_revocations".to_owned(), |app, name, stop| async move {
            stop.run_until_cancelled(refresh::keep::<Revoked>(|| app.queue(&name))).await;
        });
        tasks.keep::<Self, _>("queue_line".to_owned(), |app, name, stop| async move {
            stop.run_until_cancelled(refresh::keep::<Sketches>(|| app.queue(&name))).await;
        });
    }
}
