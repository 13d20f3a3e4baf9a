//! Spans of time that hold at once: how many there are at most, and when there are too many.

use std::collections::BTreeSet;

/// A span of time, without its end.
pub(super) struct Span {
    pub from: u64,
    pub until: u64,
}

/// The greatest number of spans that hold at once.
pub(super) fn most(spans: &[Span]) -> usize {
    let mut most = 0;
    each_beginning(spans, |_, holding| most = most.max(holding.len()));
    most
}

/// The moments at which more than `limit` hold, at most so many of the moments, each with the
/// spans by their index.
pub(super) fn too_many(spans: &[Span], limit: usize, moments: usize) -> Vec<(u64, Vec<usize>)> {
    let mut found = Vec::new();
    each_beginning(spans, |moment, holding| {
        if holding.len() > limit && found.len() < moments {
            found.push((moment, holding.iter().copied().collect()));
        }
    });
    found
}

/// The spans that hold at each moment at which one begins.
fn each_beginning(spans: &[Span], mut look: impl FnMut(u64, &BTreeSet<usize>)) {
    let mut moments = Vec::new();
    for (at, span) in spans.iter().enumerate().filter(|(_, span)| span.from < span.until) {
        moments.push((span.from, true, at));
        moments.push((span.until, false, at));
    }
    // What ends in an instant ends before what begins in it.
    moments.sort_unstable();
    let mut holding = BTreeSet::new();
    for (moment, begins, at) in moments {
        if begins {
            holding.insert(at);
            look(moment, &holding);
        } else {
            holding.remove(&at);
        }
    }
}
