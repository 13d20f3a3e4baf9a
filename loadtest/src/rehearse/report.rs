//! The result of a rehearsal, for people.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use crate::durations::format_duration;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::json;

use super::counts::{Counts, End, PLACE, Table, Traffic};
use super::judge::Verdict;
use super::kind::Kind;
use super::result::Rehearsal;
use super::room::Look;
use super::run::{Over, Ran};
use crate::load::{Percentiles, Second, share};
use crate::report::{Curve, Part, Plot, Report, list, name, number};
use crate::size::objective::Judged;

/// Lines on the terminal for a broken promise: what happened, and 3 of the record.
const EVIDENCE: usize = 4;

/// What each promise says, in short.
const PROMISES: [&str; 6] = [
    "Cap: ready and active together at most `capacity`",
    "Rate: at most `batch` promotions in any `interval`",
    "Order: tickets in the order of joins, promotions in the order of tickets",
    "One place: one identity has one place",
    "Nothing lost: no place ends before the time that was returned for it",
    "Yours alone: no forged token is accepted, no visitor passes before it is ready",
];

/// The report as a document.
pub fn document(rehearsal: &Rehearsal<'_>) -> Report {
    let mut report = Report::new("Rehearsal");
    let Rehearsal { args, played } = rehearsal;
    let (visitors, within, mix) = (args.visitors, args.arrive.as_secs_f64(), &args.mix.text);
    let (polls, seed) = (name(&args.polls), played.seed);
    report.text(format!(
        "{visitors} visitors within {within} s, {mix}; --polls {polls}; seed {seed}."
    ));
    if let Some((ran, verdict)) = rehearsal.room() {
        promises(&mut report, rehearsal, &ran.counts, verdict);
        waits(&mut report, &ran.counts);
        if !ran.counts.tricks.is_empty() {
            report.heading("Cheaters");
            table(&mut report, "tried", &ran.counts.tricks);
        }
    }
    let requests = played.runs.iter().any(|ran| ran.counts.service.total.requests > 0);
    if requests || !args.slo.is_empty() {
        service(&mut report, rehearsal);
    }
    for ran in &played.runs {
        visits(&mut report, rehearsal, ran);
    }
    report
}

fn promises(report: &mut Report, rehearsal: &Rehearsal<'_>, counts: &Counts, verdict: &Verdict) {
    report.heading("Promises");
    let held = rehearsal.held(counts, verdict);
    let row = |(text, (number, held)): (_, (_, &Option<bool>))| {
        [format!("{number}. {text}"), says(*held).to_owned()]
    };
    let rows = PROMISES.iter().zip(&held).map(row).collect();
    report.table(["promise", "seen from outside"], rows);
    let limit = |limit: Option<usize>| limit.map_or("no limit".to_owned(), |it| it.to_string());
    if let Some(rules) = &rehearsal.played.rules {
        report.text(format!(
            "Certainly inside at once: {} of {}; certainly promoted within {} s: {} of {}.",
            verdict.most_inside,
            limit(rules.capacity),
            rules.interval_ms as f64 / 1e3,
            verdict.most_promoted,
            limit(rules.batch)
        ));
    }
    if verdict.rules_changed {
        report.text(
            "The rules changed during the run. Promises 1 and 2 are broken only if all of these \
             rules forbid what happened. If not, they are not judged.",
        );
    }
    if held.get(&6) == Some(&None) && !counts.tricks.is_empty() {
        report.text(
            "Promise 6 is not judged: the queue was in bypass, in which every visitor passes, or \
             visitors passed while Redis was down, as on_store_error = \"open\" allows.",
        );
    }
    report.text(format!("{} requests in the record.", verdict.lines));
    if !verdict.violations.is_empty() {
        report.text("The evidence; the whole record is in record.jsonl:");
        report.parts.push(Part::Code(verdict.reports().join("\n\n")));
    }
}

fn waits(report: &mut Report, counts: &Counts) {
    report.heading("Waits");
    let Percentiles { count, p50, p90, p99, max, .. } = (&counts.waits).into();
    let [p50, p90, p99, max] = [p50, p90, p99, max].map(|millis| format!("{:.1} s", millis / 1e3));
    let row = [format!("{count} turns"), p50, p90, p99, max, counts.greatest_depth().to_string()];
    let head = ["from join to turn", "p50", "p90", "p99", "longest", "greatest depth"];
    report.table(head, vec![row]);
    let line = |name, of: fn(&Look) -> u64| {
        curve(name, &counts.looks, |look| look.as_ref().map_or(f64::NAN, |look| of(look) as f64))
    };
    let curves = vec![line("in line", |look| look.depth), line("inside", |look| look.inside)];
    report.plot("rehearse-line", Plot::new("The line", TIME, "visitors", curves));
}

