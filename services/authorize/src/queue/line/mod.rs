//! What this process knows of the line, from which it answers polls without Redis: with the rule
//! `local_answers`.
//!
//! Once a second a [`Sketch`] of the line is read ([`Sketches`]). A poll is answered from it while
//! all of this holds; else Redis answers:
//!
//! - the sketch was requested less than 2 s ago, and is of the epoch of the place;
//! - the place has been in line since its join, behind the places that can be promoted before the
//!   sketch after the next;
//! - this process has reported the place as seen in the present slot, and Redis has confirmed that
//!   it is in line. The first poll in a slot reports it ([`Poll::Unreported`]). So a leave or an
//!   eviction through another process shows within a slot.

mod reported;
mod sketches;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anteroom_core::queue::{Place, PlaceRef, Sketch, Ticket};
use arc_swap::ArcSwapOption;

use self::reported::{Mark, Reported, Slot};
pub use self::sketches::Sketches;
use super::refresh::InUse;

/// So old a sketch may be.
const FRESH: Duration = Duration::from_secs(2);

/// The line of one queue, as this process knows it.
#[derive(Default)]
pub struct Line {
    seen: ArcSwapOption<SeenLine>,
    reported: Reported,
    /// Visitors were answered from the sketch since it was read.
    polled: AtomicBool,
    in_use: InUse,
    /// How often all that was known was lost.
    losses: AtomicU64,
}

struct SeenLine {
    sketch: Sketch,
    requested_at: Instant,
}

/// What this process can do for a poll.
pub enum Poll {
    /// Answer it.
    Known(Place),
    /// Answer it, once Redis has confirmed that the place is in line.
    Unreported(Unreported),
    /// Ask Redis.
    Unknown,
}

/// A poll that is to be reported.
pub struct Unreported {
    of: PlaceRef,
    mark: Mark,
}

impl Line {
    /// What this process can do for a poll, if the places up to this position can be promoted
    /// before the sketch after the next, and after so many connections to Redis.
    pub fn poll(&self, of: PlaceRef, front: u64, connections: u64) -> Poll {
        self.in_use.note();
        let seen = self.seen.load();
        let Some(seen) = seen.as_deref() else { return Poll::Unknown };
        let (sketch, Some(slot)) = (&seen.sketch, seen.slot(connections)) else {
            return Poll::Unknown;
        };
        if sketch.epoch != of.epoch {
            return Poll::Unknown;
        }
        let Some(place) = sketch.place(of.ticket) else { return Poll::Unknown };
        let mark = self.reported.begin(slot, of);
        // The time is taken last, so that no pause of the thread makes an old sketch answer.
        if place.position() <= front || seen.requested_at.elapsed() >= FRESH {
            return Poll::Unknown;
        }
        if !mark.is_reported() {
            return Poll::Unreported(Unreported { of, mark });
        }
        self.heard();
        Poll::Known(place)
    }

    /// Redis has seen the visitor in this slot. Answers the poll, unless the sketch is too old by
    /// now.
    pub fn confirmed(&self, unreported: &Unreported, slot: u64) -> Option<Place> {
        let Unreported { of, mark } = unreported;
        self.reported.confirm(mark, slot);
        let seen = self.seen.load();
        let seen = seen.as_deref()?;
        let is_fresh = seen.requested_at.elapsed() < FRESH && seen.sketch.epoch == of.epoch;
        seen.sketch.place(of.ticket).filter(|_| is_fresh)
    }

    /// The place is not in line any more, or may not be: Redis answers its next poll. To be called
    /// when Redis has answered the call that ends or moves it.
    pub fn forget(&self, ticket: Ticket) {
        self.reported.forget(ticket);
    }

    /// Nothing is known until the next sketch that is requested from now on.
    pub fn lose(&self) {
        self.losses.fetch_add(1, Ordering::AcqRel);
        self.seen.store(None);
    }

    /// Takes a sketch that was requested at this time, unless all was lost since then.
    fn put(&self, sketch: Sketch, requested_at: Instant, losses: u64) {
        self.seen.store(Some(Arc::new(SeenLine { sketch, requested_at })));
        if self.losses.load(Ordering::Acquire) != losses {
            self.seen.store(None);
        }
    }

    /// Seldom written, so that the processors do not fight for it.
    fn heard(&self) {
        if !self.polled.load(Ordering::Relaxed) {
            self.polled.store(true, Ordering::Relaxed);
        }
    }
}

impl SeenLine {
    fn slot(&self, connections: u64) -> Option<Slot> {
        let (opened_at, first) = (self.sketch.slot?, self.sketch.front()?);
        Some(Slot { epoch: self.sketch.epoch, opened_at, connections, first })
    }
}
