//! Promise 1: at no instant are more places ready or active than `capacity`.

use crate::{
    Rules,
    place::{Admitted, Place},
};

use super::{
    MOST, Violation,
    moments::{self, Span},
};

pub(super) fn check(places: &[Place], rules: &Rules) -> Vec<Violation> {
    let Some(capacity) = rules.capacity else { return Vec::new() };
    let (admitted, spans) = spans(places);
    let accuse = |(moment, inside): (u64, Vec<usize>)| {
        let what = format!("{} ready or active at {moment} µs, capacity {capacity}", inside.len());
        Violation::new(1, what, inside.iter().flat_map(|at| admitted[*at].lines))
    };
    moments::too_many(&spans, capacity, MOST).into_iter().map(accuse).collect()
}

/// How many were certainly ready or active at once.
pub(super) fn most(places: &[Place]) -> usize {
    moments::most(&spans(places).1)
}

/// When places were certainly inside.
fn spans(places: &[Place]) -> (Vec<Admitted>, Vec<Span>) {
    let admitted: Vec<_> = places.iter().filter_map(Place::admitted).collect();
    let spans = admitted.iter().map(|it| Span { from: it.from, until: it.until }).collect();
    (admitted, spans)
}
