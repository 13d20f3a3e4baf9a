//! Promise 4: one identity has one place and one proof of it, whatever is sent again; and an answer
//! is about the place that was requested.

use std::collections::BTreeMap;

use crate::place::Place;

use super::Violation;

pub(super) fn check(places: &[Place]) -> Vec<Violation> {
    let mut violations = two_places(places);
    violations.extend(shared_tickets(places));
    violations.extend(places.iter().flat_map(other_proofs));
    violations
}

/// Two places of one identity that existed at the same time.
fn two_places(places: &[Place]) -> Vec<Violation> {
    let mut of: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for place in places {
        let span = place.existed().filter(|(from, until, _)| from < until);
        of.entry(place.identity).or_default().extend(span.map(|span| (span, place)));
    }
    let mut violations = Vec::new();
    for (identity, mut of) in of {
        of.sort_unstable_by_key(|(span, _)| *span);
        let mut longest: Option<((u64, u64, usize), &Place)> = None;
        for next @ ((from, until, line), other) in of {
            if let Some(((_, still, first), one)) = longest
                && from < still
            {
                let (one, other) = (one.held.ticket, other.held.ticket);
                let what = format!("identity {identity} has the tickets {one} and {other} at once");
                violations.push(Violation::new(4, what, [first, line]));
            }
            if longest.is_none_or(|((_, still, _), _)| still < until) {
                longest = Some(next);
            }
        }
    }
    violations
}

/// One ticket that was given to two identities.
fn shared_tickets(places: &[Place]) -> Vec<Violation> {
    let mut owners = BTreeMap::new();
    let mut violations = Vec::new();
    for place in places {
        let Some((line, _)) = place.alive().next() else { continue };
        let (owner, first) = *owners.entry(place.held).or_insert((place.identity, line));
        if owner != place.identity {
            let (ticket, other) = (place.held.ticket, place.identity);
            let what = format!("identities {owner} and {other} both have ticket {ticket}");
            violations.push(Violation::new(4, what, [first, line]));
        }
    }
    violations
}

/// Another token for the same place, or an answer about another place than that of the token.
fn other_proofs(place: &Place) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut tokens = place.lines.iter().filter(|(_, line)| line.token.is_some());
    if let Some((first, one)) = tokens.next()
        && let Some((at, _)) = tokens.find(|(_, line)| line.token != one.token)
    {
        let what = format!("ticket {} has two tokens", place.held.ticket);
        violations.push(Violation::new(4, what, [*first, *at]));
    }
    for (at, line) in &place.lines {
        if line.ticket.is_some_and(|ticket| ticket != place.held.ticket) {
            let what = format!("an answer for ticket {} is about another", place.held.ticket);
            violations.push(Violation::new(4, what, [*at]));
        }
    }
    violations
}
