//! What this process knows of the line: from it the board is made, and with the rule
//! `local_answers` polls are answered without Redis.
//!
//! Once a second a [`Sketch`] of the line is read ([`Sketches`]). A poll is answered from it while
//! all of this holds; else Redis answers:
//!
//! - the rule is in force;
//! - the sketch was requested less than 2 s ago, and is of the epoch of the place;
//! - the place has been in line since its join, behind the places that can be promoted before the
//!   sketch after the next;
//! - this process has reported the place before, and Redis has found it in line;
//! - it was seen in the present slot or in the one before, by any process. Else the poll reports it
//!   ([`Poll::Unreported`]).
//!
//! A place that was seen in the slot before is not inactive in this one. So it is in line unless a
//! call ended it, and behind each sketch the places are read that have left the line. Then the poll
//! is only marked ([`Pending`]), which costs Redis a fraction of a report. Version 0.2.0 names no
//! such places. When it took any out of the line, each place is reported again.

mod pending;
mod reported;
mod sketches;

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anteroom_core::queue::{Departed, Place, PlaceRef, Seen, Sketch, Status, Ticket, Visit};
use arc_swap::ArcSwapOption;
use bytes::Bytes;
use http::HeaderValue;
use tokio::sync::Notify;

use self::pending::Pending;
use self::reported::{Era, Mark, Reported};
pub use self::sketches::{Sketches, report_polls};
use super::refresh::InUse;

/// The greatest age of a sketch from which a poll is answered.
pub(super) const FRESH: Duration = Duration::from_secs(2);
/// The greatest age of a sketch that the board shows.
const SHOWN_FOR: Duration = Duration::from_secs(5);
/// How long a request for the board waits for the first sketch, while Redis answers.
const PATIENCE: Duration = Duration::from_secs(3);

/// The line of one queue, as this process knows it.
#[derive(Default)]
pub struct Line {
    seen: ArcSwapOption<SeenLine>,
    reported: Reported,
    pending: Pending,
    /// Redis may not have what was marked: nothing follows from the slot that was read last.
    unmarked: AtomicBool,
    /// How many places had left the line when they were read last.
    departed: ArcSwapOption<Departed>,
    /// How often Redis could not name all places that had left the line, or another server
    /// answered.
    unnamed: AtomicU64,
    /// Wakes those who wait for a sketch when one was read, or could not be.
    read: Notify,
    /// The last reading failed.
    failed: AtomicBool,
    /// Visitors were answered from the sketch since it was read.
    polled: AtomicBool,
    in_use: InUse,
    /// How often all that was known was lost.
    losses: AtomicU64,
}

/// A sketch, and since when it is known.
pub struct SeenLine {
    /// What Redis returned.
    pub sketch: Sketch,
    /// When it was requested, or made for another process before.
    known_at: Instant,
    /// `None` without the rule.
    slot: Option<Arc<Slot>>,
    /// Made by the first request for it.
    board: OnceLock<Board>,
}

/// Which tickets were seen in the present slot, and when that was requested.
struct Slot {
    seen: Arc<Seen>,
    /// The same of the slot before.
    before: Option<Arc<Seen>>,
    requested_at: Instant,
}

/// The line as an answer that is the same for all visitors.
pub struct Board {
    /// The body.
    pub plain: Bytes,
    /// The compressed body.
    pub gzip: Option<Bytes>,
    /// Names the content.
    pub etag: HeaderValue,
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
    slot: Arc<Slot>,
}

impl Line {
    /// What this process can do for a poll, if the places up to this position can be promoted
    /// before the sketch after the next, and after so many connections to Redis.
    pub fn poll(&self, of: PlaceRef, front: u64, connections: u64) -> Poll {
        self.in_use.note();
        let seen = self.seen.load();
        let Some(seen) = seen.as_deref() else { return Poll::Unknown };
        let (sketch, Some(slot), Some(head)) = (&seen.sketch, &seen.slot, seen.sketch.front())
        else {
            return Poll::Unknown;
        };
        if sketch.epoch != of.epoch || slot.seen.slot.epoch != of.epoch {
            return Poll::Unknown;
        }
        let Some(place) = sketch.place(of.ticket) else { return Poll::Unknown };
        let unnamed = self.unnamed.load(Ordering::Acquire);
        let era = Era { epoch: of.epoch, connections, unnamed };
        let mark = self.reported.begin(era, head, of);
        // The time is taken last, so that no pause of the thread makes an old sketch answer.
        if place.position() <= front || seen.age() >= FRESH {
            return Poll::Unknown;
        }
        let is_seen = slot.seen.has(of.ticket);
        if !mark.is_reported() || !(is_seen || self.mark_seen(slot, of.ticket)) {
            return Poll::Unreported(Unreported { of, mark, slot: slot.clone() });
        }
        self.heard();
        Poll::Known(place)
    }

