//! What the check of each gateway costs: its example with a check of each request, beside the
//! shortest configuration of the same program that passes all on.

use std::sync::Arc;

use anteroom_gateways_checks::{Gateway, Plan, Program, Sign, Wiring};
use anteroom_testkit::{Service, free_port, free_ports};
use anyhow::Context as _;

use super::rows::HelloWorld;
use crate::{
    meter::{Counters, Processes, Question, Window, over, window},
    progress::say,
    report::{Row, Section},
    request::Requests,
    sections::Sections,
    settings::Settings,
    stats::{least, median, most},
    world::{World, room},
};

/// The name for `--only`.
pub const NAME: &str = "gateways";
/// The queue of the examples.
const QUEUE: &str = "concert";
/// Active places, whose visitors come in turn.
const VISITORS: u64 = 10_000;
/// Another process may come first to a free port.
const ATTEMPTS: usize = 5;

/// A gateway that runs.
struct Measured {
    program: Program,
    /// Whether it asks Anteroom about each request.
    checks: bool,
    port: u16,
    /// Ends with this.
    _gateway: Gateway,
    processes: Processes,
    windows: Vec<Window>,
    /// With one connection.
    alone: Vec<Window>,
}

/// Measures each gateway that is installed, round after round.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let visitors = settings.scaled(VISITORS);
    let world = World::start(&[room(QUEUE, visitors)]).await?;
    let envoy = world.anteroom.deployment.envoy().await;
    envoy.until_ready().await;
    let hello = HelloWorld::start(settings).await?;
    let shop = hello.address().to_string();
    let places = world.admit(QUEUE, visitors).await?;
    let requests = Arc::new(Requests::with_tokens("/", &world.tokens(QUEUE, &places, VISITORS)));
    let question = Question { operation: "queue.authorize", requests, expect: 200 };
    let mut all = Vec::new();
    for program in Program::ALL {
        if !program.is_installed() {
            sections.note(format!("gateways: {} is not installed.", name(program)));
            continue;
        }
        // One Envoy without checks is enough.
        if program != Program::EnvoyGrpc {
            all.push(plain(program, &shop).await?);
        }
        all.push(checking(program, &shop, &world, &envoy).await?);
    }
    let settings = &settings.with_times();
    let one = &settings.connections(1);
    for round in 1..=settings.rounds {
        for it in &mut all {
            let ask = async |settings| {
                let (address, counters) = (([127, 0, 0, 1], it.port).into(), Counters::default());
                let window = window(settings, vec![address], &question, &it.processes, &counters);
                window.await.with_context(|| it.name())
            };
            let (many, alone) = (ask(settings).await?, ask(one).await?);
            say(&format!(
                "round {round}: {:24} {:7.0}/s; p50 {:.0} µs, p99 {:.0} µs, with 1 connection {:.0} µs; \
                 µs a request: gateway {:.1}, Anteroom {:.1}, Redis {:.1}",
                it.name(),
                many.rate,
                many.p50_us,
                many.p99_us,
                alone.p50_us,
                many.gateway_us,
                many.server_us,
                many.store_us,
            ));
            it.windows.push(many);
            it.alone.push(alone);
        }
        sections.put(section(settings, &all));
    }
    Ok(())
}

impl Measured {
    fn name(&self) -> String {
        format!("{}, {}", name(self.program), if self.checks { "with the check" } else { "alone" })
    }

    /// The same program without checks.
    fn is_base_of(&self, other: &Self) -> bool {
        !self.checks && self.program.folder() == other.program.folder()
    }

    /// Processor time of the gateway, Anteroom and Redis.
    fn cpu_us(&self) -> f64 {
        over(&self.windows, |it| it.gateway_us + it.both_us())
    }
}

fn name(program: Program) -> &'static str {
    match program {
        Program::Nginx => "NGINX",
        Program::Caddy => "Caddy",
        Program::Haproxy => "HAProxy",
        Program::Envoy => "Envoy",
        Program::EnvoyGrpc => "Envoy over gRPC",
        Program::Traefik => "Traefik",
    }
}

