//! A visitor's own connection, and the bound on all of them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::delivery::{Deliveries, Reuse};
use super::lock;
use crate::client::{self, Answer, Fault, Outgoing, Route, Sources};
use crate::load::Durations;
use crate::own_limit;

/// The connections of all visitors together.
pub struct Connections {
    permits: Arc<Semaphore>,
    /// Whether each visitor may keep its own between two requests.
    pub kept: bool,
    reuse: Reuse,
    deliveries: Mutex<Deliveries>,
    waited: Mutex<Durations>,
}

impl Connections {
    /// For so many visitors, whose connections come from these addresses.
    ///
    /// # Errors
    ///
    /// When the limits of this machine cannot be read.
    pub fn new(visitors: u32, sources: &Sources, reuse: Reuse) -> anyhow::Result<Self> {
        let bound = own_limit::connections()?.min(own_limit::ports() * sources.count() as u64);
        // The tabs of some visitors take more than one each.
        let kept = 2 * u64::from(visitors) <= bound;
        let permits = Arc::new(Semaphore::new(usize::try_from(bound)?));
        Ok(Self { permits, kept, reuse, deliveries: Mutex::default(), waited: Mutex::default() })
    }

    /// So many may be open at once.
    pub fn bound(&self) -> usize {
        self.permits.available_permits()
    }

    /// How long visitors waited for one of them.
    pub fn waited(&self) -> Durations {
        lock(&self.waited).clone()
    }

    /// The outcome of all requests so far.
    pub fn deliveries(&self) -> Deliveries {
        lock(&self.deliveries).clone()
    }
}

/// One connection at most, opened when it is needed.
pub struct Connection {
    own: client::Connection,
    all: Arc<Connections>,
    /// Whether it stays open between two requests.
    pub kept: bool,
    /// While it is open, or about to be.
    permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Of the visitor of this number; not open yet.
    pub fn new(route: &Arc<Route>, all: &Arc<Connections>, visitor: u32) -> Self {
        let kept = all.kept && all.reuse.keeps(visitor);
        Self { own: client::Connection::new(route), all: Arc::clone(all), kept, permit: None }
    }

    /// Where it leads.
    pub fn route(&self) -> &Route {
        self.own.route()
    }

    /// Waits until the harness may open it. That is no latency of the other side.
    pub async fn ready(&mut self) {
        if self.permit.is_none() {
            let asked = Instant::now();
            let permit = Arc::clone(&self.all.permits).acquire_owned().await;
            lock(&self.all.waited).note(asked.elapsed());
            self.permit = Some(permit.expect("the semaphore is never closed"));
        }
    }

    /// Sends a request once and reads the complete answer.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub async fn send(&mut self, request: Outgoing, within: Duration) -> Result<Answer, Fault> {
        self.ready().await;
        let answer = self.own.send(request, within).await;
        let mut delivered = lock(&self.all.deliveries);
        let Deliveries { kept, new } = &mut *delivered;
        (if self.kept { kept } else { new }).add(&answer);
        drop(delivered);
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
