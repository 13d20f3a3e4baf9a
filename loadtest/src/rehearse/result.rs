//! The result of a rehearsal, for programs.

use std::{collections::BTreeMap, path::Path, time::Duration};

use anteroom_witness::{Rules, write_lines};
use serde::{Deserialize, Serialize};

use crate::{
    exit::Outcome,
    load::Percentiles,
    own_limit::{Cost, OwnLimit},
    rehearse::{
        Rehearse,
        cheat::{Trick, Tried},
        delivery::Deliveries,
        mix::Habit,
        run::{Over, Ran},
        tally::End,
        traffic::TrafficSummary,
    },
    size::objective::Objective,
};

/// Goes up when a field changes its meaning or is taken away.
const SCHEMA_VERSION: u32 = 2;

/// What is known after a rehearsal.
#[derive(Serialize)]
pub struct Rehearsal {
    /// The version of this form.
    pub schema_version: u32,
    /// The number that decides all that is the visitors' own.
    pub seed: u64,
    /// How many were to come, and within which time.
    pub visitors: u32,
    /// Milliseconds.
    pub arrive_ms: u64,
    /// Habits by weight.
    pub mix: String,
    /// The rules at the beginning; absent where they were not known.
    pub rules: Option<RulesInForce>,
    /// Whether others were in force later: then the record was held to what all of them forbid, and
    /// promises 1 and 2 were not judged where it kept that.
    pub rules_changed: bool,
    /// The run without the waiting room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_room: Option<Run>,
    /// The run with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_room: Option<Run>,
}

/// The rules of the queue; durations in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesInForce {
    pub capacity: Option<usize>,
    pub batch: Option<usize>,
    pub interval_ms: u64,
    pub claim_ttl_ms: u64,
    pub session_ttl_ms: u64,
    pub idle_ttl_ms: u64,
    pub first_poll_ttl_ms: u64,
}

/// One run.
#[derive(Serialize)]
pub struct Run {
    /// Why it was over.
    pub over: Over,
    /// How long it took.
    pub seconds: f64,
    /// Visitors that came.
    pub came: u64,
    /// Visits by habit and end.
    pub ended: BTreeMap<Habit, BTreeMap<End, u64>>,
    /// All requests, by the kind of connection, and those that were lost.
    pub connections: Deliveries,
    /// Visits that were not over.
    pub unfinished: u64,
    /// Visits that the room refused for good, for no reason that it has: it answered 400, 401, 404
    /// or 405. Whoever meets a full or closed queue, or a limit, tries again.
    pub refused: u64,
    /// Visitors a minute who did what they came for.
    pub served_per_minute: f64,
    /// The protected service.
    pub service: TrafficSummary,
    /// What it was to hold.
    pub objectives: Vec<Held>,
    /// The waiting room; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<Room>,
    /// What it cost this process.
    pub harness: Cost,
    /// Connections that were opened.
    pub opened: u64,
    /// How long visitors waited for a connection of the harness before they asked, in no latency.
    pub connection_wait_ms: Percentiles,
    /// The limit of this program, if it was at one.
    pub own_limit: Option<String>,
    #[serde(skip)]
    limit: Option<OwnLimit>,
}

/// An objective, over all requests of a run to the protected service.
#[derive(Serialize)]
pub struct Held {
    /// As it was given.
    pub objective: String,
    /// Whether it held.
    pub held: bool,
    /// The figure, as people read it.
    pub value: String,
}

/// What is known of the waiting room.
#[derive(Serialize)]
pub struct Room {
    /// From the join to the turn, in milliseconds, of all who were told theirs.
    pub wait_ms: Percentiles,
    /// The most that stood in line in any second.
    pub greatest_depth: u64,
    /// In line, by second; null where nobody answered.
    pub depth: Vec<Option<u64>>,
    /// Ready or active, by second.
    pub inside: Vec<Option<u64>>,
    /// Requests and their latency.
    pub traffic: TrafficSummary,
    /// Refusals by code.
    pub refusals: BTreeMap<String, u64>,
    /// What cheaters tried.
    pub tricks: BTreeMap<Trick, Tried>,
    /// What the witness found.
    pub promises: Promises,
}

/// What the witness found.
#[derive(Serialize)]
pub struct Promises {
    /// Promises 1 to 6: whether each held; null where it could not be judged.
    pub held: BTreeMap<u8, Option<bool>>,
    /// What broke one, with the lines of the record that prove it.
    pub violations: Vec<String>,
    /// Requests in the record.
    pub lines: usize,
    /// How often it was checked.
    pub checks: u32,
    /// How long the last check, of the whole record, took.
    pub last_check_ms: u64,
    /// Certainly ready or active at once.
    pub most_inside: usize,
    /// Certainly promoted within one interval.
    pub most_promoted: usize,
}

