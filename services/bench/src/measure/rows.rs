//! Requests per second beside a bare hello-world: each row runs between two runs of the hello-world,
//! round after round, and is compared with the mean of these two.

use std::sync::Arc;

use anteroom_testkit::{PATIENCE, Process, binary};
use anyhow::Context as _;

use crate::{
    meter::{self, Hello, Window},
    progress::say,
    report::{Bound, Row, Section},
    request::Requests,
    settings::Settings,
    stats::{least, median, most},
    world::{World, address, line, room},
};

/// Active places, and waiting ones that ask where they stand.
const VISITORS: u64 = 10_000;

/// What is asked of admission.
struct Asked {
    name: &'static str,
    operation: &'static str,
    queue: &'static str,
    path: &'static str,
    expect: u16,
    least_ratio: f64,
}

const ROWS: [Asked; 4] = [
    Asked {
        name: "join",
        operation: "queue.join",
        queue: "joins",
        path: "",
        expect: 201,
        least_ratio: 0.70,
    },
    Asked {
        name: "place",
        operation: "queue.place",
        queue: "line",
        path: "/v1/queues/line/token",
        expect: 200,
        least_ratio: 0.70,
    },
    Asked {
        name: "authorize",
        operation: "queue.authorize",
        queue: "inside",
        path: "/v1/queues/inside/authorize",
        expect: 200,
        least_ratio: 0.75,
    },
    Asked {
        name: "local",
        operation: "queue.authorize",
        queue: "local",
        path: "/v1/queues/local/authorize",
        expect: 200,
        least_ratio: 0.90,
    },
];

/// The section's part of the command line: its rows have names of their own.
pub fn wanted(settings: &Settings) -> bool {
    settings.wants("hello") || ROWS.iter().any(|row| settings.wants(row.name))
}

/// What one row has measured so far.
#[derive(Default)]
struct Measured {
    ratios: Vec<f64>,
    windows: Vec<Window>,
}

/// Measures all rows that are wanted.
pub async fn run(settings: &Settings, notes: &mut Vec<String>) -> anyhow::Result<Section> {
    let local = local_answers().await;
    if local.is_none() && settings.wants("local") {
        notes.push("local: this admission knows no local_answers".to_owned());
    }
    let mut queues = vec![line("joins"), line("line"), room("inside", 2 * VISITORS)];
    queues.extend(local.clone());
    let world = World::start(&queues).await?;
    let mut hello = Process::spawn(binary("anteroom-bench-hello"), [""; 0], &[]);
    let said = hello.line("address ", PATIENCE).await;
    let hello_address = address(said.trim_start_matches("address "))?;

    let rows: Vec<_> = ROWS
        .iter()
        .filter(|row| settings.wants(row.name) && (row.name != "local" || local.is_some()))
        .collect();
    let mut requests = Vec::new();
    for row in &rows {
        requests.push(Arc::new(prepare(&world, settings, row).await?));
    }
    // A token's length of anything: the same work for whoever reads the head.
    let hello_requests = Arc::new(Requests::with_tokens("/", &["x".repeat(90)]));
    let hello_run =
        async || meter::hello(hello.id(), hello_address, settings, hello_requests.clone()).await;

    let mut measured: Vec<Measured> = rows.iter().map(|_| Measured::default()).collect();
    let mut hellos = vec![hello_run().await?];
    for round in 1..=settings.rounds {
        for ((row, requests), measured) in rows.iter().zip(&requests).zip(&mut measured) {
            let (operation, expect) = (row.operation, row.expect);
            let requests = match row.path {
                // Each round's joins are new ones.
                "" => Arc::new(Requests::joins(row.queue, round as u64)),
                _ => requests.clone(),
            };
            let window = meter::measure(&world, settings, operation, requests, expect)
                .await
                .with_context(|| format!("row {}", row.name))?;
            let before = hellos.last().map_or(f64::NAN, |hello| hello.rate);
            let after = hello_run().await?;
            let measure = f64::midpoint(before, after.rate);
            let ratio = window.rate() / measure;
            say(&format!(
                "round {round}: {:9} {:7.0}/s, {ratio:.3} of the hello-world's {measure:.0}/s; CPU µs \
                 a request: hello {:.2}, admission {:.2}, Redis {:.2}, generator {:.2}",
                row.name,
                window.rate(),
                after.server_us,
                window.per_request(window.admission_us),
                window.per_request(window.store_us),
                window.per_request(window.generator_us),
            ));
            hellos.push(after);
            measured.ratios.push(ratio);
            measured.windows.push(window);
        }
    }
    let mut section = Section {
        name: "rows",
        title: "Requests per second beside a hello-world".to_owned(),
        how: format!(
            "{} connections, {} rounds of {:?} each. Processor time in µs a request. {} visitors wait \
             in the line that is asked for places and in the one that takes the joins, which grows \
             by them.",
            settings.connections, settings.rounds, settings.window, settings.waiting
        ),
        rows: vec![hello_row(&hellos)],
    };
    section.rows.extend(rows.iter().zip(&measured).map(|(row, measured)| measured.row(row)));
    Ok(section)
}

