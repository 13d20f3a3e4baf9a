//! The witness judges while the visitors go on, and the whole at the end.

use std::time::{Duration, Instant};

use anteroom_witness::{Busiest, Line, busiest, check};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Stage;

/// The first check, and at most so often.
const EVERY: Duration = Duration::from_secs(5);
/// A check may take this part of the time until the next.
const SHARE: u32 = 10;

/// What the witness found, and the cheaters.
#[derive(Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// Each with its promise, and the lines that prove it.
    pub violations: Vec<(u8, String)>,
    /// Certainly ready or active at once.
    pub most_inside: usize,
    /// Certainly promoted within one interval.
    pub most_promoted: usize,
    /// Whether other rules than the first were in force later: then the record was held to what
    /// all of them forbid.
    pub rules_changed: bool,
    /// The whole record.
    #[serde(skip)]
    pub record: Vec<Line>,
    /// How many lines it has.
    pub lines: usize,
}

impl Verdict {
    /// What broke a promise.
    pub fn reports(&self) -> Vec<&str> {
        self.violations.iter().map(|(_, report)| report.as_str()).collect()
    }

    /// Adds that of another machine. Each has seen its own visitors alone, so what they saw at once
    /// is not added.
    pub fn merge(&mut self, other: Self) {
        self.violations.extend(other.violations);
        self.most_inside = self.most_inside.max(other.most_inside);
        self.most_promoted = self.most_promoted.max(other.most_promoted);
        self.rules_changed |= other.rules_changed;
        self.lines += other.lines;
    }
}

/// Judges the record again and again until the visits are `over`, then once more; with the first
/// violation it says that a promise is `broken`, and waits for the end.
pub async fn judge(stage: &Stage, over: &CancellationToken, broken: &CancellationToken) -> Verdict {
    let (mut record, mut pause) = (Vec::new(), EVERY);
    let (record, violations, rules_changed, busiest) = loop {
        let is_last = over.run_until_cancelled(sleep(pause)).await.is_none();
        let under_way = stage.record.take(&mut record);
        // A visitor whom other rules let in came in before now.
        let _ = stage.site.rules.look().await;
        let ((rules, changed), began) = (stage.site.rules.together(), Instant::now());
        let checked = spawn_blocking(move || {
            let (lines, busiest) = (record.len(), is_last.then(|| busiest(&record, &rules)));
            record.extend(under_way);
            // What no history that keeps the promises could have answered.
            let found = check(&record, &rules).into_iter();
            let found = found.map(|it| (it.promise, it.report(&record))).collect::<Vec<_>>();
            record.truncate(lines);
            (record, found, busiest)
        });
        let (checked, violations, busiest) = checked.await.expect("a check does not panic");
        if let Some(busiest) = busiest {
            break (checked, violations, changed, busiest);
        }
        if !violations.is_empty() {
            // The visits end now; the last check sees what they still heard.
            broken.cancel();
        }
        record = checked;
        pause = EVERY.max(began.elapsed() * SHARE);
    };
    let Busiest { inside: most_inside, promoted: most_promoted } = busiest;
    let lines = record.len();
    Verdict { violations, most_inside, most_promoted, rules_changed, record, lines }
}
