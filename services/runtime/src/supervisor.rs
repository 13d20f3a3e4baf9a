//! One task for each entity of a kind, as long as it is configured. A task that panics is started
//! again: one bad reply about one queue must neither end all queues nor leave that one unserved.

use std::{collections::HashMap, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt as _;
use prometheus::{IntCounter, IntCounterVec, Opts, Registry};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

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
        let help = "Panics of the tasks that serve one entity each; the task is started again.";
        let panics = IntCounterVec::new(Opts::new("anteroom_task_panics_total", help), &["task"])?;
        registry.register(Box::new(panics.clone()))?;
        Ok(Self { panics })
    }

    /// Keeps exactly one task for each name until `stop`, then waits for all of them to end.
    ///
    /// `names` finds the names in what `changes` holds, now and after each change. `run` serves the
    /// entity of a name until its token is cancelled: when its name is gone, or at `stop`. The
    /// label of the metric is `task`.
    pub async fn keep<C, F>(
        &self,
        task: &'static str,
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
                    let supervised = Supervised { task, name, stop: own_stop.clone() };
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
    task: &'static str,
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
                // What the panic said stands in the line of the panic itself.
                tracing::error!(task, name, ?pause, "a task panicked, it is started again");
            }
            if stop.run_until_cancelled(sleep(pause)).await.is_none() {
                return name;
            }
            pause = BACK_OFF.1.min(pause * 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    };

    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
    use tokio::time::timeout;

    use super::*;

    type Told = UnboundedSender<String>;

    /// Tasks under a supervisor, and what they tell.
    struct Kept {
        supervisor: Supervisor,
        names: watch::Sender<Vec<String>>,
        stop: CancellationToken,
        events: UnboundedReceiver<String>,
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    impl Kept {
        /// Each task says "+NAME" at its start, then does what `run` does.
        fn start<F, R>(names: &[&str], run: R) -> Self
        where
            F: Future<Output = ()> + Send + 'static,
            R: Fn(Told, String, CancellationToken) -> F + Clone + Send + Sync + 'static,
        {
            let supervisor = Supervisor::register(&Registry::new()).expect("a fresh name");
            let (names, changes) = watch::channel(owned(names));
            let stop = CancellationToken::new();
            let (told, events) = unbounded_channel();
            let (keeper, stopped) = (supervisor.clone(), stop.clone());
            tokio::spawn(async move {
                let run = move |name: String, stop| {
                    told.send(format!("+{name}")).expect("the test listens");
                    run(told.clone(), name, stop)
                };
                keeper.keep("test", changes, Vec::clone, stopped, run).await;
            });
            Self { supervisor, names, stop, events }
        }

        /// The next event; time is paused, so an hour passes at once where nothing happens.
        async fn next(&mut self) -> Option<String> {
            let hour = Duration::from_secs(3_600);
            timeout(hour, self.events.recv()).await.expect("something happens")
        }

        async fn next_is(&mut self, event: &str) {
            assert_eq!(self.next().await.as_deref(), Some(event));
        }

        fn panics(&self) -> u64 {
            self.supervisor.panics.with_label_values(&["test"]).get()
        }
    }

    /// Says "-NAME" when it is stopped.
    async fn until_stopped(told: Told, name: String, stop: CancellationToken) {
        stop.cancelled().await;
        told.send(format!("-{name}")).expect("the test listens");
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_once_goes_on() {
        let first = Arc::new(AtomicBool::new(true));
        let mut kept = Kept::start(&["concert"], move |told, name, stop| {
            let first = first.clone();
            async move {
                assert!(!first.swap(false, Relaxed), "as told");
                until_stopped(told, name, stop).await;
            }
        });
        kept.next_is("+concert").await;
        kept.next_is("+concert").await;
        assert_eq!(kept.panics(), 1);
        kept.stop.cancel();
        kept.next_is("-concert").await;
        assert_eq!(kept.next().await, None, "the supervisor has ended");
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_always_panics_is_started_again_less_and_less_often() {
        let mut kept = Kept::start(&["concert"], |_, _, _| async { panic!("as told") });
        let begun = Instant::now();
        for _ in 0..20 {
            kept.next_is("+concert").await;
        }
        let took = begun.elapsed();
        let bounds = BACK_OFF.1 * 10..BACK_OFF.1 * 20;
        assert!(bounds.contains(&took), "{took:?}");
        kept.stop.cancel();
        assert_eq!(kept.next().await, None, "no pause is waited for at the end");
    }

    #[tokio::test(start_paused = true)]
    async fn each_name_has_one_task_for_as_long_as_it_stands_there() {
        let mut kept = Kept::start(&["a"], until_stopped);
        kept.next_is("+a").await;
        kept.names.send_replace(owned(&["a", "b"]));
        kept.next_is("+b").await;
        kept.names.send_replace(owned(&["b"]));
        kept.next_is("-a").await;
        kept.names.send_replace(owned(&["a", "b"]));
        kept.next_is("+a").await;
        assert_eq!(kept.panics(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_is_back_waits_for_the_end_of_its_task() {
        let mut kept = Kept::start(&["a"], async |told: Told, name, stop: CancellationToken| {
            stop.cancelled().await;
            sleep(Duration::from_secs(5)).await;
            until_stopped(told, name, stop).await;
        });
        kept.next_is("+a").await;
        kept.names.send_replace(Vec::new());
        sleep(Duration::from_secs(1)).await;
        kept.names.send_replace(owned(&["a"]));
        kept.next_is("-a").await;
        kept.next_is("+a").await;
    }
}
