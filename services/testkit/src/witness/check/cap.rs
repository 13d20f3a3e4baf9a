//! Promise 1: at no instant are more places ready or active than `capacity`.

use super::{
    super::{
        Rules,
        place::{Admitted, Place},
    },
    Violation,
};

pub(super) fn check(places: &[Place], rules: &Rules) -> Vec<Violation> {
    let Some(capacity) = rules.capacity else { return Vec::new() };
    let mut violations = Vec::new();
    each_moment(places, |moment, inside| {
        if inside.len() > capacity {
            let what =
                format!("{} ready or active at {moment} µs, capacity {capacity}", inside.len());
            let lines = inside.iter().flat_map(|span| span.lines);
            violations.push(Violation::new(1, what, lines));
        }
    });
    violations
}

/// How many were certainly ready or active at once.
pub(super) fn most(places: &[Place]) -> usize {
    let mut most = 0;
    each_moment(places, |_, inside| most = most.max(inside.len()));
    most
}

/// All that are certainly inside, at each moment at which one more is.
fn each_moment(places: &[Place], mut look: impl FnMut(u64, &[&Admitted])) {
    let spans: Vec<_> = places.iter().filter_map(Place::admitted).collect();
    let mut moments = Vec::new();
    for (at, span) in spans.iter().enumerate().filter(|(_, span)| span.from < span.until) {
        moments.push((span.from, true, at));
        moments.push((span.until, false, at));
    }
    // What ends in an instant ends before what begins in it.
    moments.sort_unstable();
    let mut inside = Vec::new();
    for (moment, begins, at) in moments {
        if begins {
            inside.push(&spans[at]);
            look(moment, &inside);
        } else {
            inside.retain(|span| !std::ptr::eq(*span, &spans[at]));
        }
    }
}
