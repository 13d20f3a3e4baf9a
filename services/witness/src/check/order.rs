//! Promise 3: tickets are in the order of the joins, and places that are present are promoted in
//! the order of their tickets.

use std::collections::BTreeSet;

use crate::place::Place;

use super::Violation;

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
        moments.push((place.created_after.unwrap_or(0), true, at));
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

/// No place still waits after a later ticket was promoted, unless away meanwhile.
fn promotions(places: &[Place]) -> Vec<Violation> {
    let mut by_ticket: Vec<_> = places.iter().collect();
    by_ticket.sort_by_key(|place| place.held);
    let lives = by_ticket.chunk_by(|one, other| one.held.epoch == other.held.epoch);
    lives.flat_map(promotions_in_one_life).collect()
}

/// A span in which a place was certainly present and in line, within which no place behind it may
/// be promoted.
struct Wait {
    from: u64,
    /// Without it: in one instant nothing is proven.
    until: u64,
    /// The place's rank by ticket.
    rank: usize,
}

fn promotions_in_one_life(places: &[&Place]) -> Vec<Violation> {
    let promoted: Vec<_> = places.iter().map(|place| place.promoted()).collect();
    let mut waits: Vec<_> = places.iter().enumerate().flat_map(waits).collect();
    waits.sort_unstable_by_key(|wait| wait.until);
    let mut promotions: Vec<_> = (0..places.len()).filter(|at| promoted[*at].is_some()).collect();
    promotions.sort_by_key(|at| promoted[*at].as_ref().map(|it| it.by));
    let mut promotions = promotions.into_iter().peekable();
    let mut behind = LatestBehind::new(places.len());
    let (mut overtaken, mut violations) = (BTreeSet::new(), Vec::new());
    for wait in waits {
        let is_over = |at: &usize| promoted[*at].as_ref().is_some_and(|it| it.by < wait.until);
        while let Some(at) = promotions.next_if(is_over) {
            behind.promoted(at, promoted[at].as_ref().map_or(0, |it| it.after));
        }
        let Some((_, other)) = behind.latest(wait.rank).filter(|(after, _)| *after >= wait.from)
        else {
            continue;
        };
        let (place, Some(by)) = (places[wait.rank], &promoted[other]) else { continue };
        let look = place.waiting().find(|(_, line)| place.as_of(line) > by.by);
        if let Some((look, _)) = look.filter(|_| overtaken.insert(wait.rank)) {
            let (ticket, other) = (place.held.ticket, places[other].held.ticket);
            let what = format!("ticket {ticket} waits after {other} was promoted");
            violations.push(Violation::new(3, what, [look, by.line]));
        }
    }
    violations
}

/// The spans in which a place was present, each cut at its last look that still found it waiting.
fn waits((rank, place): (usize, &&Place)) -> Vec<Wait> {
    let last = place.waiting().map(|(_, line)| place.as_of(line)).max().unwrap_or(0);
    let spans = place.presence().map(|(from, until)| (from, last.min(until + 1)));
    let spans = spans.filter(|(from, until)| from < until);
    spans.map(|(from, until)| Wait { from, until, rank }).collect()
}

/// Of the promotions so far, the one that came latest at the earliest, among all tickets behind
/// one: a Fenwick tree of maxima, from the end of the line.
struct LatestBehind {
    tree: Vec<Option<(u64, usize)>>,
}

impl LatestBehind {
    fn new(places: usize) -> Self {
        Self { tree: vec![None; places + 1] }
    }

    /// The place of this rank was promoted, not before `after`.
    fn promoted(&mut self, rank: usize, after: u64) {
        let mut at = self.tree.len() - 1 - rank;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].max(Some((after, rank)));
            at += at & at.wrapping_neg();
        }
    }

    /// Among the ranks behind this one.
    fn latest(&self, rank: usize) -> Option<(u64, usize)> {
        let mut at = self.tree.len() - 2 - rank;
        let mut latest = None;
        while at > 0 {
            latest = latest.max(self.tree[at]);
            at -= at & at.wrapping_neg();
        }
        latest
    }
}
