//! Limit checks and target outcomes beside our own authorize, and beside limitador.

pub mod growth;
mod limitador;

use self::limitador::Limitador;
use super::beside::{Call, Rounds, VISITORS};
use crate::{
    meter::{Window, over},
    progress::say,
    report::{Bound, Row, Section},
    sections::Sections,
    settings::Settings,
    stats::median,
};

/// The name for `--only`.
pub const NAME: &str = "limits";
/// Keys that are checked in turn, as many as there are visitors.
const KEYS: u64 = VISITORS;
const REPORTERS: u64 = 20;
/// What our limits are to reach of limitador's requests per second.
const OF_LIMITADOR: f64 = 2.0;

/// Nothing is refused during the run.
pub const LARGE: &str = r#"
[limits.gcra]
algorithm = "gcra"
limit = 100_000_000
window = "1h"
[limits.counter]
algorithm = "counter"
limit = 100_000_000
window = "1h"
"#;
/// A log holds the checks of a key in a minute.
const MORE: &str = r#"
[limits.log]
algorithm = "log"
limit = 10_000
window = "1m"
[targets.target]
"#;

const CHECK: &str = "limit.check";

const fn check(name: &'static str, path: &'static str, least: f64) -> Call {
    let json = r#"{"key":"client-"#;
    let (numbers, least_of_authorize) = (Some(KEYS), Some(least));
    Call { name, operation: CHECK, path, json, numbers, expect: 200, least_of_authorize }
}

const CALLS: [Call; 4] = [
    check("gcra", "/v1/limits/gcra/check", 0.95),
    check("counter", "/v1/limits/counter/check", 0.95),
    check("log", "/v1/limits/log/check", 0.85),
    Call {
        operation: "target.record",
        json: r#"{"success":true,"latency_ms":7,"reporter":"replica-"#,
        numbers: Some(REPORTERS),
        ..check("outcome", "/v1/targets/target/outcomes", 0.90)
    },
];

/// Measures all rows, round after round.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let mut rounds = Rounds::start(settings, &[LARGE, MORE].concat(), &CALLS).await?;
    let limitador = match &settings.limitador {
        Some(program) => Some(Limitador::start(program, KEYS).await?),
        None => {
            sections.note("limitador: name a limitador-server with --limitador PROGRAM.");
            None
        }
    };
    let mut of_limitador = Vec::new();
    for round in 1..=settings.rounds {
        rounds.calls(round).await?;
        if let Some(limitador) = &limitador {
            of_limitador.push(limitador.server.measure(settings).await?);
        }
        rounds.authorize().await?;
        for (call, it, of_authorize) in rounds.last() {
            say(&format!(
                "round {round}: {:8} {:7.0}/s, {:.3} of authorize, {:.2} of limitador; µs a request: \
                 admission {:.2}, Redis {:.2}",
                call.name,
                it.rate,
                of_authorize,
                of_limitador.last().map_or(f64::NAN, |other| it.rate / other.rate),
                it.server_us,
                it.store_us,
            ));
        }
        sections.put(section(settings, &rounds, &of_limitador));
    }
    Ok(())
}

fn section(settings: &Settings, rounds: &Rounds<'_>, limitador: &[Window]) -> Section {
    let costs = |row: Row, windows: &[Window]| {
        row.figure("server µs", over(windows, |it| it.server_us))
            .figure("Redis µs", over(windows, |it| it.store_us))
            .figure("generator µs", over(windows, |it| it.generator_us))
    };
    let mut rows = rounds.rows(|row, call, windows| {
        let windows_of_call = if call.is_some() { windows } else { &[] };
        let ratios = windows_of_call.iter().zip(limitador).map(|(it, other)| it.rate / other.rate);
        let ratios: Vec<_> = ratios.collect();
        let is_limit = call.is_some_and(|it| it.operation == CHECK) && !ratios.is_empty();
        let bound = is_limit.then_some(Bound::AtLeast(OF_LIMITADOR));
        costs(row.within("of limitador", median(&ratios), bound), windows)
    });
    if !limitador.is_empty() {
        let rate = over(limitador, |it| it.rate);
        let row = Row::new("limitador")
            .figure("requests/s", rate)
            .figure("of authorize", rate / over(&rounds.authorize, |it| it.rate))
            .figure("least", f64::NAN)
            .figure("most", f64::NAN)
            .figure("CPU", f64::NAN)
            .figure("of limitador", 1.0);
        rows.push(costs(row, limitador).figure("EVALSHA/request", f64::NAN));
    }
    Section {
        name: NAME,
        title: "Limits and targets beside authorize".to_owned(),
        how: format!(
            "{} connections, {} rounds of {:?} each. {KEYS} keys in turn, as many active places for \
             authorize, {REPORTERS} reporters. `of authorize` compares requests per second with the \
             mean of authorize before and after the round, `CPU` the processor time of all that took \
             part. limitador counts a fixed window and does not claim to be exact with Redis.",
            settings.connections, settings.rounds, settings.window
        ),
        rows,
    }
}
