//! Requests per second beside a bare hello-world: each row runs between two runs of the
//! hello-world, round after round, and is compared with the mean of these two.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anteroom_core::limit::{Algorithm, Call, Check, Limits, Rule};
use anteroom_testkit::{PATIENCE, Process};
use anyhow::Context as _;

use crate::{
    meter::{self, Counters, OtherServer, Processes, Question, Window, over},
    progress::say,
    report::{Bound, Row, Section},
    request::{Requests, number},
    sections::Sections,
    settings::Settings,
    stats::{least, median, most},
    world::{World, line, local, room},
};

/// Active places, and waiting ones that poll their positions.
const VISITORS: u64 = 10_000;

/// What is requested of admission.
struct RowCall {
    name: &'static str,
    operation: &'static str,
    queue: &'static str,
    expect: u16,
    least_ratio: Option<f64>,
}

const fn call(
    name: &'static str,
    (operation, queue): (&'static str, &'static str),
    expect: u16,
    least_ratio: Option<f64>,
) -> RowCall {
    RowCall { name, operation, queue, expect, least_ratio }
}

const JOIN: &str = "queue.join";
const AUTHORIZE: &str = "queue.authorize";
const CALLS: [RowCall; 7] = [
    call("join", (JOIN, "joins"), 201, Some(0.70)),
    call("place", ("queue.place", "line"), 200, Some(0.70)),
    call("authorize", (AUTHORIZE, "inside"), 200, Some(0.75)),
    call(LOCAL, (AUTHORIZE, LOCAL), 200, Some(0.90)),
    call(LOCAL_PLACE, ("queue.place", LOCAL_PLACE), 200, Some(0.90)),
    call(FORGED, (AUTHORIZE, FORGED), 401, None),
    call(HOT_KEY, ("limit.check", HOT_KEY), 429, None),
];
const LOCAL: &str = "local";
const LOCAL_PLACE: &str = "local-place";
/// Tokens of real places with a false signature, each another.
const FORGED: &str = "forged";
/// Checks of one key, which has no unit left.
const HOT_KEY: &str = "limit-hot-key";

/// Whether one of the rows, each of which has a name for `--only`, is wanted.
pub fn wanted(settings: &Settings) -> bool {
    settings.wants("hello") || CALLS.iter().any(|call| settings.wants(call.name))
}

/// Measures all rows that are wanted.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let visitors = settings.scaled(VISITORS);
    let queues = [
        line("joins"),
        line("line"),
        room("inside", visitors),
        local(&room(LOCAL, visitors)),
        local(&line(LOCAL_PLACE)),
        room(FORGED, visitors),
        format!("[limits.{HOT_KEY}]\nlimit = 1\nwindow = \"24h\"\n"),
    ];
    let world = World::start(&queues).await?;
    let hello = HelloWorld::start(settings).await?;
    let mut measured = Vec::new();
    for row in CALLS.iter().filter(|row| settings.wants(row.name)) {
        measured.push(Measured::new(&world, settings, row, visitors).await?);
    }
    let mut hellos = vec![hello.run().await?];
    for round in 1..=settings.rounds {
        if measured.is_empty() {
            hellos.push(hello.run().await?);
        }
        for row in &mut measured {
            let window = meter::measure(&world, settings, &row.question(round)).await;
            let window = window.with_context(|| format!("row {}", row.call.name))?;
            let after = hello.run().await?;
            let before = hellos.last().copied().unwrap_or(after);
            hellos.push(after);
            row.add(window, before, after);
            row.say(round, &after);
        }
        sections.put(section(settings, &hellos, &measured));
    }
    Ok(())
}

