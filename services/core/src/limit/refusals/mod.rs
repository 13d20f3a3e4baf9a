//! Refusals that this process repeats without a call: a key over its limit costs the store about
//! two checks a second and process.
//!
//! A counter without a unit left refuses every check of cost 0 or 1 with the same answer until
//! `retry_after` has passed. A refused check takes nothing, and a larger cost does not fit either,
//! so only time frees the counter. Until then the store can only repeat its answer, with times that
//! count down. This is so for each algorithm, and for limits in shadow.
//!
//! Other checks always go to the store:
//!
//! - a cost above 1: units may come back before it fits, so the units left are unknown;
//! - a call with a name: it may repeat one that was allowed;
//! - a call of several checks: the others may be allowed.
//!
//! Apart from time, these free a counter:
//!
//! - other rules. A refusal is repeated under its own rule only;
//! - a [`forget`](Refusals::forgetting) of this process, or another connection to the store. Both
//!   end all repeats at once;
//! - a `forget` of another process, a store that lost its data, or a leap of its clock ahead. This
//!   process learns of them within [`MOST`], counted from when the check was sent.
//!
//! The clock of this process counts what limit time left, so a leap of the store's clock makes no
//! repeat last longer. A leap back is stored with the next check that goes to the store.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;

use super::call::CounterCheck;
use super::reply::{Checked, Outcome};
use super::rule::Rule;

/// How many refusals are kept at most. Each counter has one place, and the newest refusal takes it.
const PLACES: usize = 4_096;
/// How long a refusal is repeated at most, from when its check was sent.
const MOST: Duration = Duration::from_secs(1);
/// After this time one check goes to the store, while the others still get the repeat. So the store
/// does not get all of them at once, unless it takes longer than the rest of [`MOST`].
const DUE: Duration = Duration::from_millis(600);
/// A repeat ends so much before the counter is free: the store rounds up to milliseconds, and no
/// two clocks run at the same speed.
const MARGIN: Duration = Duration::from_millis(2);

/// What a process reads its own time from.
type Now = Box<dyn Fn() -> Instant + Send + Sync>;

/// The refusals of all limits of a process.
pub(super) struct Refusals {
    places: Box<[ArcSwapOption<Refusal>]>,
    forgets: AtomicU64,
    now: Now,
}

/// The state just before a check is sent: the answer of the store builds on that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Basis {
    sent: Instant,
    connections: u64,
    forgets: u64,
}

/// A check that the store refused.
struct Refusal {
    id: [u8; 16],
    rule: Rule,
    connections: u64,
    forgets: u64,
    /// From then on one check goes to the store, …
    due: Instant,
    /// … unless one has.
    is_claimed: AtomicBool,
    until: Instant,
    /// From when its times count.
    received: Instant,
    outcome: Outcome,
    reset: Duration,
    retry_after: Duration,
}

/// Ends all repeats when it is dropped.
pub(super) struct Forgetting<'a>(&'a Refusals);

impl Drop for Forgetting<'_> {
    fn drop(&mut self) {
        self.0.forgets.fetch_add(1, Ordering::AcqRel);
    }
}

impl Refusals {
    /// None yet; `now` is the time of this process.
    pub(super) fn new(now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        let places = (0..PLACES).map(|_| ArcSwapOption::empty()).collect();
        Self { places, forgets: AtomicU64::new(0), now: Box::new(now) }
    }

    /// To be taken before a check is sent; `connections` counts those to the store so far.
    pub(super) fn basis(&self, connections: u64) -> Basis {
        let forgets = self.forgets.load(Ordering::Acquire);
        Basis { sent: (self.now)(), connections, forgets }
    }

    /// The answer to a check, if the store would only repeat itself.
    pub(super) fn repeat(&self, check: &CounterCheck, basis: Basis) -> Option<Checked> {
        if check.cost > 1 {
            return None;
        }
        let refusal = self.place(&check.id).load();
        let refusal = refusal.as_ref().filter(|it| it.is_of(check) && it.is_valid(basis))?;
        if basis.sent >= refusal.due
            && !refusal.is_claimed.load(Ordering::Relaxed)
            && !refusal.is_claimed.swap(true, Ordering::Relaxed)
        {
            return None;
        }
        Some(refusal.at(basis.sent))
    }

    /// Notes what the store answered to a check.
    pub(super) fn note(&self, check: &CounterCheck, basis: Basis, checked: &Checked) {
        let place = self.place(&check.id);
        if checked.outcome == Outcome::Allowed {
            // Read first: most counters have no place, and writing costs more.
            if place.load().as_ref().is_some_and(|it| it.id == check.id) {
                place.store(None);
            }
            return;
        }
        let lasts = checked.retry_after.saturating_sub(MARGIN).min(MOST);
        if check.cost > 1 || checked.remaining > 0 || lasts.is_zero() {
            return;
        }
        let Basis { sent, connections, forgets } = basis;
        place.store(Some(Arc::new(Refusal {
            id: check.id,
            rule: check.rule,
            connections,
            forgets,
            due: sent + DUE,
            is_claimed: AtomicBool::new(false),
            until: sent + lasts,
            received: (self.now)(),
            outcome: checked.outcome,
            reset: checked.reset,
            retry_after: checked.retry_after,
        })));
    }

    /// To be kept while the store forgets a key. When it is dropped, no refusal is repeated whose
    /// check was sent before: whether the key is forgotten or not, and also if the caller gave up.
    pub(super) fn forgetting(&self) -> Forgetting<'_> {
        Forgetting(self)
    }

    /// Digests are spread evenly.
    fn place(&self, id: &[u8; 16]) -> &ArcSwapOption<Refusal> {
        &self.places[usize::from(u16::from_be_bytes([id[0], id[1]])) % PLACES]
    }
}

impl Refusal {
    fn is_of(&self, check: &CounterCheck) -> bool {
        self.id == check.id && self.rule == check.rule
    }

    fn is_valid(&self, basis: Basis) -> bool {
        basis.sent < self.until
            && self.connections == basis.connections
            && self.forgets == basis.forgets
    }

    /// As the store would answer now, in whole milliseconds. The times count from when its answer
    /// was received, so that a caller who waits for `retry_after` is not too early.
    fn at(&self, now: Instant) -> Checked {
        let passed = now.saturating_duration_since(self.received);
        let left = |time: Duration| {
            let millis = time.saturating_sub(passed).as_micros().div_ceil(1_000);
            Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
        };
        Checked {
            outcome: self.outcome,
            remaining: 0,
            reset: left(self.reset),
            retry_after: left(self.retry_after),
        }
    }
}
