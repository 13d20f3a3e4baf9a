//! How many requests share a call to the store: EVALSHA per request by the number of connections.

use std::sync::Arc;

use anyhow::ensure;

use crate::{
    meter::{Counted, Question, measure_without_ticks},
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
    let place = world.place("line", visitors, VISITORS).await?;
    let authorize = world.authorize("inside", visitors, VISITORS).await?;
    let mut rows = Vec::new();
    for (connections, bound) in CONNECTIONS {
        let joins = Arc::new(Requests::joins(&["joins".to_owned()], 1, connections as u64));
        let join = Question { operation: "queue.join", requests: joins, expect: 201 };
        for question in [&join, &place, &authorize] {
            let settings = settings.connections(connections);
            let it = measure_without_ticks(&world, &settings, question).await?;
            let Counted { calls, items, evalsha, script_us } = it.counted;
            // Of those answered in the window each connection may have sent one before it.
            ensure!(
                items + connections as f64 >= it.requests,
                "{}: requests without a call of the store",
                question.operation
            );
            let name = question.operation.trim_start_matches("queue.");
            say(&format!("{connections} connections: {name} {:.4} calls a request", calls / items));
            rows.push(
                Row::new(format!("{name}, {connections}"))
                    .figure("requests/s", it.rate)
                    .within("EVALSHA/request", calls / items, Some(bound))
                    .figure("items a call", items / calls)
                    .figure("admission µs", it.server_us)
                    .figure("Redis µs", it.store_us)
                    .figure("script µs a call", script_us / evalsha)
                    .figure("script µs an item", script_us / items),
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
