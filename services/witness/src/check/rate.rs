//! Promise 2: in no interval are more than `batch` places promoted, less those of the same interval
//! that gave their turn up or did not claim it.

use crate::{Rules, Shown, place::Place, rules::micros};

use super::{
    MOST, Violation,
    moments::{self, Span},
};

pub(super) fn check(places: &[Place], rules: &Rules) -> Vec<Violation> {
    let Some(batch) = rules.batch else { return Vec::new() };
    let (lines, spans) = spans(places, rules);
    let accuse = |(end, promoted): (u64, Vec<usize>)| {
        let begin = end.saturating_sub(micros(rules.interval));
        let what = format!("{} promoted from {begin} to {end} µs, batch {batch}", promoted.len());
        Violation::new(2, what, promoted.iter().map(|at| lines[*at]))
    };
    moments::too_many(&spans, batch, MOST).into_iter().map(accuse).collect()
}

/// How many were certainly promoted within one interval.
pub(super) fn most(places: &[Place], rules: &Rules) -> usize {
    moments::most(&spans(places, rules).1)
}

/// The answers that show promotions, and when each counts in the interval up to then.
fn spans(places: &[Place], rules: &Rules) -> (Vec<usize>, Vec<Span>) {
    places.iter().filter_map(|place| span(place, rules)).unzip()
}

fn span(place: &Place, rules: &Rules) -> Option<(usize, Span)> {
    let promoted = place.promoted()?;
    // A turn that was claimed is never given back.
    let claimed = place.admissions().any(|(_, line)| matches!(line.shown, Shown::Active { .. }));
    // Until then it certainly has not given its share of the rate back.
    let spent_until = if claimed { u64::MAX } else { place.admitted()?.until.saturating_add(1) };
    let interval = micros(rules.interval);
    let until = promoted.since?.saturating_add(interval).min(promoted.by + interval + 1);
    Some((promoted.line, Span { from: promoted.by, until: until.min(spent_until) }))
}
