//! How the cost of a request grows with the line: the same questions at 10 k, 100 k and 1 M
//! waiting. In the same store: the bytes of a waiting place, and the longest scripts.

use std::sync::Arc;

use super::longest;
use crate::{
    meter::{Question, Window, measure_without_ticks, over},
    progress::say,
    report::{Bound, Row, Section},
    request::Requests,
    sections::Sections,
    settings::Settings,
    stats::median,
    world::{World, line, room},
};

/// The name for `--only`.
pub const NAME: &str = "growth";
/// The name for `--only` of what a place takes.
pub const MEMORY: &str = "memory";

/// How many wait, and how many such lines take turns with the joins, so that none grows far beyond
/// its size meanwhile.
const SIZES: [(u64, u64); 3] = [(10_000, 24), (100_000, 3), (1_000_000, 1)];
/// Active places in the lines that are measured, and at most so many waiting ones that poll.
const VISITORS: u64 = 10_000;
const ROUNDS: usize = 3;

/// Operation, and the Redis time in µs that an item may take at 1 M waiting.
const OPERATIONS: [(&str, f64); 3] =
    [("queue.join", 2.5), ("queue.place", 3.5), ("queue.authorize", 1.5)];

/// A line of one size, in two forms.
struct Lines {
    waiting: u64,
    /// Lines that take the joins.
    joined: Vec<String>,
    /// Of the waiting in a line with active places in front.
    place: Question,
    /// Of the active ones there.
    authorize: Question,
}

/// Fills the lines and measures what is wanted of growth, memory and longest.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let visitors = settings.scaled(VISITORS);
    let sizes = SIZES.map(|(waiting, lines)| (settings.scaled(waiting), lines));
    let measured = |waiting: u64| format!("measured-{waiting}");
    let joined = |waiting: u64, n: u64| format!("joined-{waiting}-{n}");
    let mut queues = Vec::new();
    for (waiting, lines) in sizes {
        queues.push(room(&measured(waiting), visitors));
        queues.extend((0..lines).map(|n| line(&joined(waiting, n))));
    }
    let world = World::start(&queues).await?;
    let mut all = Vec::new();
    for (waiting, lines) in sizes {
        say(&format!("filling lines of {waiting}"));
        let names: Vec<_> = (0..lines).map(|n| joined(waiting, n)).collect();
        let before = world.used_memory().await?;
        for name in &names {
            world.fill(name, waiting).await?;
        }
        let bytes = (world.used_memory().await? - before) / (waiting * lines) as f64;
        if settings.wants(MEMORY) {
            // The longest comes last, and stays.
            sections.put(memory(waiting, bytes));
        }
        let measured = measured(waiting);
        all.push(Lines {
            waiting,
            authorize: world.authorize(&measured, visitors, VISITORS).await?,
            place: world.place(&measured, waiting, VISITORS).await?,
            joined: names,
        });
    }
    if settings.wants(NAME) {
        sections.put(measure(settings, &world, &all).await?);
    }
    if settings.wants(longest::NAME)
        && let Some(most) = all.last()
    {
        let question = |operation, series| most.question(operation, series);
        longest::measure(settings, sections, &world, OPERATIONS.len(), question).await?;
    }
    Ok(())
}

impl Lines {
    /// The question of one of the operations. Each `series` has joins of its own.
    fn question(&self, operation: usize, series: u64) -> Question {
        match OPERATIONS[operation].0 {
            "queue.join" => {
                // Each series begins with another line.
                let mut joined = self.joined.clone();
                joined.rotate_left(series as usize * 8 % self.joined.len());
                let joins = Requests::joins(&joined, (self.waiting / 3).max(1), series);
                Question { operation: "queue.join", requests: Arc::new(joins), expect: 201 }
            }
            "queue.place" => self.place.clone(),
            _ => self.authorize.clone(),
        }
    }
}

async fn measure(settings: &Settings, world: &World, all: &[Lines]) -> anyhow::Result<Section> {
    let mut windows = vec![Vec::new(); OPERATIONS.len() * all.len()];
    for round in 0..ROUNDS.min(settings.rounds) {
        for operation in 0..OPERATIONS.len() {
            for (size, lines) in all.iter().enumerate() {
                let question = lines.question(operation, round as u64);
                let it = measure_without_ticks(world, settings, &question).await?;
                say(&format!(
                    "{} at {}: admission {:.2} µs, Redis {:.2} µs",
                    question.operation, lines.waiting, it.server_us, it.store_us
                ));
                windows[operation * all.len() + size].push(it);
            }
        }
    }
    let mut rows = Vec::new();
    for (operation, (name, item_us)) in OPERATIONS.into_iter().enumerate() {
        let of = |size: usize| &windows[operation * all.len() + size];
        for (size, lines) in all.iter().enumerate() {
            let at_most = |bound| (lines.waiting == 1_000_000).then_some(Bound::AtMost(bound));
            let it = of(size);
            let name = format!("{}, {}", name.trim_start_matches("queue."), lines.waiting);
            rows.push(
                Row::new(name)
                    .figure("requests/s", over(it, |it| it.rate))
                    .figure("admission µs", over(it, |it| it.server_us))
                    .within("Redis µs", over(it, |it| it.store_us), at_most(item_us))
                    .figure("script µs", over(it, |it| it.counted.script_us / it.counted.items))
                    .within("both ×", times(of(0), it, Window::both_us), at_most(1.6))
                    .within("Redis ×", times(of(0), it, |it| it.store_us), at_most(2.5))
                    .figure("items a call", over(it, |it| it.counted.items / it.counted.calls)),
            );
        }
    }
    Ok(Section {
        name: NAME,
        title: "Growth with the line".to_owned(),
        how: format!(
            "{} connections, the scheduler stopped meanwhile. Processor time in µs a request; `script` \
             is the time inside scripts by Redis' clock. `both ×` is admission and Redis together, \
             `Redis ×` Redis alone, each against the shortest line in the same round; medians of {} \
             rounds.",
            settings.connections,
            ROUNDS.min(settings.rounds)
        ),
        rows,
    })
}

fn times(base: &[Window], windows: &[Window], of: fn(&Window) -> f64) -> f64 {
    let ratios = base.iter().zip(windows).map(|(base, it)| of(it) / of(base));
    median(&ratios.collect::<Vec<_>>())
}

fn memory(waiting: u64, bytes: f64) -> Section {
    Section {
        name: MEMORY,
        title: "Memory of a waiting place in Redis".to_owned(),
        how: "`used_memory` after the joins less before, by the number of places.".to_owned(),
        rows: vec![Row::new(format!("{waiting} waiting")).within(
            "bytes",
            bytes,
            Some(Bound::AtMost(120.0)),
        )],
    }
}
