//! The table of `docs/explanation/wait-estimates.md`: situations, and how good the estimates are in
//! each.
//!
//! `make estimates` prints it. Real scripts run on a real Redis whose clock the test moves, so
//! hours of a queue pass in seconds. All that is random is seeded.

mod room;
mod situations;

use futures_util::StreamExt as _;

use self::room::{Look, play};
use self::situations::{SITUATIONS, Situation};
use crate::support::TimedStore;

/// So many of the waits are within the 90th percentile that was shown, in percent.
const COVERED: std::ops::RangeInclusive<f64> = 85.0..=97.0;
/// What the median is of the true wait, at half of the visitors, where the situation is steady.
const MEDIAN: std::ops::RangeInclusive<f64> = 0.75..=1.25;
/// Fewer looks say nothing.
const FEWEST: usize = 150;

/// What a set of looks comes to.
struct Score {
    looks: usize,
    /// Percent of the waits that the 90th percentile covered.
    covered: f64,
    /// The median, in parts of the true wait, at half of the looks.
    median: f64,
}

impl Score {
    fn of(looks: &[&Look]) -> Self {
        let covered = looks.iter().filter(|look| look.wait <= look.slow).count();
        let mut errors: Vec<_> = looks.iter().map(|look| look.median / look.wait).collect();
        errors.sort_by(f64::total_cmp);
        Self {
            looks: looks.len(),
            covered: 100.0 * covered as f64 / looks.len() as f64,
            median: errors.get(errors.len() / 2).copied().unwrap_or(f64::NAN),
        }
    }

    fn cells(&self) -> String {
        format!("{:.1} % | {:.2} | {}", self.covered, self.median, self.looks)
    }

    fn misses(&self, of: &Situation) -> bool {
        !COVERED.contains(&self.covered)
            || of.is_steady && !MEDIAN.contains(&self.median)
            || self.looks < FEWEST
    }
}

/// A row of the table, and whether it misses the goal.
async fn row(situation: &Situation) -> (String, bool) {
    let world = TimedStore::new().await;
    let mut looks = Vec::new();
    for seed in 0..situation.runs {
        world.begin_again().await;
        looks.extend(play(&world, situation, seed).await);
    }
    let at_join = looks.iter().filter(|look| look.at_join).collect::<Vec<_>>();
    let at_half = looks.iter().filter(|look| !look.at_join).collect::<Vec<_>>();
    let (join, half) = (Score::of(&at_join), Score::of(&at_half));
    let misses = join.misses(situation) || half.misses(situation);
    (format!("| {} | {} | {} |", situation.name, join.cells(), half.cells()), misses)
}

#[tokio::test]
async fn estimates_are_within_the_goal_in_every_situation() {
    let only = std::env::var("ANTEROOM_SITUATION").unwrap_or_default();
    let played = SITUATIONS.iter().filter(|it| it.name.contains(&only)).map(row);
    let rows: Vec<_> = futures_util::stream::iter(played).buffered(2).collect().await;
    eprintln!(
        "\n| situation | covered at the join | median | looks | covered at half | median | looks |"
    );
    eprintln!("|---|---:|---:|---:|---:|---:|---:|");
    rows.iter().for_each(|(row, _)| eprintln!("{row}"));
    let missed: Vec<_> = rows.iter().filter(|(_, misses)| *misses).map(|(row, _)| row).collect();
    assert!(missed.is_empty(), "these miss the goal: {missed:#?}");
}
