//! What the queue has done since it was created: promotions, their waits, missed turns.

use std::collections::BTreeMap;

use super::{Id, Queue, Stand};

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Places promoted by their join.
    pub at_once: u64,
    /// Missed turns.
    pub missed: u64,
    /// Places promoted by a tick, by their wait in whole milliseconds: from the last sample of join
    /// times up to their ticket.
    pub waits: BTreeMap<u64, u64>,
}

impl Queue {
    /// What was counted so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// How long the head of the line has waited, by the same samples, in milliseconds.
    pub fn head_wait(&self) -> Option<u64> {
        let present = |(_, (_, stand)): &(&u64, &(Id, Stand))| !matches!(stand, Stand::Away(_));
        let (ticket, _) = self.line.iter().find(present)?;
        Some((self.now - self.sampled_join(*ticket)) / 1_000)
    }

    fn sampled_join(&self, ticket: u64) -> u64 {
        let sample = self.samples.range(..=ticket).next_back();
        sample.map_or(0, |sample| self.joined[sample].0)
    }

    /// A tick promotes a place.
    pub(super) fn count_wait(&mut self, ticket: u64) {
        let wait = (self.now - self.sampled_join(ticket)) / 1_000;
        *self.totals.waits.entry(wait).or_default() += 1;
    }
}
