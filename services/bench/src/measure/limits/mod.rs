//! Limit checks and target outcomes beside our own authorize, and beside limitador.

pub mod growth;
mod limitador;

use std::sync::Arc;

use anyhow::Context as _;

use self::limitador::Limitador;
use crate::{
    meter::{self, Other, Question, Window},
    progress::say,
    report::{Bound, Row, Section},
    request::Requests,
    sections::Sections,
    settings::Settings,
    stats::{least, median, most},
    world::{World, room},
};

/// The name for `--only`.
pub const NAME: &str = "limits";
/// Keys that are asked for in turn, and active places that authorize is asked for.
const KEYS: u64 = 10_000;
const REPORTERS: u64 = 20;
/// What our limits are to reach of limitador's requests per second.
const OF_LIMITADOR: f64 = 2.0;

/// Nothing is refused during the run. A log holds what a key was asked for in a minute.
const SECTIONS: &str = r#"
[limits.gcra]
algorithm = "gcra"
limit = 100_000_000
window = "1h"
[limits.counter]
algorithm = "counter"
limit = 100_000_000
window = "1h"
[limits.log]
algorithm = "log"
limit = 10_000
window = "1m"
[targets.target]
"#;

/// What is asked of admission.
struct Asked {
    name: &'static str,
    operation: &'static str,
    path: &'static str,
    /// The body up to the number with which it ends.
    json: &'static str,
    numbers: u64,
    least_of_authorize: f64,
}

const CHECK: &str = "limit.check";
const KEY: &str = r#"{"key":"client-"#;
const ROWS: [Asked; 4] = [
    Asked {
        name: "gcra",
        operation: CHECK,
        path: "/v1/limits/gcra/check",
        json: KEY,
        numbers: KEYS,
        least_of_authorize: 0.95,
    },
    Asked {
        name: "counter",
        operation: CHECK,
        path: "/v1/limits/counter/check",
        json: KEY,
        numbers: KEYS,
        least_of_authorize: 0.95,
    },
    Asked {
        name: "log",
        operation: CHECK,
        path: "/v1/limits/log/check",
        json: KEY,
        numbers: KEYS,
        least_of_authorize: 0.85,
    },
    Asked {
        name: "outcome",
        operation: "target.record",
        path: "/v1/targets/target/outcomes",
        json: r#"{"success":true,"latency_ms":7,"reporter":"replica-"#,
        numbers: REPORTERS,
        least_of_authorize: 0.90,
    },
];

/// Measures all rows, round after round.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let visitors = settings.scaled(KEYS);
    let world = World::start(&[room("inside", visitors), SECTIONS.to_owned()]).await?;
    let inside = world.admit("inside", visitors).await?;
    let tokens = world.tokens("inside", &inside, KEYS);
    let authorize = Question {
        operation: "queue.authorize",
        requests: Arc::new(Requests::with_tokens("/v1/queues/inside/authorize", &tokens)),
        expect: 200,
    };
    let limitador = match &settings.limitador {
        Some(program) => Some(Limitador::start(program, KEYS).await?),
        None => {
            sections.note("limitador: name a limitador-server with --limitador PROGRAM.");
            None
        }
    };
    let mut rounds = Rounds::default();
    rounds.authorize.push(meter::measure(&world, settings, &authorize).await?);
    for round in 1..=settings.rounds {
        for (at, asked) in ROWS.iter().enumerate() {
            let window = meter::measure(&world, settings, &asked.question()).await;
            rounds.rows[at].push(window.with_context(|| format!("row {}", asked.name))?);
        }
        if let Some(limitador) = &limitador {
            rounds.limitador.push(limitador.server.measure(settings).await?);
        }
        rounds.authorize.push(meter::measure(&world, settings, &authorize).await?);
        rounds.say(round);
        sections.put(rounds.section(settings));
    }
    Ok(())
}

impl Asked {
    fn question(&self) -> Question {
        let requests = Arc::new(Requests::posts(self.path, self.json, self.numbers, "\"}"));
        Question { operation: self.operation, requests, expect: 200 }
    }
}

/// What was measured so far; of authorize one window more, since each round stands between two.
#[derive(Default)]
struct Rounds {
    authorize: Vec<Window>,
    rows: [Vec<Window>; ROWS.len()],
    limitador: Vec<Other>,
}

