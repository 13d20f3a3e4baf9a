//! What follows from the newest snapshot of a queue until the next one.

use std::time::Duration;

use anteroom_core::queue::Snapshot;

use crate::latest::{Latest, Seen};

impl Latest<Snapshot> {
    /// How long an active place lasts without renewal, overrides applied; unknown before the first
    /// snapshot.
    pub fn session_ttl(&self) -> Option<Duration> {
        self.map(|seen| seen.snapshot.rules.session_ttl)
    }

    /// Whether this process may answer for active places by itself, once it reads the revocations.
    pub fn local_answers(&self) -> bool {
        self.map(|seen| seen.snapshot.rules.local_answers).unwrap_or_default()
    }

    /// Whether the queue is in state bypass now, by the clock of Redis.
    pub fn is_bypass(&self) -> bool {
        let is_before =
            |seen: &Seen<Snapshot>| Some(seen.snapshot.bypass_until_us? > seen.redis_time_us());
        self.map(|seen| is_before(seen) == Some(true)).unwrap_or_default()
    }
}

impl Seen<Snapshot> {
    /// How long it is until this moment (in seconds since 1970), by the clock of Redis; `None` once
    /// it has come.
    pub fn until(&self, at: Option<u64>) -> Option<Duration> {
        until(at, &self.snapshot, self.age())
    }

    /// The clock of Redis now: its time in the snapshot, plus the age of the snapshot.
    pub fn redis_time_us(&self) -> u64 {
        let since = u64::try_from(self.age().as_micros()).unwrap_or(u64::MAX);
        self.snapshot.store_time_us.saturating_add(since)
    }
}

/// [`Seen::until`], by a snapshot of this age.
pub fn until(at: Option<u64>, snapshot: &Snapshot, age: Duration) -> Option<Duration> {
    let now = Duration::from_micros(snapshot.store_time_us) + age;
    Duration::from_secs(at?).checked_sub(now).filter(|left| !left.is_zero())
}
