//! What a rehearsal has shown: which promises and objectives held, and `rehearse.json`.

use std::collections::BTreeMap;
use std::path::Path;

use anteroom_witness::write_lines;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Rehearse;
use super::counts::{Counts, End};
use super::judge::Verdict;
use super::room::{Look, RulesInForce};
use super::run::{Over, Ran};
use crate::exit::Outcome;
use crate::load::Percentiles;
use crate::own_limit::OwnLimit;
use crate::size::objective::{Judged, Objective};

/// Goes up when a field changes its meaning or is taken away.
const SCHEMA_VERSION: u32 = 2;

/// What the part of one machine has shown.
#[derive(Serialize, Deserialize)]
pub struct Played {
    /// Decides all that is the visitors' own.
    pub seed: u64,
    /// The rules at the beginning; absent where they were not known.
    pub rules: Option<RulesInForce>,
    /// The run without the waiting room.
    pub without_room: Option<Ran>,
    /// The run with it.
    pub with_room: Option<Ran>,
}

/// A rehearsal and its judgement.
pub struct Rehearsal<'a> {
    /// What was asked for.
    pub args: &'a Rehearse,
    /// What was seen.
    pub played: &'a Played,
    /// The runs, with the waiting room first.
    pub runs: Vec<Run<'a>>,
}

/// A run and its judgement.
pub struct Run<'a> {
    /// In the JSON.
    key: &'static str,
    /// For people.
    pub name: &'static str,
    /// What was seen.
    pub ran: &'a Ran,
    /// Each objective, over all requests to the protected service.
    pub objectives: Vec<(&'a Objective, Judged)>,
    /// Absent without a waiting room.
    pub promises: Option<Promises<'a>>,
    /// The limit of this program, if it was at one.
    pub own_limit: Option<OwnLimit>,
}

/// The promises as they were seen from outside.
pub struct Promises<'a> {
    /// What was found.
    pub verdict: &'a Verdict,
    /// Promises 1 to 6: whether each held; nothing where it could not be judged.
    pub held: BTreeMap<u8, Option<bool>>,
}

impl Played {
    /// Adds what another machine has shown.
    pub fn merge(mut self, other: Self) -> Self {
        let with_room = (&mut self.with_room, other.with_room);
        for (own, other) in [(&mut self.without_room, other.without_room), with_room] {
            if let Some((own, other)) = own.as_mut().zip(other) {
                own.merge(other);
            }
        }
        self
    }

    /// Keeps the record in a folder where a promise was broken.
    pub fn keep_record(&self, folder: &Path) -> std::io::Result<()> {
        let broken = self.with_room.as_ref().filter(|ran| ran.over == Over::PromiseBroken);
        let Some(verdict) = broken.and_then(|ran| ran.verdict.as_ref()) else { return Ok(()) };
        let file = std::fs::File::create(folder.join("record.jsonl"))?;
        write_lines(&verdict.record, std::io::BufWriter::new(file))
    }
}

impl<'a> Rehearsal<'a> {
    /// Judges what was seen.
    pub fn new(args: &'a Rehearse, played: &'a Played) -> Self {
        let runs = [
            ("with_room", "with the waiting room", &played.with_room),
            ("without_room", "without the waiting room", &played.without_room),
        ];
        let judge = |(key, name, ran): (_, _, &'a Option<Ran>)| {
            let ran = ran.as_ref()?;
            let judged =
                |objective: &'a Objective| (objective, objective.judge(&ran.counts.service.total));
            let rules = played.rules.as_ref();
            let promises = ran.verdict.as_ref();
            let promises = promises.map(|verdict| Promises::new(verdict, &ran.counts, rules));
            let objectives = args.slo.iter().map(judged).collect();
            let own_limit = ran.own_limit(!args.slo.is_empty());
            Some(Run { key, name, ran, objectives, promises, own_limit })
        };
        Self { args, played, runs: runs.into_iter().filter_map(judge).collect() }
    }

    /// The run with a waiting room, and its promises.
    pub fn room(&self) -> Option<(&Ran, &Promises<'a>)> {
        self.runs.iter().find_map(|run| Some((run.ran, run.promises.as_ref()?)))
    }

