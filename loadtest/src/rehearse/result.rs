//! What a rehearsal has shown: which promises and objectives held, and `rehearse.json`.

use std::collections::BTreeMap;
use std::path::Path;

use anteroom_witness::write_lines;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Rehearse;
use super::counts::{Counts, End, PLACE};
use super::judge::Verdict;
use super::kind::Kind;
use super::room::{Look, RulesInForce};
use super::run::{Over, Ran};
use crate::exit::Outcome;
use crate::load::{Merge as _, Percentiles};
use crate::own_limit::OwnLimit;
use crate::report::{list, name};
use crate::size::objective::Judged;

/// Goes up when a field changes its meaning or is taken away.
const SCHEMA_VERSION: u32 = 2;

/// What the part of one machine has shown.
#[derive(Serialize, Deserialize)]
pub struct Played {
    /// Decides all that is the visitors' own.
    pub seed: u64,
    /// The rules at the beginning; absent where they were not known.
    pub rules: Option<RulesInForce>,
    /// With the waiting room, and then without it.
    pub runs: Vec<Ran>,
}

/// A rehearsal, to be judged.
pub struct Rehearsal<'a> {
    /// Its arguments.
    pub args: &'a Rehearse,
    /// What was seen.
    pub played: &'a Played,
}

impl Played {
    /// Adds what another machine has shown.
    pub fn merge(mut self, other: Self) -> Self {
        for ran in other.runs {
            if let Some(own) = self.runs.iter_mut().find(|own| own.name() == ran.name()) {
                own.merge(ran);
            }
        }
        self
    }

    /// Keeps the record in a folder where a promise was broken.
    pub fn keep_record(&self, folder: &Path) -> std::io::Result<()> {
        let broken = self.runs.iter().find(|ran| ran.over == Over::PromiseBroken);
        let Some(verdict) = broken.and_then(|ran| ran.verdict.as_ref()) else { return Ok(()) };
        let file = std::fs::File::create(folder.join("record.jsonl"))?;
        write_lines(&verdict.record, std::io::BufWriter::new(file))
    }
}