/// The queue with local answers, if this admission knows them.
async fn local_answers() -> Option<String> {
    let folder = tempfile::tempdir().ok()?;
    let file = folder.path().join("anteroom.toml");
    let queue = format!("{}local_answers = true\n", room("local", 2 * VISITORS));
    std::fs::write(&file, &queue).ok()?;
    let file = file.display().to_string();
    let arguments = ["--config", &file, "--check-config"];
    let mut check = Process::spawn(binary("anteroom-admission"), arguments, &[]);
    check.exit(PATIENCE).await.success().then_some(queue)
}

/// Fills the queue of a row and builds its requests.
async fn prepare(world: &World, settings: &Settings, row: &Asked) -> anyhow::Result<Requests> {
    let places = match row.operation {
        "queue.authorize" => world.admit(row.queue, VISITORS).await?,
        _ => world.fill(row.queue, settings.waiting).await?,
    };
    let tokens = world.tokens(row.queue, &places, VISITORS as usize);
    Ok(Requests::with_tokens(row.path, &tokens))
}

fn hello_row(hellos: &[Hello]) -> Row {
    let over = |of: fn(&Hello) -> f64| hellos.iter().map(of).collect::<Vec<_>>();
    let rates = over(|hello| hello.rate);
    Row::new("hello")
        .figure("requests/s", median(&rates))
        .figure("ratio", 1.0)
        .figure("least", least(&rates) / median(&rates))
        .figure("most", most(&rates) / median(&rates))
        .figure("server µs", median(&over(|hello| hello.server_us)))
        .figure("Redis µs", f64::NAN)
        .figure("scheduler µs", f64::NAN)
        .figure("generator µs", median(&over(|hello| hello.generator_us)))
        .figure("EVALSHA/request", f64::NAN)
}

impl Measured {
    fn row(&self, asked: &Asked) -> Row {
        let over =
            |of: &dyn Fn(&Window) -> f64| median(&self.windows.iter().map(of).collect::<Vec<_>>());
        let ratio = median(&self.ratios);
        Row::new(asked.name)
            .figure("requests/s", over(&Window::rate))
            .within("ratio", ratio, Some(Bound::AtLeast(asked.least_ratio)))
            .figure("least", least(&self.ratios))
            .figure("most", most(&self.ratios))
            .figure("server µs", over(&|it| it.per_request(it.admission_us)))
            .figure("Redis µs", over(&|it| it.per_request(it.store_us)))
            .figure("scheduler µs", over(&|it| it.per_request(it.scheduler_us)))
            .figure("generator µs", over(&|it| it.per_request(it.generator_us)))
            .figure("EVALSHA/request", over(&|it| it.per_request(it.calls)))
    }
}