    /// Notes a poll of a place that must still be in line, unless a call has ended it. `false`: it
    /// is to be reported.
    fn mark_seen(&self, slot: &Slot, ticket: Ticket) -> bool {
        let is_marked = slot.knows_present(ticket) && self.pending.add(&slot.seen, ticket);
        if is_marked {
            slot.seen.note(ticket);
        }
        is_marked
    }

    /// Redis has found the visitor in line, and has noted the poll in the slot that was opened
    /// then. Answers the poll, unless the sketch is too old by now.
    pub fn confirmed(&self, unreported: &Unreported, opened_at: u64) -> Option<Place> {
        let Unreported { of, mark, slot } = unreported;
        if slot.seen.slot.opened_at == opened_at {
            slot.seen.note(of.ticket);
        }
        self.reported.confirm(mark);
        let seen = self.seen.load();
        let seen = seen.as_deref()?;
        let is_fresh = seen.age() < FRESH && seen.sketch.epoch == of.epoch;
        seen.sketch.place(of.ticket).filter(|_| is_fresh)
    }

    /// The newest sketch of the line, at most 5 s old. If there is none yet, one is read.
    pub async fn shown(&self) -> Option<Arc<SeenLine>> {
        let newest = async {
            loop {
                let mut read = pin!(self.read.notified());
                read.as_mut().enable();
                self.in_use.note();
                if let Some(seen) = self.recent() {
                    return Some(seen);
                }
                read.await;
                if self.failed.load(Ordering::Relaxed) {
                    return self.recent();
                }
            }
        };
        tokio::time::timeout(PATIENCE, newest).await.ok().flatten()
    }

    fn recent(&self) -> Option<Arc<SeenLine>> {
        self.seen.load_full().filter(|seen| seen.age() <= SHOWN_FOR)
    }

    /// A ticket: while the head of the line is before it, at least this number of places and 3 %
    /// are between the head and this position. `None` if fewer are, or nothing is known.
    pub fn head_until(&self, position: u64, places: u64) -> Option<Ticket> {
        self.in_use.note();
        let seen = self.seen.load();
        let seen = seen.as_deref().filter(|seen| seen.age() <= SHOWN_FOR)?;
        let least = position.checked_sub(places.saturating_add(position / 33))?;
        let ticket = seen.sketch.ticket_at(least)?;
        (ticket > seen.sketch.front()?).then_some(ticket)
    }

    /// Redis has returned the state of a place: from now on no sketch of before shows it in line.
    pub fn learn(&self, of: PlaceRef, visit: &Visit) {
        if visit.place().is_none_or(|place| place.status() != Status::Waiting) {
            self.forget(of.ticket);
        }
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

    /// Takes a sketch that is known since this time, unless all was lost since its request.
    fn put(&self, sketch: Sketch, slot: Option<Arc<Slot>>, known_at: Instant, losses: u64) {
        let seen = SeenLine { sketch, known_at, slot, board: OnceLock::new() };
        self.seen.store(Some(Arc::new(seen)));
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

impl Slot {
    /// Whether the place cannot have become inactive since it was seen.
    fn knows_present(&self, ticket: Ticket) -> bool {
        // In a check-in period all must be seen once more.
        let was_seen = self.before.as_ref().is_some_and(|before| before.has(ticket));
        was_seen && !self.seen.slot.is_check_in
    }
}

impl SeenLine {
    /// How old it is: at most this long ago the line was so.
    pub fn age(&self) -> Duration {
        self.known_at.elapsed()
    }

    /// The board of this sketch, which the first call makes.
    pub fn board(&self, make: impl FnOnce(&Self) -> Board) -> &Board {
        self.board.get_or_init(|| make(self))
    }
}
