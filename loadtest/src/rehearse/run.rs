//! One run: the crowd comes, is looked at each second, and goes.

use std::{sync::Arc, time::Duration};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use serde::{Deserialize, Serialize};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::{
    load::Durations,
    own_limit::{Cost, Watch},
    progress::Progress,
    rehearse::{
        Rehearse, Stage,
        delivery::Deliveries,
        judge::{Verdict, judge},
        mix::Habit,
        room,
        tally::Counts,
        visitor::Visitor,
    },
};

/// Why a run was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// All visits were.
    Complete,
    /// The time was.
    TimeLimit,
    /// A promise was broken.
    PromiseBroken,
    /// By Ctrl-C.
    Interrupted,
}

/// A run that is over, as one machine has seen it.
#[derive(Serialize, Deserialize)]
pub struct Ran {
    /// Why it is over.
    pub over: Over,
    /// How long it took.
    pub took: Duration,
    /// How many were to come.
    pub visitors: u32,
    /// What happened.
    pub counts: Counts,
    /// All requests, by the kind of connection.
    pub connections: Deliveries,
    /// Connections that were opened.
    pub opened: u64,
    /// How long visitors waited for one of them.
    pub waited: Durations,
    /// What it cost this process.
    pub cost: Cost,
    /// Whether other rules than the first were in force at a look.
    pub rules_changed: bool,
    /// What the witness found, with a waiting room.
    pub verdict: Option<Verdict>,
}

impl Ran {
    fn new(stage: &Stage, over: Over, took: Duration, cost: Cost) -> Self {
        let mut counts = std::mem::take(&mut *stage.tally.counts());
        counts.room.end(took);
        counts.service.end(took);
        Self {
            over,
            took,
            visitors: stage.share.of(stage.visitors),
            counts,
            connections: stage.connections.deliveries(),
            opened: stage.opened(),
            waited: stage.connections.waited(),
            cost,
            rules_changed: stage.rules.as_ref().is_some_and(|rules| rules.changed()),
            verdict: None,
        }
    }

    /// Adds what another machine has seen of the same run.
    pub fn merge(&mut self, other: Self) {
        // The worse of both: whatever is not complete.
        if other.over != Over::Complete && self.over != Over::PromiseBroken {
            self.over = other.over;
        }
        self.took = self.took.max(other.took);
        self.visitors += other.visitors;
        self.counts.merge(other.counts);
        self.connections.merge(&other.connections);
        self.opened += other.opened;
        self.waited.merge(&other.waited);
        self.cost = self.cost.or_worse(other.cost);
        self.rules_changed |= other.rules_changed;
        if let Some((own, other)) = self.verdict.as_mut().zip(other.verdict) {
            own.merge(other);
        }
    }
}

/// The crowd goes straight to the service.
pub async fn without_room(
    rehearse: &Rehearse,
    stage: Arc<Stage>,
    seed: u64,
    interrupted: &CancellationToken,
) -> Ran {
    let harness = Watch::start();
    let never = CancellationToken::new();
    let watching = watch("without the room", &stage, None);
    let visit = |visitor: Visitor| visitor.goes_straight();
    let over = crowd(rehearse, &stage, seed, visit, [interrupted, &never]).await;
    let took = stage.tally.elapsed();
    watching.abort();
    Ran::new(&stage, over, took, harness.cost_so_far())
}

/// The crowd goes through the waiting room, under the eyes of the witness.
pub async fn with_room(
    rehearse: &Rehearse,
    stage: Arc<Stage>,
    seed: u64,
    interrupted: &CancellationToken,
) -> Ran {
    let harness = Watch::start();
    let (ended, broken) = (CancellationToken::new(), CancellationToken::new());
    let judging = tokio::spawn(judge(Arc::clone(&stage), ended.clone(), broken.clone()));
    let watching = watch("with the room", &stage, Some(broken.clone()));
    let visit = |visitor: Visitor| visitor.visits();
    let over = crowd(rehearse, &stage, seed, visit, [interrupted, &broken]).await;
    let took = stage.tally.elapsed();
    watching.abort();
    if !stage.tally.counts().fell_for.is_empty() {
        // Whether the gate was to refuse, up to the last trick.
        let last = room::look(&stage.public, &stage.queue).await.ok();
        stage.tally.counts().looks.push(last);
    }
    ended.cancel();
    let verdict = match judging.await {
        Ok(verdict) => verdict,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    };
    let kept = verdict.violations.is_empty() && stage.tally.counts().accepted().next().is_none();
    let over = if kept { over } else { Over::PromiseBroken };
    Ran { verdict: Some(verdict), ..Ran::new(&stage, over, took, harness.cost_so_far()) }
}

