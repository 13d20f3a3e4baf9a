//! Promise 5: an acknowledged place is lost by nothing: it exists until the end that was shown,
//! moves only forward, and ends only for a reason that there was.

use crate::{
    Call, Line, Rules, Shown,
    place::{Entry, Place},
};

use super::Violation;

/// Ends are shown in whole milliseconds, at the gate in whole seconds.
const ROUNDING: u64 = 1_002_000;

/// With `local_answers` a position is off by at most so many per cent, in either direction.
const OFF: u128 = 3;

pub(super) fn check(places: &[Place], rules: &Rules) -> Vec<Violation> {
    let of_one = |place: &Place| {
        let back = backwards(place).or_else(|| worse_than_sent(place));
        [gone(place), back.or_else(|| worse_than_shown(place, rules))]
    };
    places.iter().flat_map(of_one).flatten().collect()
}

/// The end came too soon, or for no reason.
fn gone(place: &Place) -> Option<Violation> {
    let (end, proof) = place.exists_until()?;
    let until = end.min(place.left_at);
    let claimed = place.admissions().any(|(_, line)| matches!(line.shown, Shown::Active { .. }));
    place.gone().find_map(|(at, line)| {
        let Shown::Gone { reason } = &line.shown else { return None };
        let accuse = |what: &str| {
            let what = format!("ticket {} ended ({reason}) {what}", place.held.ticket);
            Some(Violation::new(5, what, [at, proof]))
        };
        match reason.as_str() {
            "lost" => accuse("as the waiting room reported"),
            "left" | "completed" | "evicted" if line.received < place.left_at => {
                accuse("and no call ended it")
            }
            "unclaimed" if claimed => accuse("although it was claimed"),
            // A place that was given up is gone for another reason.
            "abandoned" if line.received < place.present_until() => {
                accuse("before its time was over")
            }
            "unclaimed" | "expired" | "abandoned" if line.received < end => {
                accuse("before its time was over")
            }
            _ if line.received < until => accuse("before its time was over"),
            _ => None,
        }
    })
}

/// How far a place has come: a later answer never shows less.
fn progress((_, line): &Entry) -> (u8, u64) {
    match &line.shown {
        Shown::Nothing => (0, 0),
        Shown::Waiting { .. } => (1, 0),
        Shown::Ready { .. } => (2, 0),
        Shown::Active { left_ms } => (3, line.sent + 1_000 * left_ms),
        Shown::Gone { .. } => (4, 0),
    }
}

/// An answer shows less than one that was there before its request.
fn backwards(place: &Place) -> Option<Violation> {
    let mut by_time = place.lines.clone();
    // A pass may come from the memory of the process, which knows an earlier end, and no end before
    // it.
    let from_memory =
        |line: &Line| line.call == Call::Authorize && matches!(line.shown, Shown::Active { .. });
    by_time.retain(|(_, line)| !from_memory(line));
    by_time.sort_by_key(|(_, line)| place.as_of(line));
    let mut received = place.lines.iter().peekable();
    let mut furthest: Option<&Entry> = None;
    for later in &by_time {
        let as_of = place.as_of(later.1);
        while let Some(earlier) = received.next_if(|(_, line)| line.received <= as_of) {
            if furthest.is_none_or(|furthest| progress(furthest) < progress(earlier)) {
                furthest = Some(earlier);
            }
        }
        let Some(furthest) = furthest else { continue };
        let (before, now) = (progress(furthest), progress(later));
        // A session's end: the earlier answer's lower bound against this one's upper bound.
        let took = later.1.received - later.1.sent;
        let tolerated = if before.0 == 3 { took + ROUNDING } else { 0 };
        if (now.0, now.1.saturating_add(tolerated)) < before {
            let what = format!("ticket {} goes backwards", place.held.ticket);
            return Some(Violation::new(5, what, [furthest.0, later.0]));
        }
    }
    None
}

/// The position that an answer shows.
fn position(line: &Line) -> Option<u64> {
    match line.shown {
        // The gate shows none.
        Shown::Waiting { position } => position,
        _ => None,
    }
}

fn worse(place: &Place, before: u64, now: &Entry, proof: Option<usize>) -> Violation {
    let now_position = position(now.1).unwrap_or_default();
    let ticket = place.held.ticket;
    let what = format!("ticket {ticket} goes backwards: position {now_position} after {before}");
    Violation::new(5, what, proof.into_iter().chain([now.0]))
}

/// An answer shows a worse position than the one that went with its request, if that was of the
/// same place.
fn worse_than_sent(place: &Place) -> Option<Violation> {
    place.lines.iter().find_map(|entry @ (_, line)| {
        let sent = line.position.filter(|_| line.holds == Some(place.held))?;
        position(line).filter(|now| *now > sent)?;
        // The client may know it from the board, of which there is no line.
        let showed =
            |(_, other): &&Entry| other.received <= line.received && position(other) == Some(sent);
        let proof = place.lines.iter().find(showed).map(|(at, _)| *at);
        Some(worse(place, sent, entry, proof))
    })
}

/// An answer shows a worse position than one that was there before its request, whichever tab sent
/// them.
///
/// With `local_answers` both may be off, in opposite directions.
fn worse_than_shown(place: &Place, rules: &Rules) -> Option<Violation> {
    let off = if rules.local_answers { OFF } else { 0 };
    let mut by_time = place.lines.clone();
    by_time.sort_by_key(|(_, line)| place.as_of(line));
    let mut received = place.lines.iter().peekable();
    let mut least: Option<(u64, usize)> = None;
    by_time.iter().find_map(|later| {
        let as_of = place.as_of(later.1);
        while let Some((at, line)) = received.next_if(|(_, line)| line.received <= as_of) {
            // A position that the client itself sent can be one of the board, which is off too.
            let own = position(line).filter(|own| line.position.is_none_or(|sent| *own < sent));
            least = [least, own.map(|own| (own, *at))].into_iter().flatten().min();
        }
        let ((before, proof), now) = (least?, position(later.1)?);
        let is_worse = (100 - off) * u128::from(now) > (100 + off) * u128::from(before);
        is_worse.then(|| worse(place, before, later, Some(proof)))
    })
}
