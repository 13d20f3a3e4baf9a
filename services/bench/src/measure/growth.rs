//! How the cost of a request grows with the line: the same questions at 10 k, 100 k and 1 M
//! waiting. In the same store: the bytes of a waiting place, and the longest scripts.

use std::sync::Arc;

use super::longest;
use crate::{
    meter::{Question, Window, measure_without_ticks},
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
/// Active places in the lines that are asked, and at most so many waiting ones that ask.
const VISITORS: u64 = 10_000;
const ROUNDS: usize = 3;

/// Operation, expected status, and the Redis time in µs that an item may take at 1 M waiting.
const OPERATIONS: [(&str, u16, f64); 3] =
    [("queue.join", 201, 2.5), ("queue.place", 200, 3.5), ("queue.authorize", 200, 1.5)];

/// A line of one size, in two forms.
struct Lines {
    waiting: u64,
    /// Lines that take the joins.
    joined: Vec<String>,
    /// Of the waiting in a line with active places in front.
    place: Arc<Requests>,
    /// Of the active ones there.
    authorize: Arc<Requests>,
}

/// Fills the lines and measures what is wanted of growth, memory and longest.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let visitors = settings.scaled(VISITORS);
    let sizes = SIZES.map(|(waiting, lines)| (settings.scaled(waiting), lines));
    let asked = |waiting: u64| format!("asked-{waiting}");
    let joined = |waiting: u64, n: u64| format!("joined-{waiting}-{n}");
    let mut queues = Vec::new();
    for (waiting, lines) in sizes {
        queues.push(room(&asked(waiting), visitors));
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
        let asked = asked(waiting);
        let inside = world.admit(&asked, visitors).await?;
        let places = world.fill(&asked, waiting).await?;
        let place = world.tokens(&asked, &places, VISITORS);
        let authorize = world.tokens(&asked, &inside, VISITORS);
        all.push(Lines {
            waiting,
            place: Arc::new(Requests::with_tokens(&format!("/v1/queues/{asked}/token"), &place)),
            authorize: Arc::new(Requests::with_tokens(
                &format!("/v1/queues/{asked}/authorize"),
                &authorize,
            )),
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
    /// The question of one of the operations. `series` tells its joins from those of others.
    fn question(&self, operation: usize, series: u64) -> Question {
        let (operation, expect, _) = OPERATIONS[operation];
        let requests = match operation {
            "queue.join" => {
                // Each series begins with another line.
                let mut joined = self.joined.clone();
                joined.rotate_left(series as usize * 8 % self.joined.len());
                Arc::new(Requests::joins(&joined, (self.waiting / 3).max(1), series))
            }
            "queue.place" => self.place.clone(),
            _ => self.authorize.clone(),
        };
        Question { operation, requests, expect }
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
                    question.operation,
                    lines.waiting,
                    it.per_request(it.admission_us),
                    it.per_request(it.store_us)
                ));
                windows[operation * all.len() + size].push(it);
            }
        }
    }
    let mut rows = Vec::new();
    for (operation, (name, _, item_us)) in OPERATIONS.into_iter().enumerate() {
        let of = |size: usize| &windows[operation * all.len() + size];
        for (size, lines) in all.iter().enumerate() {
            let at_most = |bound| (lines.waiting == 1_000_000).then_some(Bound::AtMost(bound));
            let it = of(size);
            let name = format!("{}, {}", name.trim_start_matches("queue."), lines.waiting);
            rows.push(
                Row::new(name)
                    .figure("requests/s", over(it, Window::rate))
                    .figure("admission µs", over(it, admission_us))
                    .within("Redis µs", over(it, store_us), at_most(item_us))
                    .figure("script µs", over(it, |it| it.script_us / it.items))
                    .within("both ×", times(of(0), it, both_us), at_most(1.6))
                    .within("Redis ×", times(of(0), it, store_us), at_most(2.5))
                    .figure("items a call", over(it, |it| it.items / it.calls)),
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

fn admission_us(it: &Window) -> f64 {
    it.per_request(it.admission_us)
}

fn store_us(it: &Window) -> f64 {
    it.per_request(it.store_us)
}

fn both_us(it: &Window) -> f64 {
    it.per_request(it.admission_us + it.store_us)
}

fn over(windows: &[Window], of: impl Fn(&Window) -> f64) -> f64 {
    median(&windows.iter().map(of).collect::<Vec<_>>())
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
