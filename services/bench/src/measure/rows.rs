//! Requests per second beside a bare hello-world: each row runs between two runs of the
//! hello-world, round after round, and is compared with the mean of these two.

use std::sync::Arc;

use anteroom_testkit::{PATIENCE, Process};
use anyhow::Context as _;

use crate::{
    meter::{self, Other, OtherServer, Question, Window},
    progress::say,
    report::{Bound, Row, Section},
    request::Requests,
    sections::Sections,
    settings::Settings,
    stats::{least, median, most},
    world::{World, line, room},
};

/// Active places, and waiting ones that ask where they stand.
const VISITORS: u64 = 10_000;

/// What is asked of admission.
struct Asked {
    name: &'static str,
    operation: &'static str,
    queue: &'static str,
    /// Empty: a join.
    path: &'static str,
    expect: u16,
    least_ratio: Option<f64>,
}

const ROWS: [Asked; 5] = [
    Asked {
        name: "join",
        operation: "queue.join",
        queue: "joins",
        path: "",
        expect: 201,
        least_ratio: Some(0.70),
    },
    Asked {
        name: "place",
        operation: "queue.place",
        queue: "line",
        path: "/v1/queues/line/token",
        expect: 200,
        least_ratio: Some(0.70),
    },
    Asked {
        name: "authorize",
        operation: "queue.authorize",
        queue: "inside",
        path: "/v1/queues/inside/authorize",
        expect: 200,
        least_ratio: Some(0.75),
    },
    Asked {
        name: LOCAL,
        operation: "queue.authorize",
        queue: LOCAL,
        path: "/v1/queues/local/authorize",
        expect: 200,
        least_ratio: Some(0.90),
    },
    Asked {
        name: FORGED,
        operation: "queue.authorize",
        queue: FORGED,
        path: "/v1/queues/forged/authorize",
        expect: 401,
        least_ratio: None,
    },
];
const LOCAL: &str = "local";
/// Tokens of real places with a false signature, each another.
const FORGED: &str = "forged";

/// Whether one of the rows, each of which can be asked for by its name, is wanted.
pub fn wanted(settings: &Settings) -> bool {
    settings.wants("hello") || ROWS.iter().any(|row| settings.wants(row.name))
}

/// Measures all rows that are wanted.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let visitors = settings.scaled(VISITORS);
    let queues = [
        line("joins"),
        line("line"),
        room("inside", visitors),
        format!("{}local_answers = true\n", room(LOCAL, visitors)),
        room(FORGED, visitors),
    ];
    let world = World::start(&queues).await?;
    let hello = HelloWorld::start(settings).await?;
    let mut measured = Vec::new();
    for row in ROWS.iter().filter(|row| settings.wants(row.name)) {
        measured.push(Measured::new(&world, settings, row, visitors).await?);
    }
    let mut hellos = vec![hello.run().await?];
    for round in 1..=settings.rounds {
        if measured.is_empty() {
            hellos.push(hello.run().await?);
        }
        for row in &mut measured {
            let question = row.question(round);
            let window = meter::measure(&world, settings, &question).await;
            let window = window.with_context(|| format!("row {}", row.asked.name))?;
            let after = hello.run().await?;
            let before = hellos.last().copied().unwrap_or(after);
            hellos.push(after);
            row.add(window, before, after);
            row.say(round, &hellos);
        }
        sections.put(section(settings, &hellos, &measured));
    }
    Ok(())
}

fn section(settings: &Settings, hellos: &[Other], measured: &[Measured]) -> Section {
    let mut rows = vec![hello_row(hellos)];
    rows.extend(measured.iter().map(Measured::row));
    Section {
        name: "rows",
        title: "Requests per second beside a hello-world".to_owned(),
        how: format!(
            "{} connections, {} rounds of {:?} each; `local` is authorize with local answers, `forged` authorize \
             with {VISITORS} forged tokens; `least` and `most` are the ratio's over the \
             rounds. `CPU ratio` compares the processor time of all that took part instead of \
             requests per second: other programs on the machine disturb it less. Processor times \
             are µs a request; `others' cores` is what other programs took meanwhile: near 0 when the \
             figures are to be trusted. {} visitors wait in the line that is asked for places and in the one \
             that takes the joins, which grows by them.",
            settings.connections, settings.rounds, settings.window, settings.waiting
        ),
        rows,
    }
}

/// The measure of all rows.
pub struct HelloWorld {
    /// Ends with this.
    _process: Process,
    server: OtherServer,
    settings: Settings,
}