impl Rounds {
    /// Of each round, how a row compares with authorize before and after it, by what `of` says.
    fn of_authorize(&self, row: usize, of: fn(&Window) -> f64) -> Vec<f64> {
        let around =
            self.authorize.windows(2).map(|pair| f64::midpoint(of(&pair[0]), of(&pair[1])));
        self.rows[row].iter().zip(around).map(|(it, authorize)| of(it) / authorize).collect()
    }

    /// Of each round, how a row compares with limitador; none where there is none.
    fn of_limitador(&self, row: usize) -> Vec<f64> {
        self.rows[row]
            .iter()
            .zip(&self.limitador)
            .map(|(it, other)| it.rate() / other.rate)
            .collect()
    }

    fn say(&self, round: usize) {
        for (at, asked) in ROWS.iter().enumerate() {
            let Some(it) = self.rows[at].last() else { continue };
            say(&format!(
                "round {round}: {:8} {:7.0}/s, {:.3} of authorize, {:.2} of limitador; µs a request: \
                 admission {:.2}, Redis {:.2}",
                asked.name,
                it.rate(),
                self.of_authorize(at, Window::rate).last().copied().unwrap_or(f64::NAN),
                self.of_limitador(at).last().copied().unwrap_or(f64::NAN),
                it.per_request(it.admission_us),
                it.per_request(it.store_us),
            ));
        }
    }

    fn section(&self, settings: &Settings) -> Section {
        let mut rows = vec![row("authorize", &self.authorize, &[1.0], &[1.0], None, &[], None)];
        for (at, asked) in ROWS.iter().enumerate() {
            let of_limitador = self.of_limitador(at);
            let is_limit = asked.operation == CHECK && !of_limitador.is_empty();
            rows.push(row(
                asked.name,
                &self.rows[at],
                &self.of_authorize(at, Window::rate),
                &self.of_authorize(at, Window::all_us),
                Some(Bound::AtLeast(asked.least_of_authorize)),
                &of_limitador,
                is_limit.then_some(Bound::AtLeast(OF_LIMITADOR)),
            ));
        }
        rows.extend((!self.limitador.is_empty()).then(|| self.limitador_row()));
        Section {
            name: NAME,
            title: "Limits and targets beside authorize".to_owned(),
            how: format!(
                "{} connections, {} rounds of {:?} each. {KEYS} keys in turn, as many active places \
                 for authorize, {REPORTERS} reporters. `of authorize` compares requests per second \
                 with the mean of authorize before and after the round, `CPU` the processor time of \
                 all that took part. limitador counts a fixed window and \
                 does not claim to be exact with Redis.",
                settings.connections, settings.rounds, settings.window
            ),
            rows,
        }
    }

    fn limitador_row(&self) -> Row {
        let over =
            |of: fn(&Other) -> f64| median(&self.limitador.iter().map(of).collect::<Vec<_>>());
        let authorize = median(&self.authorize.iter().map(Window::rate).collect::<Vec<_>>());
        Row::new("limitador")
            .figure("requests/s", over(|it| it.rate))
            .figure("of authorize", over(|it| it.rate) / authorize)
            .figure("least", f64::NAN)
            .figure("most", f64::NAN)
            .figure("CPU", f64::NAN)
            .figure("of limitador", 1.0)
            .figure("server µs", over(|it| it.server_us))
            .figure("Redis µs", over(|it| it.store_us))
            .figure("generator µs", over(|it| it.generator_us))
            .figure("EVALSHA/request", f64::NAN)
    }
}

fn row(
    name: &str,
    windows: &[Window],
    ratios: &[f64],
    cpu_ratios: &[f64],
    least_ratio: Option<Bound>,
    of_limitador: &[f64],
    least_of_limitador: Option<Bound>,
) -> Row {
    let over = |of: &dyn Fn(&Window) -> f64| median(&windows.iter().map(of).collect::<Vec<_>>());
    Row::new(name)
        .figure("requests/s", over(&Window::rate))
        .within("of authorize", median(ratios), least_ratio)
        .figure("least", least(ratios))
        .figure("most", most(ratios))
        .figure("CPU", median(cpu_ratios))
        .within("of limitador", median(of_limitador), least_of_limitador)
        .figure("server µs", over(&|it| it.per_request(it.admission_us)))
        .figure("Redis µs", over(&|it| it.per_request(it.store_us)))
        .figure("generator µs", over(&|it| it.per_request(it.generator_us)))
        .figure("EVALSHA/request", over(&|it| it.per_request(it.calls)))
}
