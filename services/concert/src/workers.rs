//! The capacity of the shop: so many workers, each with a connection to the database, and a bounded
//! queue before them.
//!
//! Each request takes a worker for at least the think time, so that what the service can bear is
//! known: workers ÷ think requests a second, as long as the database takes less than that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::shop::{Database, Shop};

type Job = Box<dyn FnOnce(&mut Shop) + Send>;

/// Why nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoWorker {
    /// All are busy, and as many wait as may.
    Overloaded,
    /// The worker that had it failed.
    Failed,
}

/// The workers; they end with this.
pub struct Workers {
    queue: SyncSender<Job>,
    think: Duration,
}

impl Workers {
    /// Starts `count` workers; at most `backlog` requests wait for them.
    pub fn start(
        count: usize,
        backlog: usize,
        think: Duration,
        database: &Database,
    ) -> anyhow::Result<Self> {
        let (queue, jobs) = sync_channel(backlog);
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..count {
            let (shop, jobs) = (database.connect()?, jobs.clone());
            thread::Builder::new()
                .name(format!("worker-{number}"))
                .spawn(move || work(shop, &jobs))?;
        }
        Ok(Self { queue, think })
    }

    /// Has a worker do this. Who no longer waits for the answer when its turn comes is passed over.
    ///
    /// # Errors
    ///
    /// No worker did it.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Shop) -> T + Send + 'static,
    ) -> Result<T, NoWorker> {
        let (answer, answered) = oneshot::channel();
        let think = self.think;
        let job = move |shop: &mut Shop| {
            if answer.is_closed() {
                return;
            }
            let began = Instant::now();
            let done = work(shop);
            // A sleeping thread is on time to 0.1 ms, where a timer of Tokio's is to 1 ms.
            thread::sleep(think.saturating_sub(began.elapsed()));
            // The client may have gone meanwhile.
            let _ = answer.send(done);
        };
        match self.queue.try_send(Box::new(job)) {
            Ok(()) => answered.await.map_err(|_| NoWorker::Failed),
            Err(TrySendError::Full(_)) => Err(NoWorker::Overloaded),
            Err(TrySendError::Disconnected(_)) => Err(NoWorker::Failed),
        }
    }
}

/// Works until no more can be wanted. What panics has its transaction undone, and says so by
/// answering nothing.
fn work(mut shop: Shop, jobs: &Mutex<Receiver<Job>>) {
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        // The panic is logged by the hook.
        let _ = catch_unwind(AssertUnwindSafe(|| job(&mut shop)));
    }
}
