//! Promise 2: in no interval are more than `batch` places promoted, less those of the same interval that
//! gave their turn up or did not claim it.

use super::{
    super::{Rules, Told, place::Place, rules::micros},
    Violation,
};

/// A promotion that counts.
struct Promotion {
    since: u64,
    by: u64,
    /// Until then it certainly has not given its share of the rate back.
    spent_until: u64,
    line: usize,
}

pub(super) fn check(places: &[Place], rules: &Rules) -> Vec<Violation> {
    let Some(batch) = rules.batch else { return Vec::new() };
    let interval = micros(rules.interval);
    let mut promotions: Vec<_> = places.iter().filter_map(promotion).collect();
    promotions.sort_unstable_by_key(|promotion| promotion.by);
    let (mut first, mut violations) = (0, Vec::new());
    for (at, last) in promotions.iter().enumerate() {
        let begin = last.by.saturating_sub(interval);
        while promotions[first].by < begin {
            first += 1;
        }
        let counts = |it: &&Promotion| it.since + interval > last.by && it.spent_until >= last.by;
        let inside: Vec<_> = promotions[first..=at].iter().filter(counts).collect();
        if inside.len() > batch {
            let what =
                format!("{} promoted from {begin} to {} µs, batch {batch}", inside.len(), last.by);
            violations.push(Violation::new(2, what, inside.iter().map(|it| it.line)));
        }
    }
    violations
}

fn promotion(place: &Place) -> Option<Promotion> {
    let promoted = place.promoted()?;
    // A turn that was claimed is never given back.
    let claimed = place.admissions().any(|(_, line)| matches!(line.told, Told::Active { .. }));
    let spent_until = if claimed { u64::MAX } else { place.admitted()?.until };
    Some(Promotion { since: promoted.since, by: promoted.by, spent_until, line: promoted.line })
}
