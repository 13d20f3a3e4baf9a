//! The result of a rehearsal, for people.

use crate::{
    load::{Percentiles, share},
    rehearse::{
        mix::Habit,
        result::{Held, Rehearsal, Room, Run},
        run::Over,
        tally::End,
        traffic::{SecondSummary, TrafficSummary},
    },
    report::{Curve, Plot, Report},
};

/// What each promise says, in short.
const PROMISES: [&str; 6] = [
    "Cap: ready and active together at most `capacity`",
    "Rate: at most `batch` promotions in any `interval`",
    "Order: tickets in the order of joins, promotions in the order of tickets",
    "One place: one identity has one place",
    "Nothing lost: a place stands until what was told",
    "Yours alone: no forged token is taken, nobody passes the gate without a turn",
];

/// The report as a document.
pub fn document(rehearsal: &Rehearsal) -> Report {
    let mut report = Report::new("Rehearsal");
    report.text(format!(
        "{} visitors within {} s, {}; seed {}.",
        rehearsal.visitors,
        rehearsal.arrive_ms as f64 / 1e3,
        rehearsal.mix,
        rehearsal.seed
    ));
    let runs: Vec<_> = rehearsal.runs().collect();
    if let Some(room) = rehearsal.with_room.as_ref().and_then(|run| run.room.as_ref()) {
        promises(&mut report, rehearsal, room);
        waits(&mut report, room);
        cheaters(&mut report, room);
    }
    if runs.iter().any(|(_, run)| run.service.requests > 0) {
        service(&mut report, &runs);
        objectives(&mut report, &runs);
    }
    for (name, run) in &runs {
        visits(&mut report, name, run);
    }
    report
}

fn promises(report: &mut Report, rehearsal: &Rehearsal, room: &Room) {
    report.heading("Promises");
    let rows = PROMISES
        .iter()
        .zip(&room.promises.held)
        .map(|(text, (number, held))| [format!("{number}. {text}"), says(*held).to_owned()]);
    report.table(["promise", "seen from outside"], rows.collect());
    let limit = |limit: Option<usize>| limit.map_or("no limit".to_owned(), |it| it.to_string());
    if let Some(rules) = &rehearsal.rules {
        report.text(format!(
            "Certainly inside at once: {} of {}; certainly promoted within {} s: {} of {}.",
            room.promises.most_inside,
            limit(rules.capacity),
            rules.interval_ms as f64 / 1e3,
            room.promises.most_promoted,
            limit(rules.batch)
        ));
    }
    if rehearsal.rules_changed {
        report.text(
            "The rules were changed while it ran: it was held to what all of them forbid. Promises 1 \
             and 2 are not judged where that was kept.",
        );
    }
    if room.promises.held.get(&6) == Some(&None) && !room.tricks.is_empty() {
        report.text(
            "Promise 6 is not judged: the queue was in bypass, where everybody passes, or the room \
             let pass while it was without its store, as on_store_error = \"open\" says.",
        );
    }
    report.text(format!(
        "{} requests in the record, checked {} times; the last check took {} ms.",
        room.promises.lines, room.promises.checks, room.promises.last_check_ms
    ));
    if !room.promises.violations.is_empty() {
        report.text("What broke them; the whole record is in record.jsonl:");
        report.parts.push(crate::report::Part::Code(room.promises.violations.join("\n\n")));
    }
}

fn waits(report: &mut Report, room: &Room) {
    report.heading("Waits");
    let wait = room.wait_ms;
    let seconds = |millis: f64| format!("{:.1} s", millis / 1_000.0);
    report.table(
        ["from join to turn", "p50", "p90", "p99", "longest", "greatest depth"],
        vec![[
            format!("{} turns", wait.count),
            seconds(wait.p50),
            seconds(wait.p90),
            seconds(wait.p99),
            seconds(wait.max),
            room.greatest_depth.to_string(),
        ]],
    );
    let curve = |name: &str, looks: &[Option<u64>]| {
        let points = looks
            .iter()
            .zip(0_u32..)
            .map(|(look, at)| (f64::from(at), look.map_or(f64::NAN, |it| it as f64)));
        Curve::new(name, points.collect())
    };
    report.plot(
        "rehearse-line",
        Plot::new(
            "The line",
            "time (s)",
            "visitors",
            vec![curve("in line", &room.depth), curve("inside", &room.inside)],
        ),
    );
}

fn cheaters(report: &mut Report, room: &Room) {
    if room.tricks.is_empty() {
        return;
    }
    report.heading("Cheaters");
    let rows = room.tricks.iter().map(|(trick, tried)| {
        [
            trick.name().to_owned(),
            tried.tried.to_string(),
            tried.refused.to_string(),
            tried.turn_had_come.to_string(),
            tried.accepted.to_string(),
        ]
    });
    report.table(["tried", "times", "refused", "turn had come", "accepted"], rows.collect());
}

fn service(report: &mut Report, runs: &[(&str, &Run)]) {
    report.heading("The protected service");
    let rows = runs.iter().map(|(name, run)| traffic(name, &run.service));
    table(report, rows.collect());
    let curves = |value: &dyn Fn(&SecondSummary) -> Option<f64>| {
        let curve = |(name, run): &(&str, &Run)| {
            let points = run.service.seconds.iter().zip(0_u32..);
            let point = |(second, at)| (f64::from(at), value(second).unwrap_or(f64::NAN));
            Curve::new(*name, points.map(point).collect())
        };
        runs.iter().map(curve).collect()
    };
    let time = "time (s)";
    report.plot(
        "rehearse-latency",
        Plot::new("Latency of the service", time, "p95 (ms)", curves(&|second| second.p95_ms)),
    );
    let errors = |second: &SecondSummary| {
        (second.requests > 0).then(|| 100.0 * share(second.errors, second.requests))
    };
    report.plot(
        "rehearse-errors",
        Plot::new("Errors of the service", time, "failed requests (%)", curves(&errors)),
    );
}

