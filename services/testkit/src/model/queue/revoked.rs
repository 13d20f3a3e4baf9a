//! With local answers: which active places ended before their time, and when no slot is given away;
//! which places left the line.

use std::collections::{BTreeMap, BTreeSet};

use super::{Id, Queue};

/// A slot freed before its time is withheld this long.
const WITHHELD: u64 = 150_000;
/// Past this time without a tick the store's clock may have leapt.
const TRUSTED: u64 = 250_000;
const KEPT: u64 = 2_000_000;

/// The list and its version, and for how long nothing is given away.
#[derive(Clone, Debug, Default)]
pub(super) struct Revoked {
    /// Ticket, identity and version.
    list: BTreeMap<u64, (Id, u64)>,
    version: u64,
    forgotten: u64,
    withheld_until: u64,
    late: bool,
}

/// Which places left the line: how many there have been, and which was which.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures {
    count: u64,
    list: BTreeMap<u64, u64>,
}

/// What a reading of the list returns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the operation's reply")]
pub struct Reading {
    pub queue_time: u64,
    pub local_answers: bool,
    pub version: u64,
    pub whole: bool,
    pub ended: BTreeSet<(Id, u64)>,
}

impl Queue {
    /// This place leaves the line.
    pub(super) fn depart(&mut self, ticket: u64) {
        self.departures.count += 1;
        self.departures.list.retain(|_, known| *known != ticket);
        self.departures.list.insert(self.departures.count, ticket);
    }

    /// Which places left the line since so many had, if that is known.
    pub fn departures(&self, since: u64) -> Option<Vec<u64>> {
        let Departures { count, list } = &self.departures;
        let tickets: Vec<_> = list.range(since + 1..).map(|(_, ticket)| *ticket).collect();
        (count.checked_sub(since)? == tickets.len() as u64).then_some(tickets)
    }

    fn next_version(&self) -> u64 {
        self.now.max(self.revoked.version + 1)
    }

    /// Active places end now, or sooner than was returned: those of one call share a version.
    pub(super) fn revoke(&mut self, ended: &[(u64, Id)]) {
        if !self.rules.local_answers || ended.is_empty() {
            return;
        }
        self.revoked.version = self.next_version();
        for (ticket, id) in ended {
            self.revoked.list.insert(*ticket, (*id, self.revoked.version));
        }
        self.forget_revoked();
    }

    /// Histories are short: a call always reaches all old entries.
    pub(super) fn forget_revoked(&mut self) {
        let kept_from = self.now.saturating_sub(KEPT);
        let old = self.revoked.list.values().map(|(_, version)| *version);
        if let Some(last) = old.filter(|version| *version <= kept_from).max() {
            self.revoked.forgotten = last;
            self.revoked.list.retain(|_, (_, version)| *version > kept_from);
        }
    }

    /// How many slots are counted as taken because they were freed a moment ago.
    pub(super) fn withheld(&self) -> u64 {
        let from = self.now.saturating_sub(WITHHELD);
        let recent = self.revoked.list.values().filter(|(_, version)| *version > from);
        if self.rules.local_answers { recent.count() as u64 } else { 0 }
    }

    /// Whether no slot at all is given away.
    pub(super) fn withholds_all(&self) -> bool {
        self.now < self.revoked.withheld_until || !self.is_clock_trusted()
    }

    fn is_clock_trusted(&self) -> bool {
        !self.rules.local_answers || self.now - self.tick <= TRUSTED
    }

    pub(super) fn withhold(&mut self) {
        self.revoked.withheld_until = self.now + WITHHELD;
    }

    /// A tick is about to move the time of the last one on.
    pub(super) fn watch_clock(&mut self) {
        let late = !self.is_clock_trusted();
        if late && !self.revoked.late {
            self.withhold();
        }
        if late || self.now >= self.revoked.withheld_until {
            self.revoked.late = late;
        }
    }

    /// The rule is switched.
    pub fn set_local_answers(&mut self, wall: u64, on: bool) {
        self.read_clock(wall);
        if self.rules.local_answers != on {
            self.rules.local_answers = on;
            self.revoked.version = self.next_version();
            self.revoked.forgotten = self.revoked.version;
            self.withhold();
        }
    }

    /// A reading of the list.
    pub fn revocations(&mut self, wall: u64, since: Option<u64>) -> Reading {
        self.read_clock(wall);
        let since = since.filter(|since| *since >= self.revoked.forgotten);
        let list = self.revoked.list.iter();
        let ended = list
            .filter(|(_, (_, version))| since.is_some_and(|since| *version > since))
            .map(|(ticket, (id, _))| (*id, *ticket))
            .collect();
        Reading {
            queue_time: self.now,
            local_answers: self.rules.local_answers,
            version: self.revoked.version,
            whole: since.is_some(),
            ended,
        }
    }

    /// A reset: no place is left, and tickets restart at 1. The promotions and the totals stay.
    pub fn reset(&mut self, wall: u64) {
        self.read_clock(wall);
        let fresh = Self::new(self.rules.clone(), wall);
        let before = std::mem::replace(self, fresh);
        (self.offset, self.tick, self.now) = (before.offset, before.tick, before.now);
        self.last = self.now;
        (self.promotions, self.totals) = (before.promotions, before.totals);
        self.followed = before.followed;
        self.pace = before.pace;
        self.departures = Departures { list: BTreeMap::new(), ..before.departures };
        self.revoked = Revoked { list: BTreeMap::new(), ..before.revoked };
        if self.rules.local_answers {
            self.withhold();
        }
    }
}