    /// How the command ends: a broken promise is one, whatever this program was; objectives say
    /// nothing of the service where this program was the limit.
    pub fn outcome(&self) -> anyhow::Result<Outcome> {
        let broken = self.room().is_some_and(|(_, it)| !it.verdict.violations.is_empty());
        if broken || self.runs.iter().any(|run| run.ran.counts.ended_as(End::Refused) > 0) {
            return Ok(Outcome::Missed);
        }
        if let Some(limit) = self.runs.iter().find_map(|run| run.own_limit.clone()) {
            return Err(limit.into());
        }
        // With both, the objectives are those of the run with the waiting room.
        let mut objectives = self.runs.iter().take(1).flat_map(|run| &run.objectives);
        let in_time = self.runs.iter().all(|run| run.ran.over != Over::TimeLimit);
        let held = in_time && objectives.all(|(_, judged)| judged.held);
        Ok(if held { Outcome::Held } else { Outcome::Missed })
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let mut json = json!({
            "schema_version": SCHEMA_VERSION,
            "seed": self.played.seed,
            "visitors": self.args.visitors,
            "arrive_ms": self.args.arrive.as_secs_f64() * 1e3,
            "mix": self.args.mix.to_string(),
            "rules": self.played.rules,
            "rules_changed": self.room().is_some_and(|(_, it)| it.verdict.rules_changed),
        });
        for run in &self.runs {
            json[run.key] = run.json();
        }
        json
    }
}

impl Run<'_> {
    fn json(&self) -> Value {
        let Ran { counts, .. } = self.ran;
        let objective = |(objective, judged): &(&Objective, Judged)| {
            json!({
                "objective": objective.to_string(), "held": judged.held, "value": judged.value,
            })
        };
        json!({
            "over": self.ran.over,
            "seconds": self.ran.took.as_secs_f64(),
            "came": counts.all_came(),
            "ended": counts.ended,
            "connections": counts.connections,
            "unfinished": self.ran.unfinished(),
            "refused": counts.ended_as(End::Refused),
            "served_per_minute": self.ran.served_per_minute(),
            "service": counts.service.json(),
            "objectives": self.objectives.iter().map(objective).collect::<Vec<_>>(),
            "room": self.promises.as_ref().map(|promises| room(counts, promises)),
            "harness": self.ran.cost,
            "opened": self.ran.opened,
            "connection_wait_ms": Percentiles::from(&counts.connection_waits),
            "own_limit": self.own_limit.as_ref().map(ToString::to_string),
        })
    }
}

/// The waiting room: its line by second, null where there was no answer.
fn room(counts: &Counts, promises: &Promises<'_>) -> Value {
    let looks =
        |of: fn(Look) -> u64| counts.looks.iter().map(|look| look.map(of)).collect::<Vec<_>>();
    json!({
        "wait_ms": Percentiles::from(&counts.waits),
        "greatest_depth": counts.greatest_depth(),
        "depth": looks(|look| look.depth),
        "inside": looks(|look| look.inside),
        "traffic": counts.room.json(),
        "refusals": counts.refusals,
        "tricks": counts.tricks,
        "promises": promises.json(),
    })
}

impl<'a> Promises<'a> {
    fn new(verdict: &'a Verdict, counts: &Counts, rules: Option<&RulesInForce>) -> Self {
        let excused = counts.accepted().count() < counts.fell_for.len();
        // Which of several rules were kept when is not known.
        let known = rules.filter(|_| !verdict.rules_changed);
        let is_judged = |promise| match promise {
            1 => known.is_some_and(|rules| rules.capacity.is_some()),
            2 => known.is_some_and(|rules| rules.batch.is_some()),
            6 => counts.know_of_forgeries() && !excused && !counts.saw_bypass(),
            _ => true,
        };
        let held = |promise| {
            let kept = verdict.violations.iter().all(|(broken, _)| *broken != promise);
            (promise, (is_judged(promise) || !kept).then_some(kept))
        };
        Self { verdict, held: (1..=6).map(held).collect() }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "held": self.held,
            "violations": self.verdict.reports(),
            "lines": self.verdict.lines,
            "checks": self.verdict.checks,
            "last_check_ms": self.verdict.last_check.as_secs_f64() * 1e3,
            "most_inside": self.verdict.most_inside,
            "most_promoted": self.verdict.most_promoted,
        })
    }
}
