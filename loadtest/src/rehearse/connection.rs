//! A visitor's own connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use tokio::sync::OwnedSemaphorePermit;

use super::Stage;
use crate::client::{self, Answer, Fault, Outgoing, Route};

/// Which connections visitors ask on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Reuse {
    /// Each visitor keeps its own between two requests
    #[default]
    Kept,
    /// A new one for each request
    New,
    /// Every second visitor keeps its own
    Both,
}

/// One connection at most, opened when it is needed.
pub struct Connection {
    own: client::Connection,
    stage: Arc<Stage>,
    /// Whether it stays open between two requests.
    pub kept: bool,
    /// While it is open, or about to be.
    permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Of the visitor of this number; not open yet.
    pub fn new(stage: &Arc<Stage>, route: &Arc<Route>, visitor: u32) -> Self {
        let reused = match stage.args.connections {
            Reuse::Kept => true,
            Reuse::New => false,
            Reuse::Both => visitor.is_multiple_of(2),
        };
        let (own, stage) = (client::Connection::new(route), Arc::clone(stage));
        Self { own, kept: reused && stage.can_keep, stage, permit: None }
    }

    /// Where it leads.
    pub fn route(&self) -> &Route {
        self.own.route()
    }

    /// Waits until the harness may open it. That is no latency of the other side.
    pub async fn ready(&mut self) {
        if self.permit.is_none() {
            let began = Instant::now();
            let permit = Arc::clone(&self.stage.permits).acquire_owned().await;
            self.stage.counts().connection_waits.note(began.elapsed());
            self.permit = Some(permit.expect("the semaphore is never closed"));
        }
    }

    /// Sends a request once and reads the complete answer.
    pub async fn send(&mut self, request: Outgoing, within: Duration) -> Result<Answer, Fault> {
        self.ready().await;
        let answer = self.own.send(request, within).await;
        self.stage.counts().connections.add(self.kept, &answer);
        if answer.is_err() || !self.kept {
            self.close();
        }
        answer
    }

    /// Closes it.
    pub fn close(&mut self) {
        self.own.close();
        self.permit = None;
    }
}
