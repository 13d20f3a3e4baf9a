//! One task for each entity of a kind, as long as it is configured. A task that panics is started
//! again: one bad reply about one queue must neither end all queues nor leave that one unserved.

use std::{collections::HashMap, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt as _;
use prometheus::{IntCounter, IntCounterVec, Registry};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::metrics::counters;

/// The first pause before a task is started again, and the longest. It doubles each time, and is
/// the first again after a run that took longer than the longest.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// Keeps tasks; clones count panics together.
#[derive(Clone, Debug)]
pub struct Supervisor {
    panics: IntCounterVec,
}

impl Supervisor {
    /// Registers `anteroom_task_panics_total{task}`.
    ///
    /// # Errors
    ///
    /// When the name of the metric is taken.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let help = "Panics of a task that serves one entity, such as a queue: a bug. The task restarts, \
                    with pauses of up to 30 s. The log shows the panic.";
        Ok(Self { panics: counters(registry, "anteroom_task_panics_total", help, &["task"])? })
    }

    /// Keeps exactly one task for each name until `stop`, then waits for all of them to end.
    ///
    /// `names` finds the names in what `changes` holds, now and after each change. `run` serves the
    /// entity of a name until its token is cancelled: when its name is gone, or at `stop`. The
    /// label of the metric is `task`.
    pub async fn keep<C, F>(
        &self,
        task: &str,
        mut changes: watch::Receiver<C>,
        names: impl Fn(&C) -> Vec<String>,
        stop: CancellationToken,
        run: impl Fn(String, CancellationToken) -> F + Clone + Send + Sync + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let panics = self.panics.with_label_values(&[task]);
        let mut tasks = JoinSet::new();
        let mut kept = HashMap::<String, CancellationToken>::new();
        while !stop.is_cancelled() {
            let names = names(&changes.borrow_and_update());
            for name in &names {
                kept.entry(name.clone()).or_insert_with(|| {
                    let (name, own_stop) = (name.clone(), stop.child_token());
                    let supervised =
                        Supervised { task: task.to_owned(), name, stop: own_stop.clone() };
                    tasks.spawn(supervised.run(panics.clone(), run.clone()));
                    own_stop
                });
            }
            for (_, gone) in kept.iter().filter(|(name, _)| !names.contains(name)) {
                gone.cancel();
            }
            tokio::select! {
                () = stop.cancelled() => break,
                changed = changes.changed() => {
                    if changed.is_err() {
                        // No more changes come, as at the end of the service.
                        stop.cancelled().await;
                    }
                }
                // Its name was gone; it may be back by now.
                Some(Ok(name)) = tasks.join_next() => {
                    kept.remove(&name);
                }
            }
        }
        while tasks.join_next().await.is_some() {}
    }
}

/// The task of one entity.
struct Supervised {
    task: String,
    name: String,
    stop: CancellationToken,
}

impl Supervised {
    /// Runs it until it is stopped, however often it ends before; gives its name back.
    async fn run<F: Future<Output = ()>>(
        self,
        panics: IntCounter,
        run: impl Fn(String, CancellationToken) -> F,
    ) -> String {
        let Self { task, name, stop } = self;
        let mut pause = BACK_OFF.0;
        loop {
            let begun = Instant::now();
            let running = async { run(name.clone(), stop.clone()).await };
            let ended = AssertUnwindSafe(running).catch_unwind().await;
            if begun.elapsed() > BACK_OFF.1 {
                pause = BACK_OFF.0;
            }
            if ended.is_err() {
                panics.inc();
                // The message of the panic is in a line of its own.
                tracing::error!(task, name, ?pause, "a task panicked and restarts");
            }
            if stop.run_until_cancelled(sleep(pause)).await.is_none() {
                return name;
            }
            pause = BACK_OFF.1.min(pause * 2);
        }
    }
}