impl Rehearsal<'_> {
    /// The run with a waiting room, and what was found.
    pub fn room(&self) -> Option<(&Ran, &Verdict)> {
        self.played.runs.iter().find_map(|ran| Some((ran, ran.verdict.as_ref()?)))
    }

    /// Promises 1 to 6: whether each held; nothing where it could not be judged.
    pub fn held(&self, counts: &Counts, verdict: &Verdict) -> BTreeMap<u8, Option<bool>> {
        let excused = counts.accepted().count() < counts.fell_for.len();
        // Which of several rules were kept when is not known.
        let known = self.played.rules.as_ref().filter(|_| !verdict.rules_changed);
        let is_judged = |promise| match promise {
            _ if !counts.joins.contains_key(PLACE) => false,
            1 => known.is_some_and(|rules| rules.capacity.is_some()),
            2 => known.is_some_and(|rules| rules.batch.is_some()),
            6 => counts.know_of_forgeries() && !excused && !counts.saw_bypass(),
            _ => true,
        };
        let held = |promise| {
            let kept = verdict.violations.iter().all(|(broken, _)| *broken != promise);
            (promise, (is_judged(promise) || !kept).then_some(kept))
        };
        (1..=6).map(held).collect()
    }

    /// Each objective, over all requests of a run to the protected service.
    pub fn objectives(&self, ran: &Ran) -> impl Iterator<Item = Judged> {
        self.args.slo.iter().map(|objective| objective.judge(&ran.counts.service.total))
    }

    /// The limit of this program in a run, if it was at one. Whether promises were kept it does not
    /// change, so lateness counts only where objectives were to be met.
    pub fn own_limit(&self, ran: &Ran) -> Option<OwnLimit> {
        let [room, service] = [&ran.counts.room.total, &ran.counts.service.total];
        let mut faults = room.faults.clone();
        faults.merge_with(&service.faults);
        let failed_here = OwnLimit::of_faults(&faults, room.requests + service.requests);
        failed_here.or_else(|| ran.cost.limit().filter(|_| !self.args.slo.is_empty()))
    }

    /// How the command ends: a broken promise is one, whatever this program was; objectives say
    /// nothing of the service where this program was the limit.
    pub fn outcome(&self) -> anyhow::Result<Outcome> {
        let broken = self.room().is_some_and(|(_, verdict)| !verdict.violations.is_empty());
        let runs = &self.played.runs;
        let refuses_all = |ran: &&Ran| ran.counts.are_all_refused(ran.visitors);
        if let Some(ran) = runs.iter().find(refuses_all) {
            anyhow::bail!(
                "the waiting room refuses every join: {}. Check --anteroom and --queue, and whether the \
                 queue requires a signed identity",
                list(&ran.counts.joins)
            );
        }
        if broken || runs.iter().any(|ran| ran.counts.ended_as(End::Refused) > 0) {
            return Ok(Outcome::Missed);
        }
        if let Some(limit) = runs.iter().find_map(|ran| self.own_limit(ran)) {
            return Err(limit.into());
        }
        // With both, the objectives are those of the run with the waiting room.
        let missed = |ran| self.objectives(ran).any(|judged| !judged.held);
        let held = !runs.first().is_some_and(missed);
        let complete = runs.iter().all(|ran| ran.over == Over::Complete);
        Ok(if held && complete { Outcome::Held } else { Outcome::Missed })
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let run = |with_room| {
            let ran = self.played.runs.iter().find(|ran| ran.verdict.is_some() == with_room);
            ran.map(|ran| self.run(ran))
        };
        json!({
            "schema_version": SCHEMA_VERSION,
            "seed": self.played.seed,
            "visitors": self.args.visitors,
            "arrive_ms": self.args.arrive.as_secs_f64() * 1e3,
            "mix": self.args.mix.text,
            "polls": name(&self.args.polls),
            "rules": self.played.rules,
            "rules_changed": self.room().is_some_and(|(_, verdict)| verdict.rules_changed),
            "with_room": run(true),
            "without_room": run(false),
        })
    }

    fn run(&self, ran: &Ran) -> Value {
        let counts = &ran.counts;
        json!({
            "over": ran.over,
            "seconds": ran.took.as_secs_f64(),
            "came": counts.came,
            "ended": counts.ended,
            "connections": counts.connections,
            "unfinished": ran.unfinished(),
            "refused": counts.ended_as(End::Refused),
            "served_per_minute": ran.served_per_minute(),
            "service": counts.service.json(),
            "objectives": self.objectives(ran).collect::<Vec<_>>(),
            "room": ran.verdict.as_ref().map(|verdict| self.room_json(ran, verdict)),
            "harness": ran.cost,
            "opened": ran.opened,
            "connection_wait_ms": Percentiles::from(&counts.connection_waits),
            "own_limit": self.own_limit(ran).map(|limit| limit.to_string()),
        })
    }

    /// The waiting room: its line by second, null where there was no answer.
    fn room_json(&self, ran: &Ran, verdict: &Verdict) -> Value {
        let counts = &ran.counts;
        let of_kind = |(kind, count): (&Kind, &u64)| {
            let per_second = *count as f64 / ran.took.as_secs_f64().max(1.0);
            (*kind, json!({ "requests": count, "per_second": per_second }))
        };
        let looks =
            |of: fn(Look) -> u64| counts.looks.iter().map(|look| look.map(of)).collect::<Vec<_>>();
        json!({
            "wait_ms": Percentiles::from(&counts.waits),
            "greatest_depth": counts.greatest_depth(),
            "depth": looks(|look| look.depth),
            "inside": looks(|look| look.inside),
            "traffic": counts.room.json(),
            "by_kind": counts.kinds.iter().map(of_kind).collect::<BTreeMap<_, _>>(),
            "refusals": counts.refusals,
            "joins": counts.joins,
            "tricks": counts.tricks,
            "promises": self.promises(counts, verdict),
        })
    }

    /// The verdict of a run that had a waiting room, for `--follow`.
    pub fn verdict(&self) -> Option<Value> {
        self.room().map(|(Ran { over, took, counts, .. }, verdict)| {
            json!({
                "over": over,
                "seconds": took.as_secs_f64(),
                "came": counts.came,
                "refused": counts.ended_as(End::Refused),
                "connections": counts.connections,
                "promises": self.promises(counts, verdict),
            })
        })
    }

    fn promises(&self, counts: &Counts, verdict: &Verdict) -> Value {
        json!({
            "held": self.held(counts, verdict),
            "violations": verdict.reports(),
            "lines": verdict.lines,
            "most_inside": verdict.most_inside,
            "most_promoted": verdict.most_promoted,
        })
    }
}