impl Rehearsal {
    /// Of a run that is about to begin.
    pub fn new(rehearse: &Rehearse, seed: u64, rules: Option<RulesInForce>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            seed,
            visitors: rehearse.visitors,
            arrive_ms: millis(rehearse.arrive),
            mix: rehearse.mix.to_string(),
            rules,
            rules_changed: false,
            without_room: None,
            with_room: None,
        }
    }

    /// The runs, each with its name.
    pub fn runs(&self) -> impl Iterator<Item = (&'static str, &Run)> {
        let names = ["with the waiting room", "without the waiting room"];
        let runs = [&self.with_room, &self.without_room];
        names.into_iter().zip(runs).filter_map(|(name, run)| Some((name, run.as_ref()?)))
    }

    /// Adds a run; where a promise was broken the record is kept in the folder.
    ///
    /// # Errors
    ///
    /// When the record cannot be written.
    pub fn add(&mut self, ran: &Ran, slo: &[Objective], folder: &Path) -> std::io::Result<()> {
        let broken = ran.over == Over::PromiseBroken;
        if let Some(verdict) = ran.verdict.as_ref().filter(|_| broken) {
            let file = std::fs::File::create(folder.join("record.jsonl"))?;
            write_lines(&verdict.record, std::io::BufWriter::new(file))?;
        }
        let with_room = ran.verdict.is_some();
        self.rules_changed |= ran.rules_changed;
        let run = Run::new(ran, slo, self.rules.as_ref(), self.rules_changed);
        *(if with_room { &mut self.with_room } else { &mut self.without_room }) = Some(run);
        Ok(())
    }

    /// How the command ends: a broken promise is one, whatever this program was; objectives say
    /// nothing of the service where this program was the limit.
    ///
    /// # Errors
    ///
    /// [`OwnLimit`].
    pub fn outcome(&self) -> anyhow::Result<Outcome> {
        let runs = || [&self.without_room, &self.with_room].into_iter().flatten();
        let kept = runs().all(|run| {
            let held = run.room.iter().flat_map(|room| room.promises.held.values());
            run.refused == 0 && held.into_iter().all(|it| *it != Some(false))
        });
        if !kept {
            return Ok(Outcome::Missed);
        }
        if let Some(limit) = runs().find_map(|run| run.limit.clone()) {
            return Err(limit.into());
        }
        let judged = self.with_room.as_ref().or(self.without_room.as_ref());
        let mut objectives = judged.into_iter().flat_map(|run| &run.objectives);
        let in_time = runs().all(|run| run.over != Over::TimeLimit);
        let held = in_time && objectives.all(|objective| objective.held);
        Ok(if held { Outcome::Held } else { Outcome::Missed })
    }
}

impl From<&Rules> for RulesInForce {
    fn from(rules: &Rules) -> Self {
        Self {
            capacity: rules.capacity,
            batch: rules.batch,
            interval_ms: millis(rules.interval),
            claim_ttl_ms: millis(rules.claim_ttl),
            session_ttl_ms: millis(rules.session_ttl),
            idle_ttl_ms: millis(rules.idle_ttl),
            first_poll_ttl_ms: millis(rules.first_poll_ttl),
        }
    }
}

impl Run {
    fn new(
        ran: &Ran,
        slo: &[Objective],
        rules: Option<&RulesInForce>,
        rules_changed: bool,
    ) -> Self {
        let counts = &ran.counts;
        let came = counts.came.values().sum();
        let seconds = ran.took.as_secs_f64();
        let held = |objective: &Objective| {
            let judged = objective.judge(&counts.service.total);
            Held { objective: objective.to_string(), held: judged.held, value: judged.value }
        };
        let limit = limit(ran, !slo.is_empty());
        let room = ran.verdict.as_ref().map(|verdict| {
            let looks = || counts.looks.iter();
            let mut violations: Vec<_> = verdict.violations.clone();
            violations.extend(counts.accepted().map(|fell_for| (6, fell_for.report())));
            let excused = counts.accepted().count() < counts.fell_for.len();
            let judged = |promise| match (promise, rules) {
                (1, None | Some(RulesInForce { capacity: None, .. })) => false,
                (2, None | Some(RulesInForce { batch: None, .. })) => false,
                // What both forbid was kept; what each of them did nobody knows.
                (1 | 2, _) => !rules_changed,
                (6, _) => counts.know_of_forgeries() && !excused && !counts.saw_bypass(),
                _ => true,
            };
            let held = |promise| {
                let kept = violations.iter().all(|(broken, _)| *broken != promise);
                (judged(promise) || !kept).then_some(kept)
            };
            Room {
                wait_ms: (&counts.waits).into(),
                greatest_depth: looks().flatten().map(|look| look.depth).max().unwrap_or(0),
                depth: looks().map(|look| look.map(|it| it.depth)).collect(),
                inside: looks().map(|look| look.map(|it| it.inside)).collect(),
                traffic: counts.room.summary(),
                refusals: counts.refusals.clone(),
                tricks: counts.tricks.clone(),
                promises: Promises {
                    held: (1..=6).map(|promise| (promise, held(promise))).collect(),
                    violations: violations.iter().map(|(_, report)| report.clone()).collect(),
                    lines: verdict.lines,
                    checks: verdict.checks,
                    last_check_ms: millis(verdict.last_check),
                    most_inside: verdict.most_inside,
                    most_promoted: verdict.most_promoted,
                },
            }
        });
        Self {
            over: ran.over,
            seconds,
            came,
            ended: counts.ended.clone(),
            refused: counts.ended_as(End::Refused),
            connections: ran.connections.clone(),
            unfinished: came.max(ran.visitors.into()).saturating_sub(counts.over()),
            served_per_minute: 60.0 * counts.ended_as(End::Served) as f64 / seconds.max(1.0),
            service: counts.service.summary(),
            objectives: slo.iter().map(held).collect(),
            room,
            harness: ran.cost,
            opened: ran.opened,
            connection_wait_ms: (&ran.waited).into(),
            own_limit: limit.as_ref().map(ToString::to_string),
            limit,
        }
    }
}

/// The limit of this program in a run, if it was at one. Whether promises were kept it does not
/// change, so lateness counts only where objectives were to be met.
fn limit(ran: &Ran, has_objectives: bool) -> Option<OwnLimit> {
    let [room, service] = [&ran.counts.room.total, &ran.counts.service.total];
    let mut all = room.clone();
    all.merge(service);
    let late = || ran.cost.limit().filter(|_| has_objectives);
    OwnLimit::of_faults(&all.faults, all.requests).or_else(late)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
