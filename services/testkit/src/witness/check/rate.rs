//! Promise 2: in no interval are more than `batch` places promoted, less those of the same interval
//! that gave their turn up or did not claim it.

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
    let mut violations = Vec::new();
    each_interval(places, rules, |begin, end, promoted| {
        if promoted.len() > batch {
            let what =
                format!("{} promoted from {begin} to {end} µs, batch {batch}", promoted.len());
            violations.push(Violation::new(2, what, promoted.iter().map(|it| it.line)));
        }
    });
    violations
}

/// How many were certainly promoted within one interval.
pub(super) fn most(places: &[Place], rules: &Rules) -> usize {
    let mut most = 0;
    each_interval(places, rules, |_, _, promoted| most = most.max(promoted.len()));
    most
}

/// All that were certainly promoted in the interval that ends with a promotion, for each.
fn each_interval(places: &[Place], rules: &Rules, mut look: impl FnMut(u64, u64, &[&Promotion])) {
    let interval = micros(rules.interval);
    let mut promotions: Vec<_> = places.iter().filter_map(promotion).collect();
    promotions.sort_unstable_by_key(|promotion| promotion.by);
    let mut first = 0;
    for (at, last) in promotions.iter().enumerate() {
        let begin = last.by.saturating_sub(interval);
        while promotions[first].by < begin {
            first += 1;
        }
        let counts = |it: &&Promotion| it.since + interval > last.by && it.spent_until >= last.by;
        let inside: Vec<_> = promotions[first..=at].iter().filter(counts).collect();
        look(begin, last.by, &inside);
    }
}

fn promotion(place: &Place) -> Option<Promotion> {
    let promoted = place.promoted()?;
    // A turn that was claimed is never given back.
    let claimed = place.admissions().any(|(_, line)| matches!(line.told, Told::Active { .. }));
    let spent_until = if claimed { u64::MAX } else { place.admitted()?.until };
    Some(Promotion { since: promoted.since, by: promoted.by, spent_until, line: promoted.line })
}
