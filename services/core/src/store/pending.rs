//! Items that wait in a lane, and items whose call is under way: both oldest first, so that the
//! front shows whose time is up.

use std::collections::VecDeque;

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::{Batch, Error};

/// An item that waits for its call.
pub(super) struct Waiting<B: Batch> {
    pub(super) item: B::Item,
    pub(super) slot: Slot<B::Outcome>,
}

/// Where an answer goes, and by when.
pub(super) struct Slot<O> {
    pub(super) deadline: Instant,
    pub(super) answer: oneshot::Sender<Result<O, Error>>,
}

/// Those who wait for a call, oldest first.
pub(super) struct Pending<B: Batch> {
    receiver: mpsc::Receiver<Waiting<B>>,
    /// Taken out of the channel while a call was slow, to see whose time is up.
    drained: VecDeque<Waiting<B>>,
}

impl<B: Batch> Pending<B> {
    pub(super) fn new(receiver: mpsc::Receiver<Waiting<B>>) -> Self {
        Self { receiver, drained: VecDeque::new() }
    }

    /// Takes the next call's worth, waiting for the first; false when the lane is to end.
    pub(super) async fn take(&mut self, taken: &mut Vec<Waiting<B>>) -> bool {
        let most = B::MAX_ITEMS.max(1);
        if self.drained.is_empty() {
            self.receiver.recv_many(taken, most).await;
        }
        self.add(taken);
        !taken.is_empty()
    }

    /// Adds those that have come meanwhile to what was taken, up to one call's worth.
    pub(super) fn add(&mut self, taken: &mut Vec<Waiting<B>>) {
        let most = B::MAX_ITEMS.max(1);
        let room = most.saturating_sub(taken.len());
        taken.extend(self.drained.drain(..room.min(self.drained.len())));
        while taken.len() < most
            && let Ok(waiting) = self.receiver.try_recv()
        {
            taken.push(waiting);
        }
        // What is too much for one call waits for the next.
        for waiting in taken.drain(light_enough(taken, most)..).rev() {
            self.drained.push_front(waiting);
        }
    }

    /// Those whose time was up before they were sent.
    pub(super) fn expired(&mut self, now: Instant) -> impl Iterator<Item = Slot<B::Outcome>> {
        // Deadlines are queued in order, so checking the front is enough.
        while self.drained.len() < self.receiver.max_capacity()
            && let Ok(waiting) = self.receiver.try_recv()
        {
            self.drained.push_back(waiting);
        }
        let late = self.drained.iter().take_while(|w| w.slot.deadline <= now).count();
        self.drained.drain(..late).map(|waiting| waiting.slot)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.drained.front().map(|waiting| waiting.slot.deadline)
    }
}

/// How many from the front on have no more weight together; one at least.
fn light_enough<B: Batch>(taken: &[Waiting<B>], most: usize) -> usize {
    let mut left = most;
    let fit = taken.iter().take_while(|waiting| {
        let weight = B::weight(&waiting.item);
        let fits = weight <= left;
        left = left.saturating_sub(weight);
        fits
    });
    fit.count().max(1).min(taken.len())
}

/// Those whose call is under way, oldest first; `None` once answered.
pub(super) struct InFlight<O> {
    slots: Vec<Option<Slot<O>>>,
    /// So many at the front were answered because their time was up.
    late: usize,
}

impl<O> Default for InFlight<O> {
    fn default() -> Self {
        Self { slots: Vec::new(), late: 0 }
    }
}

impl<O> InFlight<O> {
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.slots.get(self.late).and_then(Option::as_ref).map(|slot| slot.deadline)
    }

    pub(super) fn last_deadline(&self) -> Option<Instant> {
        self.slots.last().and_then(Option::as_ref).map(|slot| slot.deadline)
    }

    /// Those whose time is up; the effect of their call is unknown.
    pub(super) fn expired(&mut self, now: Instant) -> impl Iterator<Item = Slot<O>> {
        std::iter::from_fn(move || {
            let slot = self.slots.get_mut(self.late)?;
            if slot.as_ref().is_some_and(|slot| slot.deadline > now) {
                return None;
            }
            self.late += 1;
            slot.take()
        })
    }

    /// One more whose call is about to begin.
    pub(super) fn push(&mut self, slot: Slot<O>) {
        self.slots.push(Some(slot));
    }

    /// Everyone, in order, `None` for those answered already; empty from then on.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Option<Slot<O>>> {
        self.late = 0;
        self.slots.drain(..)
    }
}