/// Of any run, second by second.
const TIME: &str = "time (s)";

fn curve<T>(name: &str, seconds: &[T], of: impl Fn(&T) -> f64) -> Curve {
    let points = seconds.iter().zip(0_u32..).map(|(second, at)| (f64::from(at), of(second)));
    Curve::new(name, points.collect())
}

/// Counts by two things: a row for each of the one, a column for each of the other that occurs.
fn table<K: ValueEnum, V: Ord + Serialize>(report: &mut Report, what: &str, counts: &Table<K, V>) {
    let columns: BTreeSet<_> = counts.values().flat_map(BTreeMap::keys).collect();
    let row = |(of, counts): (&K, &BTreeMap<V, u64>)| {
        let cells = columns.iter().map(|column| counts.get(column).unwrap_or(&0).to_string());
        iter::once(name(of)).chain(cells).collect()
    };
    let named = |column| json!(column).as_str().unwrap_or_default().replace('_', " ");
    let names: Vec<_> = columns.iter().map(named).collect();
    let head = iter::once(what).chain(names.iter().map(String::as_str));
    report.rows(head.collect(), counts.iter().map(row).collect());
}

fn service(report: &mut Report, rehearsal: &Rehearsal<'_>) {
    report.heading("The protected service");
    let runs = || rehearsal.played.runs.iter().map(|ran| (ran.name(), &ran.counts.service));
    requests(report, runs());
    let curves = |of: fn(&Second) -> f64| {
        runs().map(|(name, traffic)| curve(name, traffic.seconds.over(), of)).collect()
    };
    let latency = curves(|second| second.quantile_ms(0.95));
    let mut latency = Plot::new("Latency of the service", TIME, "p95 (ms)", latency);
    // A second without requests leaves a gap.
    let errors = curves(|Second { requests, errors, .. }| match requests {
        0 => f64::NAN,
        _ => 100.0 * share(*errors, *requests),
    });
    let mut errors = Plot::new("Errors of the service", TIME, "failed requests (%)", errors);
    for objective in &rehearsal.args.slo {
        let name = objective.to_string();
        if let Some(limit) = objective.latency() {
            latency = latency.with_limit(name, limit.as_secs_f64() * 1e3);
        } else if let Some(limit) = objective.share() {
            errors = errors.with_limit(name, 100.0 * limit);
        }
    }
    report.plot("rehearse-latency", latency);
    report.plot("rehearse-errors", errors);
    if !rehearsal.args.slo.is_empty() {
        report.table(["objective", "run", "measured", ""], objectives(rehearsal));
    }
}

/// Of both runs, so that one sees what the waiting room changes.
fn objectives(rehearsal: &Rehearsal<'_>) -> Vec<[String; 4]> {
    let all = rehearsal.played.runs.iter().flat_map(|ran| {
        let total = &ran.counts.service.total;
        rehearsal.objectives(ran).map(|Judged { objective, held, value, .. }| {
            let (value, says) = match objective.share() {
                _ if held => (value, "met"),
                None if total.latency.count() > 0 => (value, "MISSED"),
                Some(_) if total.requests > 0 => (value, "MISSED"),
                _ => ("no request reached the service".to_owned(), "not judged"),
            };
            [objective.to_string(), ran.name().to_owned(), value, says.to_owned()]
        })
    });
    all.collect()
}

fn requests<'a>(report: &mut Report, of: impl Iterator<Item = (&'a str, &'a Traffic)>) {
    let row = |(name, Traffic { total, .. }): (&str, &Traffic)| {
        let errors = format!("{} ({:.2} %)", total.errors(), 100.0 * total.error_share());
        let mut cells = vec![name.to_owned(), total.requests.to_string(), errors];
        cells.extend(Percentiles::from(&total.latency).cells());
        cells
    };
    let head = ["run", "requests", "errors"].into_iter().chain(Percentiles::head());
    report.rows(head.collect(), of.map(row).collect());
}

