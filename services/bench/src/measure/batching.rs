//! How many requests share a call to the store: EVALSHA per request by the number of connections.

use std::sync::Arc;

use anyhow::ensure;

use crate::{
    meter::{Question, measure_without_ticks},
    progress::say,
    report::{Bound, Row, Section},
    request::Requests,
    sections::Sections,
    settings::Settings,
    world::{World, line, room},
};

/// The name for `--only`.
pub const NAME: &str = "batching";
const VISITORS: u64 = 10_000;

/// A lone request has a call of its own; the more there are, the more share one.
const CONNECTIONS: [(usize, Bound); 3] =
    [(1, Bound::Exactly(1.0)), (64, Bound::AtMost(0.08)), (1_000, Bound::AtMost(0.03))];

/// Measures join, place and authorize at each number of connections.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let visitors = settings.scaled(VISITORS);
    let world = World::start(&[line("joins"), line("line"), room("inside", visitors)]).await?;
    let waiting = world.fill("line", visitors).await?;
    let inside = world.admit("inside", visitors).await?;
    let waiting = world.tokens("line", &waiting, VISITORS);
    let inside = world.tokens("inside", &inside, VISITORS);
    let waiting = Arc::new(Requests::with_tokens("/v1/queues/line/token", &waiting));
    let inside = Arc::new(Requests::with_tokens("/v1/queues/inside/authorize", &inside));
    let mut rows = Vec::new();
    for (connections, bound) in CONNECTIONS {
        let joins = Arc::new(Requests::joins(&["joins".to_owned()], 1, connections as u64));
        for (operation, requests, expect) in [
            ("queue.join", joins, 201),
            ("queue.place", waiting.clone(), 200),
            ("queue.authorize", inside.clone(), 200),
        ] {
            let question = Question { operation, requests, expect };
            let settings = settings.connections(connections);
            let it = measure_without_ticks(&world, &settings, &question).await?;
            // Of those answered in the window each connection may have asked one before it.
            ensure!(
                it.items + connections as f64 >= it.requests,
                "{operation}: requests that asked nothing of the store"
            );
            let name = operation.trim_start_matches("queue.");
            say(&format!(
                "{connections} connections: {name} {:.4} calls a request",
                it.calls / it.items
            ));
            rows.push(
                Row::new(format!("{name}, {connections}"))
                    .figure("requests/s", it.rate())
                    .within("EVALSHA/request", it.calls / it.items, Some(bound))
                    .figure("items a call", it.items / it.calls)
                    .figure("admission µs", it.per_request(it.admission_us))
                    .figure("Redis µs", it.per_request(it.store_us))
                    .figure("script µs a call", it.script_us / it.evalsha)
                    .figure("script µs an item", it.script_us / it.items),
            );
        }
    }
    sections.put(Section {
        name: NAME,
        title: "Calls to the store by the number of connections".to_owned(),
        how: "The scheduler is stopped meanwhile, so that all scripts are those of the row. Calls and \
              items are counted by admission (`anteroom_store_batch_items`), time in scripts by \
              Redis (`INFO commandstats`, by the clock: it holds what other processes took of the \
              core)."
            .to_owned(),
        rows,
    });
    Ok(())
}
