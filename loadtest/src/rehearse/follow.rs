//! What `--follow` says on standard output: a line of JSON each second, and the verdict at the end.

use std::{io::Write as _, sync::Arc, time::Duration};

use serde::Serialize;
use tokio::{task::JoinHandle, time::interval};

use crate::rehearse::{
    Stage,
    delivery::Deliveries,
    result::{Promises, Run},
    run::Over,
};

/// What has happened up to now.
#[derive(Serialize)]
struct Second {
    /// Milliseconds since the start.
    at_ms: u64,
    /// Visitors that came, and those whose visits are over.
    came: u64,
    over: u64,
    /// In line, and ready or active, at the last look; absent when nobody answered.
    depth: Option<u64>,
    inside: Option<u64>,
    /// All requests so far.
    connections: Deliveries,
    /// When places were promoted of which visitors learnt since the last line, in milliseconds
    /// since the start.
    promoted_ms: Vec<u64>,
}

/// The end of a run with the waiting room.
#[derive(Serialize)]
struct Verdict<'a> {
    over: Over,
    seconds: f64,
    came: u64,
    refused: u64,
    connections: &'a Deliveries,
    promises: &'a Promises,
}

/// A line each second, until the task is aborted.
pub fn seconds(stage: &Arc<Stage>) -> JoinHandle<()> {
    let stage = Arc::clone(stage);
    tokio::spawn(async move {
        let mut seconds = interval(Duration::from_secs(1));
        loop {
            seconds.tick().await;
            say(&second(&stage));
        }
    })
}

fn second(stage: &Stage) -> Second {
    let mut counts = stage.tally.counts();
    let last = counts.looks.last().copied().flatten();
    Second {
        at_ms: stage.record.now() / 1_000,
        came: counts.came.values().sum(),
        over: counts.over(),
        depth: last.map(|look| look.depth),
        inside: last.map(|look| look.inside),
        connections: stage.connections.deliveries(),
        promoted_ms: std::mem::take(&mut counts.promoted_ms),
    }
}

/// The verdict, of a run that had a waiting room.
pub fn verdict(run: &Run) {
    if let Some(room) = &run.room {
        say(&Verdict {
            over: run.over,
            seconds: run.seconds,
            came: run.came,
            refused: run.refused,
            connections: &run.connections,
            promises: &room.promises,
        });
    }
}

fn say(line: &impl Serialize) {
    // Where nobody reads, the report still tells; of numbers and texts every line can be made.
    if let Ok(line) = serde_json::to_string(line) {
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}
