//! Envoy's rate limits over gRPC: anteroom-envoy, envoyproxy/ratelimit and limitador, in turn, on
//! the same Redis.

mod others;

use std::sync::Arc;

use anteroom_testkit::Redis;
use anyhow::Context as _;
use envoy_types::pb::envoy::{
    extensions::common::ratelimit::v3::{RateLimitDescriptor, rate_limit_descriptor::Entry},
    service::ratelimit::v3::{RateLimitRequest, rate_limit_response::Code},
};
use prost::Message as _;

use self::others::{Limitador, Other, Ratelimit};
use super::limits::LARGE;
use crate::{
    meter::{Counters, Processes, Question, Window, over, window},
    progress::say,
    report::{Bound, Row, Section},
    request::{Calls, Requests, number},
    sections::Sections,
    settings::Settings,
    stats::{least, median, most},
    world::World,
};

/// The name for `--only`.
pub const NAME: &str = "rls";
/// The names of the others' rows.
const RATELIMIT: &str = "ratelimit";
const PIPELINES: &str = "ratelimit, pipelines";
const LIMITADOR: &str = "limitador";
/// The domain of the descriptors for all services.
const DOMAIN: &str = "bench";
const METHOD: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
/// Values of the descriptor in turn.
const KEYS: u64 = 10_000;
/// What our requests per second are to be of the others'.
const OF_RATELIMIT: f64 = 3.0;
const OF_LIMITADOR: f64 = 2.0;

const DESCRIPTORS: &str = r#"
[[envoy.descriptors]]
domain = "bench"
entries = [{ key = "remote_address" }]
limit = "counter"
[[envoy.descriptors]]
domain = "gcra"
entries = [{ key = "remote_address" }]
limit = "gcra"
"#;

/// One service, with the windows measured so far.
struct Measured {
    name: &'static str,
    question: Question,
    address: String,
    processes: Processes,
    /// What is not ours. It ends with this.
    other: Option<Other>,
    windows: Vec<Window>,
}

impl Measured {
    fn new(name: &'static str, redis: &Redis, other: Other) -> Self {
        let (address, id) = (other.address.clone(), other.process.id());
        Self { other: Some(other), ..Self::at(name, redis, DOMAIN, address, id) }
    }

    fn at(name: &'static str, redis: &Redis, domain: &str, address: String, id: u32) -> Self {
        let message = |n| {
            let entry = Entry { key: "remote_address".to_owned(), value: number(n) };
            let descriptor = RateLimitDescriptor { entries: vec![entry], ..Default::default() };
            let (domain, descriptors) = (domain.to_owned(), vec![descriptor]);
            RateLimitRequest { domain, descriptors, hits_addend: 0 }.encode_to_vec()
        };
        let calls = Calls::new(METHOD, (0..KEYS).map(message));
        let requests = Arc::new(Requests::Calls(calls));
        Self {
            name,
            question: Question { operation: "limit.check", requests, expect: Code::Ok as u16 },
            address,
            processes: Processes { servers: vec![id], store: redis.id(), ..Processes::default() },
            other: None,
            windows: Vec::new(),
        }
    }
}

/// Measures all services, round after round.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let world = World::start(&[LARGE.to_owned(), DESCRIPTORS.to_owned()]).await?;
    let redis = &world.anteroom.deployment.redis;
    let ours = world.anteroom.deployment.envoy().await;
    ours.until_ready().await;
    let of_ours = |name, domain| {
        Measured::at(name, redis, domain, ours.address("grpc").to_owned(), ours.process.id())
    };
    let mut all =
        vec![of_ours("anteroom-envoy, counter", DOMAIN), of_ours("anteroom-envoy, gcra", "gcra")];
    if let Some(folder) = &settings.rate_limit_services {
        match Ratelimit::build(folder).await {
            Ok(ratelimit) => {
                for (name, pipeline) in [(RATELIMIT, None), (PIPELINES, Some("150us"))] {
                    let other = ratelimit.start(redis, pipeline).await?;
                    all.push(Measured::new(name, redis, other));
                }
            }
            Err(error) => sections.note(format!("{NAME}: {error:#}")),
        }
        match Limitador::build(folder).await {
            Ok(limitador) => {
                all.push(Measured::new(LIMITADOR, redis, limitador.start(redis).await?));
            }
            Err(error) => sections.note(format!("{NAME}: {error:#}")),
        }
    } else {
        sections.note(format!("{NAME}: --rate-limit-services builds the other services."));
    }
    let settings = &settings.with_times();
    for round in 1..=settings.rounds {
        for it in &mut all {
            let (address, counters) = (vec![it.address.parse()?], Counters::default());
            let measured = window(settings, address, &it.question, &it.processes, &counters).await;
            let measured = measured.with_context(|| it.name)?;
            say(&format!(
                "round {round}: {:24} {:7.0}/s; p50 {:.0} µs, p99 {:.0} µs; µs a request: service {:.2}, \
                 Redis {:.2}, generator {:.2}",
                it.name,
                measured.rate,
                measured.p50_us,
                measured.p99_us,
                measured.server_us,
                measured.store_us,
                measured.generator_us,
            ));
            it.windows.push(measured);
        }
        sections.put(section(settings, &all));
    }
    Ok(())
}

fn section(settings: &Settings, all: &[Measured]) -> Section {
    let others: Vec<_> = all.iter().filter(|it| it.other.is_some()).collect();
    let row = |it: &Measured| {
        let of = |name: &str, goal: f64| {
            // The better one of its ways to run.
            let best = others.iter().filter(|other| other.name.starts_with(name));
            let best = best.max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
            let ratios =
                it.windows.iter().zip(&best.windows).map(|(it, other)| it.rate / other.rate);
            let bound = it.other.is_none().then_some(Bound::AtLeast(goal));
            Some((ratios.collect::<Vec<_>>(), bound))
        };
        let figures = Row::new(it.name)
            .figure("requests/s", rate(it))
            .figure("p50 µs", over(&it.windows, |it| it.p50_us))
            .figure("p99 µs", over(&it.windows, |it| it.p99_us))
            .figure("service µs", over(&it.windows, |it| it.server_us))
            .figure("Redis µs", over(&it.windows, |it| it.store_us))
            .figure("generator µs", over(&it.windows, |it| it.generator_us));
        let (ratelimit, bound) = of(RATELIMIT, OF_RATELIMIT).unwrap_or_default();
        let (limitador, other_bound) = of(LIMITADOR, OF_LIMITADOR).unwrap_or_default();
        figures
            .within("of ratelimit", median(&ratelimit), bound)
            .figure("least", least(&ratelimit))
            .figure("most", most(&ratelimit))
            .within("of limitador", median(&limitador), other_bound)
            .figure("least ", least(&limitador))
            .figure("most ", most(&limitador))
    };
    Section {
        name: NAME,
        title: "Rate limits for Envoy over gRPC".to_owned(),
        how: format!(
            "{} calls at a time on connections of 16, {} rounds of {:?} each, {KEYS} values of one \
             descriptor in turn, none over its limit, and one Redis for all. `of ratelimit` compares \
             requests per second with envoyproxy/ratelimit in its better way to run: as it is, or with \
             pipelines of 150 µs. limitador is the crate behind a server of the same library \
             (tonic). All but anteroom-envoy count a fixed window and answer without `RateLimit` headers.",
            settings.connections, settings.rounds, settings.window
        ),
        rows: all.iter().map(row).collect(),
    }
}

fn rate(it: &Measured) -> f64 {
    over(&it.windows, |it| it.rate)
}
