//! What `--follow` says on standard output: a line of JSON each second, and the verdict at the end.

use std::convert::Infallible;
use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::interval;

use super::Stage;
use super::counts::End;
use super::result::Rehearsal;
use super::run::Ran;

/// A line each second.
pub async fn seconds(stage: &Stage) -> Infallible {
    let mut seconds = interval(Duration::from_secs(1));
    loop {
        seconds.tick().await;
        say(&second(stage));
    }
}

/// What has happened up to now: times in milliseconds since the start, `depth` and `inside` at the
/// last look, and the promotions that visitors have learnt of since the last line.
fn second(stage: &Stage) -> Value {
    let mut counts = stage.counts();
    let last = counts.looks.last().copied().flatten();
    json!({
        "at_ms": stage.record.now() / 1_000,
        "came": counts.came,
        "over": counts.over(),
        "depth": last.map(|look| look.depth),
        "inside": last.map(|look| look.inside),
        "connections": counts.connections,
        "promoted_ms": std::mem::take(&mut counts.promoted_ms),
    })
}

/// The verdict, of a run that had a waiting room.
pub fn verdict(rehearsal: &Rehearsal<'_>) {
    if let Some((Ran { over, took, counts, .. }, verdict)) = rehearsal.room() {
        say(&json!({
            "over": over,
            "seconds": took.as_secs_f64(),
            "came": counts.came,
            "refused": counts.ended_as(End::Refused),
            "connections": counts.connections,
            "promises": rehearsal.promises(counts, verdict),
        }));
    }
}

fn say(line: &Value) {
    // Where nobody reads, the report still tells.
    let _ = writeln!(std::io::stdout(), "{line}");
}