fn section(settings: &Settings, hellos: &[Window], measured: &[Measured]) -> Section {
    let mut rows = vec![hello_row(hellos)];
    rows.extend(measured.iter().map(Measured::row));
    Section {
        name: "rows",
        title: "Requests per second beside a hello-world".to_owned(),
        how: format!(
            "{} connections, {} rounds of {:?} each; `local` and `local-place` are authorize and place with local answers, `forged` authorize \
             with {VISITORS} forged tokens, `limit-hot-key` checks of one key that has no unit left; `least` and `most` are the ratio's over the \
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
        // As long as a token: the same work for the server that reads the head.
        let requests = Arc::new(Requests::with_tokens("/", &["x".repeat(90)]));
        let processes = Processes { servers: vec![process.id()], ..Processes::default() };
        let server = OtherServer { processes, address, requests };
        Ok(Self { _process: process, server, settings: settings.clone() })
    }

    /// Loads several together for one window, as one service of several processes.
    pub async fn run_all(all: &[Self]) -> anyhow::Result<Window> {
        let [Self { server: OtherServer { requests, .. }, settings, .. }, ..] = all else {
            anyhow::bail!("no process");
        };
        let question = Question { operation: "", requests: requests.clone(), expect: 200 };
        let servers = all.iter().flat_map(|it| it.server.processes.servers.clone()).collect();
        let processes = Processes { servers, ..Processes::default() };
        let addresses = all.iter().map(Self::address).collect();
        meter::window(settings, addresses, &question, &processes, &Counters::default()).await
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Loads it for one window.
    pub async fn run(&self) -> anyhow::Result<Window> {
        Self::run_all(std::slice::from_ref(self)).await
    }
}

/// Each visitor's first poll in a slot is not answered locally. It waits for others: so many at a
/// time poll that a second is enough for all.
async fn report_all(world: &World, settings: &Settings, question: &Question) -> anyhow::Result<()> {
    let mut round = settings.connections(1_024);
    round.window = round.window.min(Duration::from_secs(1));
    meter::measure(world, &round, question).await.map(drop)
}

/// Takes the only unit of a key, past admission. Returns the checks of that key.
async fn hot_key(world: &World) -> anyhow::Result<Arc<Requests>> {
    let (algorithm, window) = (Algorithm::Log, Duration::from_secs(24 * 3_600));
    let rule = Rule { algorithm, limit: 1, window, shadow: false };
    let key = format!("client-{}", number(0));
    let check = Check { limit: HOT_KEY, rule, key: &key, group: None, cost: 1 };
    let call = Call::one(&check, None).ok().context("a check of the benchmark")?;
    Limits::open(world.store(), 1).check(call).await?;
    let path = format!("/v1/limits/{HOT_KEY}/check");
    Ok(Arc::new(Requests::posts(&path, r#"{"key":"client-"#, 1, "\"}")))
}

/// One row and what has been measured of it so far.
struct Measured {
    call: &'static RowCall,
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
        call: &'static RowCall,
        visitors: u64,
    ) -> anyhow::Result<Self> {
        let RowCall { name, operation, queue, .. } = *call;
        let requests = if name == FORGED {
            let places = world.admit(queue, visitors).await?;
            let mut tokens = world.tokens(queue, &places, VISITORS);
            tokens.iter_mut().for_each(forge);
            Arc::new(Requests::with_tokens("/v1/queues/forged/authorize", &tokens))
        } else if name == HOT_KEY {
            hot_key(world).await?
        } else if operation == AUTHORIZE {
            world.authorize(queue, visitors, VISITORS).await?.requests
        } else {
            let question = world.place(queue, settings.waiting, VISITORS).await?;
            if name == LOCAL_PLACE {
                report_all(world, settings, &question).await?;
            }
            question.requests
        };
        let (windows, ratios, cpu_ratios) = Default::default();
        Ok(Self { call, requests, windows, ratios, cpu_ratios })
    }

    fn question(&self, round: usize) -> Question {
        let RowCall { operation, queue, expect, .. } = *self.call;
        let requests = if operation == JOIN {
            // Each round's joins are new ones.
            Arc::new(Requests::joins(&[queue.to_owned()], 1, round as u64))
        } else {
            self.requests.clone()
        };
        Question { operation, requests, expect }
    }

    fn add(&mut self, window: Window, before: Window, after: Window) {
        self.ratios.push(window.rate / f64::midpoint(before.rate, after.rate));
        self.cpu_ratios.push(f64::midpoint(before.all_us(), after.all_us()) / window.all_us());
        self.windows.push(window);
    }

    fn say(&self, round: usize, hello: &Window) {
        let Some(it) = self.windows.last() else { return };
        say(&format!(
            "round {round}: {:13} {:7.0}/s, {:.3} of the hello-world's (by CPU {:.3}); µs a request: \
             hello {:.2}, admission {:.2}, Redis {:.2}, generator {:.2}",
            self.call.name,
            it.rate,
            self.ratios.last().copied().unwrap_or(f64::NAN),
            self.cpu_ratios.last().copied().unwrap_or(f64::NAN),
            hello.server_us,
            it.server_us,
            it.store_us,
            it.generator_us,
        ));
    }

    fn row(&self) -> Row {
        let ratios = [self.ratios.as_slice(), &self.cpu_ratios];
        let least_ratio = self.call.least_ratio.map(Bound::AtLeast);
        row(self.call.name, &self.windows, ratios, least_ratio)
            .figure("EVALSHA/request", over(&self.windows, Window::calls_a_request))
            .figure("others' cores", over(&self.windows, |it| it.others_cores))
    }
}

fn row(name: &str, windows: &[Window], ratios: [&[f64]; 2], least_ratio: Option<Bound>) -> Row {
    let [ratios, cpu_ratios] = ratios;
    Row::new(name)
        .figure("requests/s", over(windows, |it| it.rate))
        .within("ratio", median(ratios), least_ratio)
        .figure("least", least(ratios))
        .figure("most", most(ratios))
        .figure("CPU ratio", median(cpu_ratios))
        .figure("server µs", over(windows, |it| it.server_us))
        .figure("Redis µs", over(windows, |it| it.store_us))
        .figure("scheduler µs", over(windows, |it| it.scheduler_us))
        .figure("generator µs", over(windows, |it| it.generator_us))
}

/// Changes a character of the signature, with which a token ends.
fn forge(token: &mut String) {
    let at = token.len() - 8;
    let other = if token[at..].starts_with('A') { "B" } else { "A" };
    token.replace_range(at..=at, other);
}

fn hello_row(hellos: &[Window]) -> Row {
    let middle = over(hellos, |it| it.rate);
    // Its ratio is 1 by definition, and how far its own windows lie apart is the measure's noise.
    let ratios: Vec<_> = hellos.iter().map(|it| it.rate / middle).collect();
    row("hello", hellos, [&ratios, &[1.0]], None)
        .figure("EVALSHA/request", 0.0)
        .figure("others' cores", f64::NAN)
}
