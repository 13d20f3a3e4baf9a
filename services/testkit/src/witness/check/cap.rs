//! Promise 1: at no instant are more places ready or active than `capacity`.

use super::{super::Rules, super::place::Place, Violation};

pub(super) fn check(places: &[Place], rules: &Rules) -> Vec<Violation> {
    let Some(capacity) = rules.capacity else { return Vec::new() };
    let spans: Vec<_> = places.iter().filter_map(Place::admitted).collect();
    let mut moments = Vec::new();
    for (at, span) in spans.iter().enumerate().filter(|(_, span)| span.from < span.until) {
        moments.push((span.from, true, at));
        moments.push((span.until, false, at));
    }
    // What ends in an instant ends before what begins in it.
    moments.sort_unstable();
    let (mut inside, mut violations) = (Vec::new(), Vec::new());
    for (moment, begins, at) in moments {
        if !begins {
            inside.retain(|other| *other != at);
            continue;
        }
        inside.push(at);
        if inside.len() > capacity {
            let what =
                format!("{} ready or active at {moment} µs, capacity {capacity}", inside.len());
            let lines = inside.iter().flat_map(|at| spans[*at].lines);
            violations.push(Violation::new(1, what, lines));
        }
    }
    violations
}