fn visits(report: &mut Report, rehearsal: &Rehearsal<'_>, ran: &Ran) {
    let Ran { counts, cost, .. } = ran;
    report.heading(format!("Visits {}", ran.name()));
    let (seconds, served) = (ran.took.as_secs_f64(), ran.served_per_minute());
    report.text(format!("{seconds:.1} s, {} arrived; {served:.0} served a minute.", counts.came));
    for remark in remarks(rehearsal, ran) {
        report.text(remark);
    }
    table(report, "habit", &counts.ended);
    if ran.verdict.is_some() {
        requests(report, [("requests to the waiting room", &counts.room)].into_iter());
        let row = |(kind, count): (&Kind, &u64)| {
            let per_second = number(*count as f64 / seconds.max(1.0));
            [name(kind), count.to_string(), per_second]
        };
        let rows = counts.kinds.iter().map(row).collect();
        report.table(["to the waiting room", "requests", "requests/s, mean"], rows);
        if !counts.refusals.is_empty() {
            report.text(format!("Refusals of the waiting room: {}.", list(&counts.refusals)));
        }
        report.text(format!("Its answers by status: {}.", counts.room.total.outcomes()));
        if counts.refusals.contains_key("join_limited") {
            report.text(
                "Joins were limited for each address (join_limited). Does admission trust the \
                 machine of this program (trusted_proxies)?",
            );
        }
    }
    for (kind, delivery) in [("kept", &counts.connections.kept), ("new", &counts.connections.new)] {
        if delivery.requests > 0 {
            report.text(format!("Requests on {kind} connections: {}.", delivery.line()));
        }
    }
    let requests = counts.service.total.requests + counts.room.total.requests;
    report.text(format!(
        "{} It sent {:.0} requests/s on {} connections. Visitors waited {:.0} ms (p95) for a \
         connection, which is in no latency.",
        cost.line(),
        requests as f64 / seconds.max(1.0),
        ran.opened,
        Percentiles::from(&counts.connection_waits).p95
    ));
    if let Some(limit) = rehearsal.own_limit(ran).or_else(|| cost.limit()) {
        report.text(format!("Latencies are those of the harness: {limit}"));
    }
}

/// For the terminal: promises and objectives, with and without the waiting room.
pub fn verdict(rehearsal: &Rehearsal<'_>) -> String {
    let mut lines = Vec::new();
    if let Some((ran, verdict)) = rehearsal.room() {
        for (text, (number, held)) in PROMISES.iter().zip(rehearsal.held(&ran.counts, verdict)) {
            lines.push(format!("promise {number}, {}: {text}", says(held)));
            let evidence = verdict.violations.iter().find(|(broken, _)| *broken == number);
            let evidence = evidence.iter().flat_map(|(_, it)| it.lines().take(EVIDENCE));
            lines.extend(evidence.map(str::to_owned));
        }
        if !verdict.violations.is_empty() {
            lines.push("all evidence: rehearse.md; the whole record: record.jsonl".to_owned());
        }
    }
    for [objective, name, value, says] in objectives(rehearsal) {
        lines.push(format!("{objective} {name}: {says}: {value}"));
    }
    lines.extend(rehearsal.played.runs.iter().flat_map(|ran| remarks(rehearsal, ran)));
    lines.join("\n")
}

/// What a run lacks.
fn remarks(rehearsal: &Rehearsal<'_>, ran: &Ran) -> impl Iterator<Item = String> {
    let (counts, left) = (&ran.counts, ran.unfinished());
    let when = match ran.over {
        Over::TimeLimit => format!("--limit {} was over", format_duration(rehearsal.args.limit)),
        _ => "the run was ended early".to_owned(),
    };
    let (early, refused) = (ran.over != Over::Complete, counts.ended_as(End::Refused));
    let visits = left + counts.over();
    let has_refusals = counts.joins.keys().any(|came| came != PLACE);
    let remarks = [
        (early, format!("{left} of {visits} visits had not ended when {when}")),
        (refused > 0, format!("{refused} visits were refused for good (400, 401, 404 or 405)")),
        (has_refusals, format!("joins: {}", list(&counts.joins))),
    ];
    remarks.into_iter().filter_map(|(is_so, remark)| is_so.then_some(remark))
}

fn says(held: Option<bool>) -> &'static str {
    match held {
        Some(true) => "kept",
        Some(false) => "BROKEN",
        None => "not judged",
    }
}
