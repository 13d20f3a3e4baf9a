//! Heartbeats in bulk: polls of visitors who are answered from a sketch of the line.

use std::borrow::Cow;
use std::time::Duration;

use redis::Value;

use super::scripts;
use super::visits::NamedPlace;
use crate::store::{Args, Batch, Clock, Error, Reply, Script};

/// The visitor waits so much longer for one poll in many. With 1 000 heartbeats a second a call has
/// 50 of them.
const GATHERS_FOR: Duration = Duration::from_millis(50);

pub(super) struct Heartbeats {
    keys: Args,
    clock: Clock,
}

impl Heartbeats {
    pub(super) fn new(queue: &str, clock: &Clock) -> Self {
        Self { keys: scripts::HEARTBEAT.keys_of(queue), clock: clock.clone() }
    }
}

impl Batch for Heartbeats {
    type Item = NamedPlace;
    /// The slot in which it was seen, if it is in line; `None`: the store holds no rules for the
    /// queue.
    type Outcome = Option<Option<u64>>;
    const MAX_ITEMS: usize = 256;

    fn script(&self) -> &'static Script {
        &scripts::HEARTBEAT
    }

    fn keys(&self, _items: &[NamedPlace]) -> Cow<'_, Args> {
        Cow::Borrowed(&self.keys)
    }

    fn args(&self, items: &[NamedPlace]) -> Args {
        NamedPlace::args(&self.clock, items)
    }

    fn gathers_for(&self) -> Duration {
        // In a test no time passes.
        if matches!(self.clock, Clock::Store) { GATHERS_FOR } else { Duration::ZERO }
    }

    fn outcomes(
        &self,
        reply: Value,
        items: &[NamedPlace],
    ) -> Result<Vec<Result<Self::Outcome, Error>>, Error> {
        let Some(mut reply) = Reply::ruled(scripts::HEARTBEAT.name, reply)? else {
            return Ok(items.iter().map(|_| Ok(None)).collect());
        };
        reply.bytes()?; // the epoch, which every item names itself
        let slot = reply.count()?;
        let in_line = reply.bytes()?;
        Ok(in_line.iter().map(|item| Ok(Some((*item == b'1').then_some(slot)))).collect())
    }
}
