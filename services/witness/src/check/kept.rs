//! Promise 5: an acknowledged place is lost by nothing: it exists until the end that was shown,
//! moves only forward, and ends only for a reason that there was.

use crate::{
    Call, Line, Shown,
    place::{Entry, Place},
};

use super::Violation;

/// Ends are shown in whole milliseconds, at the gate in whole seconds.
const ROUNDING: u64 = 1_002_000;

pub(super) fn check(places: &[Place]) -> Vec<Violation> {
    places.iter().flat_map(|place| [gone(place), backwards(place)]).flatten().collect()
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
        // The gate shows no position.
        Shown::Nothing => (0, 0),
        Shown::Waiting { position } => (1, u64::MAX - position.unwrap_or(u64::MAX)),
        Shown::Ready { .. } => (2, 0),
        Shown::Active { left_ms } => (3, line.sent + 1_000 * left_ms),
        Shown::Gone { .. } => (4, 0),
    }
}

/// An answer shows less than one that was there before its request.
fn backwards(place: &Place) -> Option<Violation> {
    let mut by_sending = place.lines.clone();
    // A pass may come from the memory of the process, which knows an earlier end, and no end before
    // it.
    let from_memory =
        |line: &Line| line.call == Call::Authorize && matches!(line.shown, Shown::Active { .. });
    by_sending.retain(|(_, line)| !from_memory(line));
    by_sending.sort_unstable_by_key(|(_, line)| line.sent);
    let mut received = place.lines.iter().peekable();
    let mut furthest: Option<&Entry> = None;
    for later in &by_sending {
        while let Some(earlier) = received.next_if(|(_, line)| line.received <= later.1.sent) {
            if furthest.is_none_or(|furthest| progress(furthest) < progress(earlier)) {
                furthest = Some(earlier);
            }
        }
        let Some(furthest) = furthest else { continue };
        let (before, now) = (progress(furthest), progress(later));
        // A session's end: the earlier answer's lower bound against this one's upper bound.
        let took = later.1.received - later.1.sent;
        let tolerated = if before.0 == 3 { took + ROUNDING } else { 0 };
        let unknown = now == (1, 0) && before.0 == 1;
        if !unknown && (now.0, now.1.saturating_add(tolerated)) < before {
            let what = format!("ticket {} goes backwards", place.held.ticket);
            return Some(Violation::new(5, what, [furthest.0, later.0]));
        }
    }
    None
}