/// The program as a proxy, and no more.
async fn plain(program: Program, shop: &str) -> anyhow::Result<Measured> {
    let (_, shop_port) = shop.rsplit_once(':').context("host and port")?;
    for _ in 0..ATTEMPTS {
        let port = free_port();
        let files: Vec<_> = plain_files(program)
            .iter()
            .map(|(file, text)| {
                let text = text.replace("SHOP_PORT", shop_port).replace("SHOP", shop);
                (*file, text.replace("PORT", &port.to_string()))
            })
            .collect();
        let files: Vec<_> = files.iter().map(|(file, text)| (*file, &**text)).collect();
        if let Some(gateway) = Gateway::of_files(program, port, &files, Sign::new("/", 200)).await {
            return Ok(measured(program, false, port, gateway, Processes::default()));
        }
    }
    anyhow::bail!("no free port for {}", name(program))
}

/// The program with the files of its example.
async fn checking(
    program: Program,
    shop: &str,
    world: &World,
    envoy: &Service,
) -> anyhow::Result<Measured> {
    let admission = &world.anteroom.admission;
    let called = if program == Program::EnvoyGrpc { envoy } else { admission };
    let plan = Plan { program, ..Plan::default() };
    for _ in 0..ATTEMPTS {
        let [gate, fast, check, front, back] = free_ports();
        let wiring = Wiring {
            gate,
            fast,
            check,
            front,
            back,
            shop,
            admission: admission.address("public"),
            second: None,
            checks: vec![envoy.address("grpc")],
            certificates: None,
        };
        if let Some(gateway) = Gateway::start(program, gate, &wiring.edits(&plan)).await {
            let processes = Processes { servers: vec![called.process.id()], ..world.processes() };
            return Ok(measured(program, true, gate, gateway, processes));
        }
    }
    anyhow::bail!("no free port for {}", name(program))
}

fn measured(
    program: Program,
    checks: bool,
    port: u16,
    gateway: Gateway,
    processes: Processes,
) -> Measured {
    let processes = Processes { gateway: Some(gateway.id()), ..processes };
    let (windows, alone) = Default::default();
    Measured { program, checks, port, _gateway: gateway, processes, windows, alone }
}

fn plain_files(program: Program) -> &'static [(&'static str, &'static str)] {
    match program {
        Program::Nginx => &[("nginx.conf", include_str!("plain/nginx.conf"))],
        Program::Caddy => &[("Caddyfile", include_str!("plain/Caddyfile"))],
        Program::Haproxy => &[("haproxy.cfg", include_str!("plain/haproxy.cfg"))],
        Program::Envoy | Program::EnvoyGrpc => &[("envoy.yaml", include_str!("plain/envoy.yaml"))],
        Program::Traefik => &[
            ("traefik.yaml", include_str!("plain/traefik.yaml")),
            ("dynamic.yaml", include_str!("plain/dynamic.yaml")),
        ],
    }
}

fn section(settings: &Settings, all: &[Measured]) -> Section {
    let row = |it: &Measured| {
        let base = all.iter().find(|base| base.is_base_of(it)).filter(|_| it.checks);
        let ratios: Vec<_> = base
            .iter()
            .flat_map(|base| it.windows.iter().zip(&base.windows))
            .map(|(it, base)| it.rate / base.rate)
            .collect();
        let added = |of: &dyn Fn(&Measured) -> f64| base.map_or(f64::NAN, |base| of(it) - of(base));
        let one = |it: &Measured| over(&it.alone, |it| it.p50_us);
        Row::new(it.name())
            .figure("requests/s", over(&it.windows, |it| it.rate))
            .figure("of alone", median(&ratios))
            .figure("least", least(&ratios))
            .figure("most", most(&ratios))
            .figure("p50 µs", over(&it.windows, |it| it.p50_us))
            .figure("p99 µs", over(&it.windows, |it| it.p99_us))
            .figure("p50 µs, 1 connection", one(it))
            .figure("added", added(&one))
            .figure("gateway µs", over(&it.windows, |it| it.gateway_us))
            .figure("Anteroom µs", over(&it.windows, |it| it.server_us))
            .figure("Redis µs", over(&it.windows, |it| it.store_us))
            .figure("CPU added", added(&Measured::cpu_us))
    };
    Section {
        name: NAME,
        title: "Gateways with the check, and alone".to_owned(),
        how: format!(
            "{} connections, {} rounds of {:?} each. Each gateway passes the requests of {VISITORS} \
             active places on to the hello-world. `alone` is the shortest configuration of the same \
             program that does so without Anteroom; `with the check` is the example of gateways/. `added` \
             is the median with 1 connection less that of `alone`, `CPU added` the same of the processor \
             time of gateway, Anteroom and Redis. Processor times are µs a request at {0} connections.",
            settings.connections, settings.rounds, settings.window
        ),
        rows: all.iter().map(row).collect(),
    }
}
