//! The task of one event: claims while something waits and there is room, and is woken by a
//! message, by its own look, and by whatever ends.

mod calls;
mod claim;
mod method;
mod window;

use std::sync::Arc;
use std::time::Duration;

use anteroom_config::{Config, EventConfig};
use anteroom_core::event::{Event, Issue, MAX_CLAIM, Snapshot};
use anteroom_runtime::Changes;
use rand::Rng as _;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::metrics::EventMetrics;
use crate::retry::{PAUSE, jittered};
use crate::shared::Shared;
use calls::Calls;
use claim::Claim;
use method::{Method, Methods};
use window::Window;

/// No visitor comes here, so nothing ever waits in an event's lanes.
const LANE_BOUND: usize = 1;
/// How often the event is looked at as a whole, at the most: gauges and rules are younger.
const SNAPSHOT_EVERY: Duration = Duration::from_secs(1);
/// How long the answer to the last claim is waited for once the issuer is to end.
const LAST_ANSWER: Duration = Duration::from_secs(2);
/// Between a claim that left something to come by itself and the next, at the least.
const LEAST_REST: Duration = Duration::from_millis(5);

/// Issues for one event until it is stopped; then nothing more is claimed, what is under way gets
/// its time to end, and the rest is given back.
pub async fn serve(shared: Arc<Shared>, name: String, changes: Changes, stop: CancellationToken) {
    let Some(config) = of(&changes, &name) else { return };
    tracing::info!(event = name, "served");
    let event = Event::open(&shared.store, &name, config.rules.clone(), LANE_BOUND);
    let calls = Calls::new(event, shared.clone(), CancellationToken::new());
    let (in_force, issue) = watch::channel(None);
    let concurrency = changes.borrow().issuer.concurrency;
    let issuing = Issuing {
        metrics: shared.metrics.event(&name),
        window: Window::new(concurrency),
        methods: Methods::default(),
        claims: JoinSet::new(),
        calls: calls.clone(),
        changes,
        issue,
        config,
        stop: stop.clone(),
    };
    tokio::join!(issuing.run(), look(&calls, in_force, stop));
    shared.metrics.forget(&name);
    tracing::info!(event = name, "no longer served");
}

/// What the configuration in force says of an event; `None` when it names it no more.
fn of(changes: &Changes, name: &str) -> Option<EventConfig> {
    changes.borrow().events.get(name).cloned()
}

/// Keeps looking at the event as a whole.
async fn look(calls: &Calls, in_force: watch::Sender<Option<Issue>>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let result = calls.event.snapshot().await;
        calls.note("event.snapshot", &result);
        let found = result.is_ok();
        if let Ok(snapshot) = result {
            show(calls, &in_force, &snapshot);
        }
        // At the beginning there is no claim before the first.
        let pause = if found || in_force.borrow().is_some() { SNAPSHOT_EVERY } else { PAUSE.0 };
        tokio::select! {
            () = stop.cancelled() => {}
            () = sleep(jittered(pause)) => {}
        }
    }
}

fn show(calls: &Calls, in_force: &watch::Sender<Option<Issue>>, snapshot: &Snapshot) {
    calls.shared.metrics.gauges.show(calls.event.name(), snapshot);
    let issue = Some(snapshot.rules.issue);
    in_force.send_if_modified(|before| std::mem::replace(before, issue) != issue);
}

/// What the task of an event holds.
struct Issuing {
    calls: Calls,
    metrics: EventMetrics,
    window: Arc<Window>,
    methods: Methods,
    claims: JoinSet<()>,
    changes: Changes,
    /// What it takes to issue, by the rules in force.
    issue: watch::Receiver<Option<Issue>>,
    config: EventConfig,
    stop: CancellationToken,
}

