//! One run: the crowd comes, is looked at each second, and goes.

use std::convert::Infallible;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::counts::{Counts, End};
use super::judge::{Verdict, judge};
use super::mix::Habit;
use super::visitor::Visitor;
use super::{Stage, follow_line};
use crate::own_limit::{Cost, Watch};
use crate::progress::Progress;

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
    /// By Ctrl-C, or as every join was refused.
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
    /// Connections that were opened, to the room and to the service.
    pub opened: u64,
    /// What it cost this process.
    pub cost: Cost,
    /// What the witness found, with a waiting room.
    pub verdict: Option<Verdict>,
}

impl Ran {
    /// Adds what another machine has seen of the same run.
    pub fn merge(&mut self, other: Self) {
        // The worse of both: whatever is not complete.
        if other.over != Over::Complete && self.over != Over::PromiseBroken {
            self.over = other.over;
        }
        self.took = self.took.max(other.took);
        self.visitors += other.visitors;
        self.counts.merge(other.counts);
        self.opened += other.opened;
        self.cost = self.cost.or_worse(other.cost);
        if let Some((own, other)) = self.verdict.as_mut().zip(other.verdict) {
            own.merge(other);
        }
    }

    /// Which of two runs it is.
    pub fn name(&self) -> &'static str {
        if self.verdict.is_some() { "with the waiting room" } else { "without the waiting room" }
    }

    /// Visits that were not over.
    pub fn unfinished(&self) -> u64 {
        let visits = self.counts.came.max(self.visitors.into());
        visits.saturating_sub(self.counts.over())
    }

    /// Visitors a minute who did what they came for.
    pub fn served_per_minute(&self) -> f64 {
        60.0 * self.counts.ended_as(End::Served) as f64 / self.took.as_secs_f64().max(1.0)
    }
}

/// The crowd goes straight to the service, or through the waiting room under the eyes of the
/// witness.
pub async fn play(stage: &Arc<Stage>, seed: u64, interrupted: &CancellationToken) -> Ran {
    let (harness, opened_before) = (Watch::start(), stage.site.opened());
    // A broken promise ends the visits as Ctrl-C does.
    let (ended, broken) = (CancellationToken::new(), interrupted.child_token());
    let visits = async {
        let follows = stage.with_room && stage.args.follow;
        let over = tokio::select! {
            over = crowd(stage, seed, &broken) => over,
            never = watch(stage, &broken) => match never {},
            never = follow(stage), if follows => match never {},
        };
        let took = stage.elapsed();
        if !stage.counts().fell_for.is_empty() {
            // Whether the gate was to refuse, up to the last trick.
            let last = stage.look().await;
            stage.counts().looks.push(last);
        }
        ended.cancel();
        (over, took)
    };
    let judging =
        async { if stage.with_room { Some(judge(stage, &ended, &broken).await) } else { None } };
    let ((mut over, took), mut verdict) = tokio::join!(visits, judging);
    let mut counts = std::mem::take(&mut *stage.counts());
    counts.room.end(took);
    counts.service.end(took);
    if let Some(Verdict { violations, .. }) = &mut verdict {
        violations.extend(counts.accepted().map(|fell_for| (6, fell_for.report())));
        if !violations.is_empty() {
            over = Over::PromiseBroken;
        }
    }
    let (visitors, cost) = (stage.visitors(), harness.cost_so_far());
    let opened = stage.site.opened() - opened_before;
    Ran { over, took, visitors, counts, opened, cost, verdict }
}

/// All come at moments of their own, until the last is done.
async fn crowd(stage: &Arc<Stage>, seed: u64, interrupted: &CancellationToken) -> Over {
    let args = &stage.args;
    let mut random = StdRng::seed_from_u64(seed);
    let mut arrivals: Vec<_> = (0..args.visitors)
        .map(|number| {
            let arrives = args.arrive.mul_f64(random.random());
            (arrives, number, args.mix.choose(&mut random), random.random::<u64>())
        })
        .collect();
    arrivals.retain(|(_, number, ..)| args.share.part().plays(*number));
    arrivals.sort_unstable();
    let start = Instant::now();
    let mut visits = JoinSet::new();
    let all = async {
        for (arrives, number, habit, seed) in arrivals {
            sleep_until(start + arrives).await;
            visits.spawn(come(Arc::clone(stage), number, habit, seed));
            while visits.try_join_next().is_some() {}
        }
        while visits.join_next().await.is_some() {}
    };
    let over = tokio::select! {
        in_time = timeout_at(start + args.limit, all) => {
            if in_time.is_ok() { Over::Complete } else { Over::TimeLimit }
        }
        () = interrupted.cancelled() => Over::Interrupted,
    };
    // What is under way is answered first: a join may be given a place.
    let _none = timeout(Duration::from_secs(1), stage.asking.write()).await;
    visits.shutdown().await;
    if args.again { Over::Complete } else { over }
}

/// A visitor comes; `again` and again others in its place.
async fn come(stage: Arc<Stage>, number: u32, habit: Habit, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    // Behind the numbers of all who are there, and those that cheaters take besides.
    let next = |number: &u32| number.checked_add(2 * stage.args.visitors);
    for number in iter::successors(Some(number), next) {
        Visitor::new(&stage, number, habit, random.random()).visits().await;
        if !stage.args.again {
            return;
        }
        // Nor does a visitor who is refused at once come at once.
        sleep(Duration::from_secs_f64(random.random_range(0.5..1.5))).await;
    }
}

/// Looks at the room each second, where there is one that can break a promise, and says how far the
/// visits have come.
async fn watch(stage: &Stage, broken: &CancellationToken) -> Infallible {
    let what = if stage.with_room { "with the waiting room" } else { "without the waiting room" };
    let progress = Progress::new(what, stage.visitors().into());
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        seconds.tick().await;
        let fell = !stage.counts().fell_for.is_empty();
        let seen = if stage.with_room { stage.look().await } else { None };
        let mut counts = stage.counts();
        // A look that came late counts for the seconds before it.
        let second = usize::try_from(stage.elapsed().as_secs()).unwrap_or(0);
        counts.looks.resize(second, None);
        counts.looks.push(seen);
        // A trick that was tried before a look at which all was well needs no witness.
        let fell = fell && seen.is_some() && counts.accepted().next().is_some();
        if fell || counts.are_all_refused(stage.visitors()) {
            broken.cancel();
        }
        let (came, over) = (counts.came, counts.over());
        drop(counts);
        let look = seen.map(|it| format!(", {} in line, {} inside", it.depth, it.inside));
        let look = look.unwrap_or_default();
        progress.at(over, || format!("{came} arrived, {over} are done{look}"));
    }
}

/// With `--follow`, writes each second what has happened: times in milliseconds since the start,
/// `depth` and `inside` at the last look, and the promotions that visitors have learnt of since the
/// last line.
async fn follow(stage: &Stage) -> Infallible {
    let second = || {
        let mut counts = stage.counts();
        let last = counts.looks.last().copied().flatten();
        json!({
            "at_ms": stage.record.now() / 1_000,
            "came": counts.came,
            "over": counts.over(),
            "depth": last.map(|look| look.depth),
            "inside": last.map(|look| look.inside),
            "connections": counts.connections,
            "promoted_ms": std::mem::take(&mut counts.promoted_ms),
        })
    };
    let mut seconds = interval(Duration::from_secs(1));
    loop {
        seconds.tick().await;
        follow_line(&second());
    }
}