impl HelloWorld {
    /// Starts it.
    pub async fn start(settings: &Settings) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?.with_file_name("anteroom-bench-hello");
        let mut process = Process::spawn(program, [""; 0], &[]);
        let line = process.line("address ", PATIENCE).await;
        let address = line.trim_start_matches("address ").parse()?;
        // As long as a token: the same work for whoever reads the head.
        let requests = Arc::new(Requests::with_tokens("/", &["x".repeat(90)]));
        let server = OtherServer { id: process.id(), store: None, address, requests };
        Ok(Self { _process: process, server, settings: settings.clone() })
    }

    /// Loads it for one window.
    pub async fn run(&self) -> anyhow::Result<Other> {
        self.server.measure(&self.settings).await
    }
}

/// One row and what has been measured of it so far.
struct Measured {
    asked: &'static Asked,
    requests: Arc<Requests>,
    windows: Vec<Window>,
    ratios: Vec<f64>,
    cpu_ratios: Vec<f64>,
}

impl Measured {
    /// Fills the row's queue and builds its requests.
    async fn new(
        world: &World,
        settings: &Settings,
        asked: &'static Asked,
        visitors: u64,
    ) -> anyhow::Result<Self> {
        let places = match asked.operation {
            "queue.authorize" => world.admit(asked.queue, visitors).await?,
            _ => world.fill(asked.queue, settings.waiting).await?,
        };
        let mut tokens = world.tokens(asked.queue, &places, VISITORS);
        if asked.name == FORGED {
            tokens.iter_mut().for_each(forge);
        }
        let requests = Arc::new(Requests::with_tokens(asked.path, &tokens));
        let (windows, ratios, cpu_ratios) = Default::default();
        Ok(Self { asked, requests, windows, ratios, cpu_ratios })
    }

    fn question(&self, round: usize) -> Question {
        let requests = if self.asked.path.is_empty() {
            // Each round's joins are new ones.
            Arc::new(Requests::joins(&[self.asked.queue.to_owned()], 1, round as u64))
        } else {
            self.requests.clone()
        };
        Question { operation: self.asked.operation, requests, expect: self.asked.expect }
    }

    fn add(&mut self, window: Window, before: Other, after: Other) {
        self.ratios.push(window.rate() / f64::midpoint(before.rate, after.rate));
        self.cpu_ratios.push(f64::midpoint(before.all_us(), after.all_us()) / window.all_us());
        self.windows.push(window);
    }

    fn say(&self, round: usize, hellos: &[Other]) {
        let (Some(it), Some(hello)) = (self.windows.last(), hellos.last()) else { return };
        say(&format!(
            "round {round}: {:9} {:7.0}/s, {:.3} of the hello-world's (by CPU {:.3}); µs a request: \
             hello {:.2}, admission {:.2}, Redis {:.2}, generator {:.2}",
            self.asked.name,
            it.rate(),
            self.ratios.last().copied().unwrap_or(f64::NAN),
            self.cpu_ratios.last().copied().unwrap_or(f64::NAN),
            hello.server_us,
            it.per_request(it.admission_us),
            it.per_request(it.store_us),
            it.per_request(it.generator_us),
        ));
    }

    fn row(&self) -> Row {
        let over =
            |of: &dyn Fn(&Window) -> f64| median(&self.windows.iter().map(of).collect::<Vec<_>>());
        let least_ratio = self.asked.least_ratio.map(Bound::AtLeast);
        Row::new(self.asked.name)
            .figure("requests/s", over(&Window::rate))
            .within("ratio", median(&self.ratios), least_ratio)
            .figure("least", least(&self.ratios))
            .figure("most", most(&self.ratios))
            .figure("CPU ratio", median(&self.cpu_ratios))
            .figure("server µs", over(&|it| it.per_request(it.admission_us)))
            .figure("Redis µs", over(&|it| it.per_request(it.store_us)))
            .figure("scheduler µs", over(&|it| it.per_request(it.scheduler_us)))
            .figure("generator µs", over(&|it| it.per_request(it.generator_us)))
            .figure("EVALSHA/request", over(&|it| it.per_request(it.calls)))
            .figure("others' cores", over(&Window::others_cores))
    }
}

/// Changes a character of the signature, with which a token ends.
fn forge(token: &mut String) {
    let at = token.len() - 8;
    let other = if token[at..].starts_with('A') { "B" } else { "A" };
    token.replace_range(at..=at, other);
}

fn hello_row(hellos: &[Other]) -> Row {
    let over = |of: fn(&Other) -> f64| hellos.iter().map(of).collect::<Vec<_>>();
    let rates = over(|hello| hello.rate);
    Row::new("hello")
        .figure("requests/s", median(&rates))
        .figure("ratio", 1.0)
        .figure("least", least(&rates) / median(&rates))
        .figure("most", most(&rates) / median(&rates))
        .figure("CPU ratio", 1.0)
        .figure("server µs", median(&over(|hello| hello.server_us)))
        .figure("Redis µs", 0.0)
        .figure("scheduler µs", 0.0)
        .figure("generator µs", median(&over(|hello| hello.generator_us)))
        .figure("EVALSHA/request", 0.0)
        .figure("others' cores", f64::NAN)
}
