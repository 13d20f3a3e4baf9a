//! The witness judges while the visitors go on, and the whole at the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_witness::{Busiest, Line, Rules, busiest, check};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::Stage;
use super::room::RulesInForce;
use super::run::finished;

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
    /// How often it was checked.
    pub checks: u32,
    /// How long the last check, of the whole record, took.
    pub last_check: Duration,
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
        self.checks = self.checks.max(other.checks);
        self.last_check = self.last_check.max(other.last_check);
    }
}

/// Judges the record again and again until the visits are `over`, then once more; with the first
/// violation it says that a promise is `broken`, and waits for the end.
pub async fn judge(
    stage: Arc<Stage>,
    over: CancellationToken,
    broken: CancellationToken,
) -> Verdict {
    let (mut lines, mut checks, mut pause) = (Vec::new(), 0, EVERY);
    loop {
        let is_last = over.run_until_cancelled(tokio::time::sleep(pause)).await.is_none();
        let under_way = stage.record.take(&mut lines);
        let rules = match &stage.site.rules {
            Some(watch) => {
                // Whoever was let in by other rules was so before now.
                watch.look().await;
                watch.together()
            }
            None => RulesInForce::default().into(),
        };
        let began = Instant::now();
        let found = tokio::task::spawn_blocking(move || {
            let violations = violations(&mut lines, under_way, &rules);
            let busiest = is_last.then(|| busiest(&lines, &rules));
            (lines, violations, busiest)
        });
        let (record, violations, busiest) = finished(found.await);
        checks += 1;
        let last_check = began.elapsed();
        if let Some(Busiest { inside: most_inside, promoted: most_promoted }) = busiest {
            let rules_changed = stage.site.rules.as_ref().is_some_and(|rules| rules.changed());
            let lines = record.len();
            return Verdict {
                violations,
                most_inside,
                most_promoted,
                rules_changed,
                record,
                lines,
                checks,
                last_check,
            };
        }
        if !violations.is_empty() {
            // The visits end now; the last check sees what they still heard.
            broken.cancel();
        }
        lines = record;
        pause = EVERY.max(last_check * SHARE);
    }
}

/// What no history that keeps the promises could have answered, as reports.
fn violations(lines: &mut Vec<Line>, under_way: Vec<Line>, rules: &Rules) -> Vec<(u8, String)> {
    let written = lines.len();
    lines.extend(under_way);
    let found = check(lines, rules);
    let reports = found.iter().map(|it| (it.promise, it.report(lines))).collect();
    lines.truncate(written);
    reports
}
