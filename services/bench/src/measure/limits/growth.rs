//! How the cost of a check grows with the number of keys, and what a key takes in the store.

use std::{sync::Arc, time::Duration};

use anteroom_core::limit::{Algorithm, Answer, Call, Check, Limits, Rule};
use anyhow::{Context as _, ensure};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use crate::{
    meter::{Question, Window, measure_without_ticks, over},
    progress::say,
    report::{Bound, Row, Section},
    request::{Requests, number},
    sections::Sections,
    settings::Settings,
    world::{IN_FLIGHT, World, room},
};

/// The name for `--only`.
pub const NAME: &str = "limit-growth";

/// With a window that holds all of a row, so that no key goes meanwhile; few keys of a log would be
/// full then.
const SIZES: [(u64, Duration); 3] = [
    (10, Duration::from_secs(1)),
    (10_000, Duration::from_secs(3_600)),
    (1_000_000, Duration::from_secs(3_600)),
];
const ROUNDS: usize = 3;
/// A single unit in a log, the smallest there is, may take more: it is a set.
const MOST_BYTES: f64 = 200.0;

/// A limit, and so many keys that are checked in turn.
struct Keys {
    algorithm: &'static str,
    rule: Rule,
    name: String,
    keys: u64,
    /// In the store, each with one unit.
    bytes: f64,
    windows: Vec<Window>,
}

/// Fills the keys and measures the rows.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let mut all: Vec<_> = Algorithm::ALL
        .iter()
        .flat_map(|of| SIZES.map(|size| Keys::new(*of, size, settings)))
        .collect();
    let configured = all.iter().map(Keys::section);
    let world = World::start(&configured.chain([room("room", 1)]).collect::<Vec<_>>()).await?;
    let limits = Limits::open(world.store(), 2 * IN_FLIGHT);
    for keys in &mut all {
        say(&format!("{} keys of {}", keys.keys, keys.algorithm));
        let before = world.used_memory().await?;
        keys.fill(&limits).await?;
        keys.bytes = (world.used_memory().await? - before) / keys.keys as f64;
    }
    for _ in 0..ROUNDS.min(settings.rounds) {
        for keys in &mut all {
            keys.windows.push(measure_without_ticks(&world, settings, &keys.question()).await?);
        }
        sections.put(section(settings, &all));
    }
    Ok(())
}

impl Keys {
    fn new(
        (algorithm, name): (Algorithm, &'static str),
        (keys, window): (u64, Duration),
        settings: &Settings,
    ) -> Self {
        let keys = settings.scaled(keys);
        let rule = Rule { algorithm, limit: algorithm.max_limit(), window, shadow: false };
        Self {
            algorithm: name,
            rule,
            name: format!("{name}-{keys}-{}", window.as_secs()),
            keys,
            bytes: f64::NAN,
            windows: Vec::new(),
        }
    }

    fn section(&self) -> String {
        let Self { algorithm, name, rule, .. } = self;
        let (limit, window) = (rule.limit, rule.window.as_secs());
        format!(
            "[limits.{name}]\nalgorithm = \"{algorithm}\"\nlimit = {limit}\nwindow = \"{window}s\"\n"
        )
    }

    /// Takes a unit of each key, past admission.
    async fn fill(&self, limits: &Limits) -> anyhow::Result<()> {
        let check = async |n| {
            let key = format!("client-{}", number(n));
            let (limit, rule) = (self.name.as_str(), self.rule);
            let check = Check { limit, rule, key: &key, group: None, cost: 1 };
            let call = Call::one(&check, None).ok().context("a check of the benchmark")?;
            let answer = limits.check(call).await?;
            let is_allowed = matches!(answer, Answer::Decided { allowed: true, .. });
            ensure!(is_allowed, "the benchmark was refused: {answer:?}");
            Ok(())
        };
        stream::iter(0..self.keys).map(check).buffered(IN_FLIGHT).try_collect().await
    }

    fn question(&self) -> Question {
        let path = format!("/v1/limits/{}/check", self.name);
        let requests = Arc::new(Requests::posts(&path, r#"{"key":"client-"#, self.keys, "\"}"));
        Question { operation: "limit.check", requests, expect: 200 }
    }
}

fn section(settings: &Settings, all: &[Keys]) -> Section {
    let mut rows = Vec::new();
    for sizes in all.chunk_by(|one, other| one.algorithm == other.algorithm) {
        for it in sizes {
            let is_string = it.rule.algorithm != Algorithm::Log && it.keys > 1_000;
            let of = |of: fn(&Window) -> f64| over(&it.windows, of);
            let times =
                |of: fn(&Window) -> f64| over(&it.windows, of) / over(&sizes[0].windows, of);
            rows.push(
                Row::new(format!("{}, {}", it.algorithm, it.keys))
                    .figure("requests/s", of(|it| it.rate))
                    .figure("admission µs", of(|it| it.server_us))
                    .figure("Redis µs", of(|it| it.store_us))
                    .figure("script µs", of(|it| it.counted.script_us / it.counted.items))
                    .figure("both ×", times(Window::both_us))
                    .figure("Redis ×", times(|it| it.store_us))
                    .within(
                        "bytes a key",
                        it.bytes,
                        is_string.then_some(Bound::AtMost(MOST_BYTES)),
                    ),
            );
        }
    }
    Section {
        name: NAME,
        title: "Growth with the keys of a limit".to_owned(),
        how: format!(
            "{} connections, the scheduler stopped meanwhile; medians of {} rounds. Processor time in \
             µs a request; `both ×` is admission and Redis together, `Redis ×` Redis alone, each \
             against the fewest keys. Bytes: `used_memory` after one unit of each key less before, \
             by the number of keys. Ten keys of a log hold some thousand units each, the others a few.",
            settings.connections,
            ROUNDS.min(settings.rounds)
        ),
        rows,
    }
}
