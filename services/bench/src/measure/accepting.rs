//! What backends ask of events and pools, beside our own authorize: each call writes, and is
//! remembered for a day and more.

use std::sync::Arc;

use anyhow::Context as _;

use crate::{
    meter::{self, Question, Window},
    progress::say,
    report::{Row, Section},
    request::Requests,
    sections::Sections,
    settings::Settings,
    stats::{least, median, most},
    world::{World, room},
};

/// The name for `--only`.
pub const NAME: &str = "accepting";
/// Active places that authorize is asked for.
const VISITORS: u64 = 10_000;
/// Nothing is refused during the run, and nothing issued.
const SECTIONS: &str = "[events.coupon]\nstock = 1_000_000_000\n\
                        [pools.draws]\nfunds = 1_000_000_000_000\n\
                        [pools.holds]\nfunds = 1_000_000_000_000\n";

/// What is asked of admission.
struct Asked {
    name: &'static str,
    operation: &'static str,
    path: &'static str,
    /// The body up to the number of the round and that of the call.
    json: &'static str,
    expect: u16,
}

const ROWS: [Asked; 3] = [
    Asked {
        name: "apply",
        operation: "event.apply",
        path: "/v1/events/coupon/applications",
        json: r#"{"visitor_id":""#,
        expect: 202,
    },
    Asked {
        name: "draw",
        operation: "pool.draw",
        path: "/v1/pools/draws/draws",
        json: r#"{"amount":7,"operation_id":""#,
        expect: 201,
    },
    Asked {
        name: "hold",
        operation: "pool.hold",
        path: "/v1/pools/holds/holds",
        json: r#"{"amount":7,"operation_id":""#,
        expect: 201,
    },
];

impl Asked {
    /// Each round asks for others.
    fn question(&self, round: usize) -> Question {
        let json = format!("{}round {round:04}, ", self.json);
        let requests = Arc::new(Requests::posts(self.path, &json, u64::MAX, "\"}"));
        Question { operation: self.operation, requests, expect: self.expect }
    }
}

/// Measures all rows, round after round.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let visitors = settings.scaled(VISITORS);
    let world = World::start(&[room("inside", visitors), SECTIONS.to_owned()]).await?;
    let inside = world.admit("inside", visitors).await?;
    let tokens = world.tokens("inside", &inside, VISITORS);
    let authorize = Question {
        operation: "queue.authorize",
        requests: Arc::new(Requests::with_tokens("/v1/queues/inside/authorize", &tokens)),
        expect: 200,
    };
    let mut authorizes = vec![meter::measure(&world, settings, &authorize).await?];
    let mut measured: [Vec<Window>; ROWS.len()] = Default::default();
    for round in 1..=settings.rounds {
        for (asked, windows) in ROWS.iter().zip(&mut measured) {
            let window = meter::measure(&world, settings, &asked.question(round)).await;
            let window = window.with_context(|| format!("row {}", asked.name))?;
            say(&format!("round {round}: {:5} {:7.0}/s", asked.name, window.rate()));
            windows.push(window);
        }
        authorizes.push(meter::measure(&world, settings, &authorize).await?);
        sections.put(section(settings, &authorizes, &measured));
    }
    Ok(())
}

fn section(
    settings: &Settings,
    authorizes: &[Window],
    measured: &[Vec<Window>; ROWS.len()],
) -> Section {
    let of_authorize = |windows: &[Window], of: fn(&Window) -> f64| -> Vec<f64> {
        let around = authorizes.windows(2).map(|pair| f64::midpoint(of(&pair[0]), of(&pair[1])));
        windows.iter().zip(around).map(|(it, around)| of(it) / around).collect()
    };
    let mut rows = vec![row("authorize", authorizes, &[1.0], &[1.0])];
    for (asked, windows) in ROWS.iter().zip(measured) {
        let by_rate = of_authorize(windows, Window::rate);
        rows.push(row(asked.name, windows, &by_rate, &of_authorize(windows, Window::all_us)));
    }
    Section {
        name: NAME,
        title: "Applications, draws and holds beside authorize".to_owned(),
        how: format!(
            "{} connections, {} rounds of {:?} each; each call is a new one and none is refused. One \
             pool of draws, one of holds, whose holds end after a minute and are swept. `of authorize` \
             compares requests per second with the mean of authorize before and after the round, \
             `CPU` the processor time of all that took part.",
            settings.connections, settings.rounds, settings.window
        ),
        rows,
    }
}

fn row(name: &str, windows: &[Window], ratios: &[f64], cpu_ratios: &[f64]) -> Row {
    let over = |of: &dyn Fn(&Window) -> f64| median(&windows.iter().map(of).collect::<Vec<_>>());
    Row::new(name)
        .figure("requests/s", over(&Window::rate))
        .figure("of authorize", median(ratios))
        .figure("least", least(ratios))
        .figure("most", most(ratios))
        .figure("CPU", median(cpu_ratios))
        .figure("server µs", over(&|it| it.per_request(it.admission_us)))
        .figure("Redis µs", over(&|it| it.per_request(it.store_us)))
        .figure("EVALSHA/request", over(&|it| it.per_request(it.calls)))
}
