//! Promise 3: tickets are in the order of the joins, and places that are present are promoted in
//! the order of their tickets.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use super::{super::place::Place, Violation};

pub(super) fn check(places: &[Place]) -> Vec<Violation> {
    let mut violations = joins(places);
    violations.extend(promotions(places));
    violations
}

/// A join that was answered before another was sent has the lower ticket.
fn joins(places: &[Place]) -> Vec<Violation> {
    let mut moments = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let Some((_, line)) = place.alive().next() else { continue };
        moments.push((place.born_after, true, at));
        moments.push((line.received, false, at));
    }
    // In one instant the sending comes first: then neither was before the other.
    moments.sort_unstable_by_key(|(moment, is_sent, at)| (*moment, !is_sent, *at));
    let (mut last, mut violations) = (None::<&Place>, Vec::new());
    for (_, is_sent, at) in moments {
        let place = &places[at];
        if is_sent {
            if let Some(before) = last.filter(|before| {
                before.held.epoch == place.held.epoch && before.held.ticket > place.held.ticket
            }) {
                let (early, late) = (before.held.ticket, place.held.ticket);
                let what = format!("ticket {early} was given before the join of {late} was sent");
                let lines = [before, place].into_iter().filter_map(|it| it.lines.first());
                violations.push(Violation::new(3, what, lines.map(|(at, _)| *at)));
            }
        } else if last.is_none_or(|before| before.held < place.held) {
            last = Some(place);
        }
    }
    violations
}

/// Nobody still waits after a later ticket was promoted, unless away meanwhile.
fn promotions(places: &[Place]) -> Vec<Violation> {
    let promoted: Vec<_> = places.iter().map(Place::promoted).collect();
    let mut moments = Vec::new();
    for (at, place) in places.iter().enumerate() {
        moments.extend(promoted[at].iter().map(|it| (it.by, None, at)));
        moments.extend(place.waiting().map(|(number, line)| (line.sent, Some(number), at)));
    }
    // In one instant the look comes first: then it proves nothing.
    moments.sort_unstable_by_key(|(moment, look, at)| (*moment, look.is_none(), *at));
    let (mut gone_ahead, mut overtaken) = (BTreeMap::new(), BTreeSet::new());
    let mut violations = Vec::new();
    for (_, look, at) in moments {
        let place = &places[at];
        let Some(look) = look else {
            gone_ahead.insert(place.held, at);
            continue;
        };
        let behind = (Bound::Excluded(place.held), Bound::Unbounded);
        let overtaken_by = gone_ahead.range(behind).find_map(|(held, other)| {
            let other = promoted[*other].as_ref().filter(|_| held.epoch == place.held.epoch)?;
            place.was_present(other.after, other.by).then_some((held.ticket, other.line))
        });
        if let Some((ticket, line)) = overtaken_by
            && overtaken.insert(place.held)
        {
            let what = format!("ticket {} waits after {ticket} was promoted", place.held.ticket);
            violations.push(Violation::new(3, what, [look, line]));
        }
    }
    violations
}