/// The table shows both runs, so that one sees what the waiting room changes.
fn objectives(report: &mut Report, runs: &[(&str, &Run)]) {
    let row = |(name, run): &(&str, &Run)| {
        let row = |held: &Held| {
            let says = if held.held { "held" } else { "MISSED" };
            [held.objective.clone(), (*name).to_owned(), held.value.clone(), says.to_owned()]
        };
        run.objectives.iter().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<_> = runs.iter().flat_map(row).collect();
    if !rows.is_empty() {
        report.table(["objective", "run", "measured", ""], rows);
    }
}

fn table(report: &mut Report, rows: Vec<Vec<String>>) {
    let head = ["run", "requests", "errors"].into_iter().chain(Percentiles::HEAD);
    report.rows(head.collect(), rows);
}

fn traffic(name: &str, traffic: &TrafficSummary) -> Vec<String> {
    let errors = format!("{} ({:.2} %)", traffic.errors, 100.0 * traffic.error_share);
    let mut cells = vec![name.to_owned(), traffic.requests.to_string(), errors];
    cells.extend(traffic.latency_ms.cells());
    cells
}

fn visits(report: &mut Report, name: &str, run: &Run) {
    report.heading(format!("Visits {name}"));
    let over = match run.over {
        Over::Complete => "all visits were over",
        Over::TimeLimit => "the time limit ended it",
        Over::PromiseBroken => "a broken promise ended it",
        Over::Interrupted => "it was interrupted",
    };
    report.text(format!(
        "{:.1} s, {over}; {} came, {} were not done; {:.0} served a minute.",
        run.seconds, run.came, run.unfinished, run.served_per_minute
    ));
    if run.refused > 0 {
        report.text(format!(
            "{} visits were refused for good (400, 401, 404 or 405), for no fault of the visitors: \
             the run has not held. A full or closed queue, or a limit, ends no visit.",
            run.refused
        ));
    }
    let ends = [End::Served, End::Failed, End::GaveUp, End::DroppedOut, End::NoShow, End::Refused];
    let rows = Habit::all().filter_map(|habit| {
        let ended = run.ended.get(&habit)?;
        let [served, failed, gave_up, dropped, no_show, refused] =
            ends.map(|end| ended.get(&end).unwrap_or(&0).to_string());
        Some([habit.to_string(), served, failed, gave_up, dropped, no_show, refused])
    });
    let head =
        ["habit", "served", "failed", "gave up", "dropped out", "did not show up", "refused"];
    report.table(head, rows.collect());
    if let Some(room) = &run.room {
        table(report, vec![traffic("requests to the room", &room.traffic)]);
        if !room.refusals.is_empty() {
            report.text(format!("Refusals by the room: {}.", list(&room.refusals)));
        }
        report.text(format!("Its answers by status: {}.", list(&room.traffic.statuses)));
        if !room.traffic.faults.is_empty() {
            report.text(format!("Requests to it that failed: {}.", list(&room.traffic.faults)));
        }
        if room.refusals.contains_key("join_limited") {
            report.text(
                "Joins were limited by address (join_limited): does admission trust the machine \
                 this ran on (trusted_proxies)?",
            );
        }
    }
    for (kind, delivery) in [("kept", &run.connections.kept), ("new", &run.connections.new)] {
        if delivery.requests > 0 {
            report.text(format!("Requests on {kind} connections: {}.", delivery.line()));
        }
    }
    let requests = run.service.requests + run.room.as_ref().map_or(0, |it| it.traffic.requests);
    report.text(format!(
        "{} It sent {:.0} requests/s on {} connections, for which visitors waited {:.0} ms (p95), in \
         no latency.",
        run.harness.line(),
        requests as f64 / run.seconds.max(1.0),
        run.opened,
        run.connection_wait_ms.p95
    ));
    if let Some(limit) = run.own_limit.clone().or(run.harness.limit().map(|it| it.to_string())) {
        report.text(format!("Latencies are those of the harness: {limit}"));
    }
}

fn list<K: std::fmt::Display>(counts: &std::collections::BTreeMap<K, u64>) -> String {
    let counts = counts.iter().map(|(what, count)| format!("{what}: {count}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// For the terminal: promises and objectives, with and without the waiting room.
pub fn verdict(rehearsal: &Rehearsal) -> String {
    let mut lines = Vec::new();
    if let Some(room) = rehearsal.with_room.as_ref().and_then(|run| run.room.as_ref()) {
        for (text, (number, held)) in PROMISES.iter().zip(&room.promises.held) {
            lines.push(format!("promise {number}, {}: {text}", says(*held)));
        }
        lines.extend(room.promises.violations.iter().take(3).cloned());
    }
    for (name, run) in rehearsal.runs() {
        for Held { objective, held, value } in &run.objectives {
            let says = if *held { "met" } else { "MISSED" };
            lines.push(format!("{objective} {name}: {says} ({value})"));
        }
        if run.refused > 0 {
            lines.push(format!("{} visits were refused for good", run.refused));
        }
        lines.extend(run.own_limit.clone());
    }
    lines.join("\n")
}

fn says(held: Option<bool>) -> &'static str {
    match held {
        Some(true) => "kept",
        Some(false) => "BROKEN",
        None => "not judged",
    }
}
