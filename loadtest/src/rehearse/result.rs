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
    /// The run without the waiting room.
    pub without_room: Option<Ran>,
    /// The run with it.
    pub with_room: Option<Ran>,
}

/// A rehearsal, to be judged.
pub struct Rehearsal<'a> {
    /// What was asked for.
    pub args: &'a Rehearse,
    /// What was seen.
    pub played: &'a Played,
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

impl Rehearsal<'_> {
    /// The runs by name, with the waiting room first.
    pub fn runs(&self) -> impl Iterator<Item = (&'static str, &Ran)> {
        let with_room = self.played.with_room.iter().map(|ran| ("with the waiting room", ran));
        let without = self.played.without_room.iter().map(|ran| ("without the waiting room", ran));
        with_room.chain(without)
    }

    /// The run with a waiting room, and what was found.
    pub fn room(&self) -> Option<(&Ran, &Verdict)> {
        self.played.with_room.as_ref().and_then(|ran| Some((ran, ran.verdict.as_ref()?)))
    }

    /// Promises 1 to 6: whether each held; nothing where it could not be judged.
    pub fn held(&self, counts: &Counts, verdict: &Verdict) -> BTreeMap<u8, Option<bool>> {
        let excused = counts.accepted().count() < counts.fell_for.len();
        // Which of several rules were kept when is not known.
        let known = self.played.rules.as_ref().filter(|_| !verdict.rules_changed);
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
        (1..=6).map(held).collect()
    }

    /// Each objective, over all requests of a run to the protected service.
    pub fn objectives(&self, ran: &Ran) -> impl Iterator<Item = Judged> {
        self.args.slo.iter().map(|objective| objective.judge(&ran.counts.service.total))
    }

    /// The limit of this program in a run, if it was at one.
    pub fn own_limit(&self, ran: &Ran) -> Option<OwnLimit> {
        ran.own_limit(!self.args.slo.is_empty())
    }

    /// How the command ends: a broken promise is one, whatever this program was; objectives say
    /// nothing of the service where this program was the limit.
    pub fn outcome(&self) -> anyhow::Result<Outcome> {
        let broken = self.room().is_some_and(|(_, verdict)| !verdict.violations.is_empty());
        let mut runs = self.runs().map(|(_, ran)| ran);
        if broken || self.runs().any(|(_, ran)| ran.counts.ended_as(End::Refused) > 0) {
            return Ok(Outcome::Missed);
        }
        if let Some(limit) = self.runs().find_map(|(_, ran)| self.own_limit(ran)) {
            return Err(limit.into());
        }
        let in_time = self.runs().all(|(_, ran)| ran.over != Over::TimeLimit);
        // With both, the objectives are those of the run with the waiting room.
        let missed = |ran| self.objectives(ran).any(|judged| !judged.held);
        let held = in_time && !runs.next().is_some_and(missed);
        Ok(if held { Outcome::Held } else { Outcome::Missed })
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "schema_version": SCHEMA_VERSION,
            "seed": self.played.seed,
            "visitors": self.args.visitors,
            "arrive_ms": self.args.arrive.as_secs_f64() * 1e3,
            "mix": self.args.mix.text,
            "rules": self.played.rules,
            "rules_changed": self.room().is_some_and(|(_, verdict)| verdict.rules_changed),
            "with_room": self.played.with_room.as_ref().map(|ran| self.run(ran)),
            "without_room": self.played.without_room.as_ref().map(|ran| self.run(ran)),
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
            "room": ran.verdict.as_ref().map(|verdict| self.room_json(counts, verdict)),
            "harness": ran.cost,
            "opened": ran.opened,
            "connection_wait_ms": Percentiles::from(&counts.connection_waits),
            "own_limit": self.own_limit(ran).map(|limit| limit.to_string()),
        })
    }

    /// The waiting room: its line by second, null where there was no answer.
    fn room_json(&self, counts: &Counts, verdict: &Verdict) -> Value {
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
            "promises": self.promises(counts, verdict),
        })
    }

    /// The promises, for programs.
    pub fn promises(&self, counts: &Counts, verdict: &Verdict) -> Value {
        json!({
            "held": self.held(counts, verdict),
            "violations": verdict.reports(),
            "lines": verdict.lines,
            "most_inside": verdict.most_inside,
            "most_promoted": verdict.most_promoted,
        })
    }
}
