//! Services whose ceiling is known: they reckon when a request would be done, and answer then.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::StatusCode;
use tokio::time::{Instant, sleep_until};

use crate::common;

/// What a service does: when the request that came now is done, and with which status.
pub trait Service: Send + 'static {
    fn take(&mut self, now: Instant) -> (Instant, StatusCode);
}

/// Serves it until the test ends; returns the address.
pub async fn serve(service: impl Service) -> SocketAddr {
    let service = Arc::new(Mutex::new(service));
    let answer = move |_| {
        let (done, status) = service.lock().expect("no panic").take(Instant::now());
        async move {
            sleep_until(done).await;
            common::answer(status.as_u16(), "")
        }
    };
    common::serve(None, answer).await.0
}

/// So many a second (GCRA with a burst of a tenth of a second), the others get 429 at once.
pub struct RateLimiter {
    every: Duration,
    next: Instant,
}

impl RateLimiter {
    pub fn new(per_second: f64) -> Self {
        Self { every: Duration::from_secs_f64(1.0 / per_second), next: Instant::now() }
    }
}

impl Service for RateLimiter {
    fn take(&mut self, now: Instant) -> (Instant, StatusCode) {
        if self.next > now + Duration::from_millis(100) {
            return (now, StatusCode::TOO_MANY_REQUESTS);
        }
        self.next = self.next.max(now) + self.every;
        (now, StatusCode::OK)
    }
}

/// Workers that take the same time for each request, in the order in which these came.
pub struct WorkerPool {
    takes: Duration,
    free_at: Vec<Instant>,
}

impl WorkerPool {
    pub fn new(workers: usize, takes: Duration) -> Self {
        Self { takes, free_at: vec![Instant::now(); workers] }
    }

    pub fn work(&mut self, now: Instant, takes: Duration) -> Instant {
        let first = self.free_at.iter_mut().min().expect("there are workers");
        *first = (*first).max(now) + takes;
        *first
    }

    /// How long who comes now waits for a worker.
    fn wait(&self, now: Instant) -> Duration {
        self.free_at.iter().min().map_or(Duration::ZERO, |free| free.duration_since(now))
    }
}

impl Service for WorkerPool {
    fn take(&mut self, now: Instant) -> (Instant, StatusCode) {
        (self.work(now, self.takes), StatusCode::OK)
    }
}

/// One writer; of three who write one finds that another has been there before, after its turn.
pub struct SingleWriter {
    writer: WorkerPool,
    writes: u64,
}

impl SingleWriter {
    pub fn new(takes: Duration) -> Self {
        Self { writer: WorkerPool::new(1, takes), writes: 0 }
    }
}

impl Service for SingleWriter {
    fn take(&mut self, now: Instant) -> (Instant, StatusCode) {
        self.writes += 1;
        let conflicts = self.writes.is_multiple_of(3);
        let status = if conflicts { StatusCode::CONFLICT } else { StatusCode::OK };
        (self.writer.take(now).0, status)
    }
}

/// A pool that needs twice as long for everything once its line is too long, until the line is
/// gone; or for ever.
pub struct Collapses {
    pool: WorkerPool,
    knee: Duration,
    recovers: bool,
    collapsed: bool,
}

impl Collapses {
    pub fn new(pool: WorkerPool, knee: Duration, recovers: bool) -> Self {
        Self { pool, knee, recovers, collapsed: false }
    }
}

impl Service for Collapses {
    fn take(&mut self, now: Instant) -> (Instant, StatusCode) {
        let wait = self.pool.wait(now);
        self.collapsed |= wait > self.knee;
        if self.recovers && wait.is_zero() {
            self.collapsed = false;
        }
        let takes = self.pool.takes * if self.collapsed { 2 } else { 1 };
        (self.pool.work(now, takes), StatusCode::OK)
    }
}