impl Issuing {
    async fn run(mut self) {
        let name = self.calls.event.name().to_owned();
        let wakes = self.calls.shared.store.subscribe(Event::wake_channel(&name));
        let mut waits = true;
        let mut next_look = Instant::now();
        let mut pause = PAUSE.0;
        while !self.stop.is_cancelled() {
            let can_issue = self.refresh_method(&name).is_some();
            let room = self.window.room();
            if waits && room > 0 && can_issue {
                let at_most = room.min(MAX_CLAIM);
                (waits, next_look) = match self.claim(&name, at_most).await {
                    Some((more, next)) => {
                        pause = PAUSE.0;
                        (more, Instant::now() + next.unwrap_or_else(|| self.poll()))
                    }
                    None => {
                        let rest = jittered(pause);
                        pause = (pause * 2).min(PAUSE.1);
                        (false, Instant::now() + rest)
                    }
                };
                if waits {
                    continue;
                }
            }
            let rests_until = self.window.rests_until();
            tokio::select! {
                () = self.stop.cancelled() => {}
                _ = wakes.next() => waits = true,
                () = self.window.changed() => {}
                () = sleep_until(next_look), if !waits => waits = true,
                () = sleep_until(rests_until.unwrap_or(next_look)), if rests_until.is_some() => {}
                Ok(()) = self.issue.changed() => {}
                Ok(()) = self.changes.changed() => self.take_config(&name),
                Some(_) = self.claims.join_next(), if !self.claims.is_empty() => {}
            }
        }
        self.drain().await;
    }

    /// Claims at most so many. Whether more may be claimed at once, and after which time more may
    /// come by itself; `None` if that is unknown.
    async fn claim(&mut self, name: &str, at_most: usize) -> Option<(bool, Option<Duration>)> {
        let event = self.calls.event.clone();
        let claim_name = event.name_claim();
        let ask = || event.claim_as(claim_name, at_most);
        // Until it is answered: what it has claimed would wait for the end of its lease.
        let claimed = tokio::select! {
            claimed = self.calls.retry("event.claim", ask) => claimed?,
            // At the end too, as long as the answer may be on its way.
            () = async { self.stop.cancelled().await; sleep(LAST_ANSWER).await } => return None,
        };
        let more = claimed.pending && claimed.work.len() == at_most;
        let next = claimed.again_in.map(|again| again.clamp(LEAST_REST, self.poll()));
        if !claimed.work.is_empty() {
            // The rules may have changed since they were looked at.
            let method = self.methods.find(name, claimed.issue, &self.config);
            let slots = claimed.work.iter().map(|_| self.window.take()).collect();
            let claim = Claim::new(self.calls.clone(), self.metrics.clone(), claimed, slots);
            self.claims.spawn(claim.run(method));
        }
        Some((more, next))
    }

    /// The method by the rules in force, which decides the size of the window.
    fn refresh_method(&mut self, name: &str) -> Option<Method> {
        let issue = *self.issue.borrow();
        let method = issue.and_then(|issue| self.methods.find(name, issue, &self.config));
        let concurrency = self.changes.borrow().issuer.concurrency;
        // Without a webhook, the next are claimed while the last are finished.
        let ahead = if matches!(method, Some(Method::Finish)) { 2 } else { 1 };
        self.window.set_most(ahead * concurrency);
        method
    }

    /// Until the next look of its own: no later than the kick that may be lost.
    fn poll(&self) -> Duration {
        self.config.rules.kick_interval.mul_f64(rand::rng().random_range(0.75..=1.0))
    }

    fn take_config(&mut self, name: &str) {
        let config: Arc<Config> = self.changes.borrow_and_update().clone();
        // Without it, it has left the configuration and is about to be stopped.
        if let Some(event) = config.events.get(name) {
            self.calls.event.set_rules(event.rules.clone());
            self.config = event.clone();
        }
    }

    /// Lets what is under way end, for as long as there is time, then has the rest given back.
    async fn drain(mut self) {
        let timeout = self.changes.borrow().issuer.drain_timeout;
        let ended = async { while self.claims.join_next().await.is_some() {} };
        if tokio::time::timeout(timeout, ended).await.is_err() {
            self.calls.deadline.cancel();
            while self.claims.join_next().await.is_some() {}
        }
    }
}
