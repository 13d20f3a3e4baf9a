//! One task for each name, whatever becomes of it. Time is paused.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use anteroom_runtime::Supervisor;
use prometheus::Registry;

use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        watch,
    },
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

type Events = UnboundedSender<String>;

/// Tasks under a supervisor, and their events.
struct Kept {
    registry: Registry,
    names: watch::Sender<Vec<String>>,
    stop: CancellationToken,
    events: UnboundedReceiver<String>,
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

impl Kept {
    /// Each task sends "+NAME" at its start, then runs `run`.
    fn start<F, R>(names: &[&str], run: R) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
        R: Fn(Events, String, CancellationToken) -> F + Clone + Send + Sync + 'static,
    {
        let registry = Registry::new();
        let supervisor = Supervisor::register(&registry).expect("a fresh name");
        let (names, changes) = watch::channel(owned(names));
        let stop = CancellationToken::new();
        let (sender, events) = unbounded_channel();
        let stopped = stop.clone();
        tokio::spawn(async move {
            let run = move |name: String, stop| {
                sender.send(format!("+{name}")).expect("the test listens");
                run(sender.clone(), name, stop)
            };
            supervisor.keep("test", changes, Vec::clone, stopped, run).await;
        });
        Self { registry, names, stop, events }
    }

    /// The next event; time is paused, so an hour passes at once where nothing happens.
    async fn next(&mut self) -> Option<String> {
        let hour = Duration::from_secs(3_600);
        timeout(hour, self.events.recv()).await.expect("something happens")
    }

    async fn next_is(&mut self, event: &str) {
        assert_eq!(self.next().await.as_deref(), Some(event));
    }

    fn panics(&self) -> f64 {
        let families = self.registry.gather();
        let [family] = &families[..] else { panic!("{families:?}") };
        assert_eq!(family.name(), "anteroom_task_panics_total");
        family.get_metric()[0].get_counter().get_value()
    }
}

/// Sends "-NAME" when it is stopped.
async fn until_stopped(events: Events, name: String, stop: CancellationToken) {
    stop.cancelled().await;
    events.send(format!("-{name}")).expect("the test listens");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_panics_once_goes_on() {
    let first = Arc::new(AtomicBool::new(true));
    let mut kept = Kept::start(&["concert"], move |events, name, stop| {
        let first = first.clone();
        async move {
            assert!(!first.swap(false, Relaxed), "on purpose");
            until_stopped(events, name, stop).await;
        }
    });
    kept.next_is("+concert").await;
    kept.next_is("+concert").await;
    assert_eq!(kept.panics(), 1.0);
    kept.stop.cancel();
    kept.next_is("-concert").await;
    assert_eq!(kept.next().await, None, "the supervisor has ended");
}

#[tokio::test(start_paused = true)]
async fn one_that_always_panics_is_started_again_less_and_less_often() {
    let mut kept = Kept::start(&["concert"], |_, _, _| async { panic!("on purpose") });
    let begun = Instant::now();
    for _ in 0..20 {
        kept.next_is("+concert").await;
    }
    let took = begun.elapsed();
    let bounds = Duration::from_secs(300)..Duration::from_secs(600);
    assert!(bounds.contains(&took), "20 starts took {took:?}");
    kept.stop.cancel();
    assert_eq!(kept.next().await, None, "no pause is waited for at the end");
}

#[tokio::test(start_paused = true)]
async fn each_name_has_one_task_for_as_long_as_it_is_listed() {
    let mut kept = Kept::start(&["a"], until_stopped);
    kept.next_is("+a").await;
    kept.names.send_replace(owned(&["a", "b"]));
    kept.next_is("+b").await;
    kept.names.send_replace(owned(&["b"]));
    kept.next_is("-a").await;
    kept.names.send_replace(owned(&["a", "b"]));
    kept.next_is("+a").await;
    assert_eq!(kept.panics(), 0.0);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_back_waits_for_the_end_of_its_task() {
    let mut kept = Kept::start(&["a"], async |events: Events, name, stop: CancellationToken| {
        stop.cancelled().await;
        sleep(Duration::from_secs(5)).await;
        until_stopped(events, name, stop).await;
    });
    kept.next_is("+a").await;
    kept.names.send_replace(Vec::new());
    sleep(Duration::from_secs(1)).await;
    kept.names.send_replace(owned(&["a"]));
    kept.next_is("-a").await;
    kept.next_is("+a").await;
}