/// All come at moments of their own, until the last is done.
async fn crowd<V, F>(
    rehearse: &Rehearse,
    stage: &Arc<Stage>,
    seed: u64,
    visit: V,
    [interrupted, broken]: [&CancellationToken; 2],
) -> Over
where
    V: Fn(Visitor) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let mut random = StdRng::seed_from_u64(seed);
    let mut arrivals: Vec<_> = (0..rehearse.visitors)
        .map(|number| {
            let arrives = rehearse.arrive.mul_f64(random.random());
            (arrives, number, rehearse.mix.choose(&mut random), random.random::<u64>())
        })
        .collect();
    arrivals.retain(|(_, number, ..)| stage.share.plays(*number));
    arrivals.sort_unstable();
    let start = Instant::now();
    let end = start + rehearse.limit;
    let again = rehearse.again;
    let mut visits = JoinSet::new();
    let all = async {
        for (arrives, number, habit, seed) in arrivals {
            sleep_until(start + arrives).await;
            visits.spawn(come(Arc::clone(stage), visit.clone(), number, habit, seed, again));
            while visits.try_join_next().is_some() {}
        }
        while visits.join_next().await.is_some() {}
    };
    let over = tokio::select! {
        in_time = timeout_at(end, all) => {
            if in_time.is_ok() || again { Over::Complete } else { Over::TimeLimit }
        }
        () = interrupted.cancelled() => Over::Interrupted,
        () = broken.cancelled() => Over::PromiseBroken,
    };
    // Their last requests are in the record before anybody reads it.
    visits.shutdown().await;
    over
}

/// A visitor comes; `again` and again others in its place.
async fn come<F: Future<Output = ()>>(
    stage: Arc<Stage>,
    visit: impl Fn(Visitor) -> F,
    number: u32,
    habit: Habit,
    seed: u64,
    again: bool,
) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut next = Some(number);
    while let Some(number) = next {
        visit(Visitor::new(&stage, number, habit, random.random())).await;
        if again {
            // Nor does anybody who is refused at once come at once.
            sleep(Duration::from_secs_f64(random.random_range(0.5..1.5))).await;
        }
        // Behind the numbers of all who are there, and those that cheaters take besides.
        next = number.checked_add(2 * stage.visitors).filter(|_| again);
    }
}

/// Looks at the room each second, where there is one that can break a promise, and says how far the
/// visits have come.
fn watch(
    what: &'static str,
    stage: &Arc<Stage>,
    broken: Option<CancellationToken>,
) -> JoinHandle<()> {
    let stage = Arc::clone(stage);
    let progress = Progress::new(what, stage.share.of(stage.visitors).into());
    tokio::spawn(async move {
        let mut seconds = interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            seconds.tick().await;
            let mut seen = None;
            let fell = !stage.tally.counts().fell_for.is_empty();
            if broken.is_some() {
                let rules = async {
                    if let Some(rules) = &stage.rules {
                        rules.look().await;
                    }
                };
                let look = room::look(&stage.public, &stage.queue);
                seen = tokio::join!(look, rules).0.ok();
            }
            let mut counts = stage.tally.counts();
            // A look that came late stands for the seconds before it.
            let second = usize::try_from(stage.tally.elapsed().as_secs()).unwrap_or(0);
            counts.looks.resize(second, None);
            counts.looks.push(seen);
            // A trick that was tried before a look at which all was well needs no witness.
            if let Some(broken) = broken.as_ref().filter(|_| fell && seen.is_some())
                && counts.accepted().next().is_some()
            {
                broken.cancel();
            }
            let (came, over) = (counts.came.values().sum::<u64>(), counts.over());
            drop(counts);
            progress.at(over, || {
                let look = seen.map_or(String::new(), |it| {
                    format!(", {} in line, {} inside", it.depth, it.inside)
                });
                format!("{came} came, {over} are done{look}")
            });
        }
    })
}
