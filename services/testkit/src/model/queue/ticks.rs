//! What the scheduler does: promote and sweep.

use super::{Admitted, Gone, Health, Id, Queue, Stand, Step};

/// What a tick returned.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names of the operation's reply")]
pub struct Tick {
    pub promoted: u64,
    pub away: u64,
    pub abandoned: u64,
    pub step: Option<Step>,
}

impl Queue {
    pub(super) fn room(&self) -> u64 {
        let probes = self.probes_left().unwrap_or(u64::MAX);
        let (capacity, _) = self.pace();
        if capacity == 0 {
            return probes;
        }
        if self.withholds_all() {
            return 0;
        }
        let (ready, active) = self.admitted();
        capacity.saturating_sub(ready + active + self.withheld()).min(probes)
    }

    /// Promotions in the interval up to now, less those whose turn was not taken.
    pub(super) fn window(&self) -> u64 {
        let from = self.now.saturating_sub(self.rules.interval);
        self.promotions.iter().filter(|p| p.at > from && !p.given_back).count() as u64
    }

    /// Promises 1 and 2, over the exact history.
    pub(super) fn check(&self, promoted: u64) -> Result<(), String> {
        if promoted > self.room() {
            return Err(format!("promise 1: {promoted} promoted with room for {}", self.room()));
        }
        let (window, (_, batch)) = (self.window(), self.pace());
        if batch > 0 && window + promoted > batch {
            return Err(format!(
                "promise 2: {promoted} promoted after {window} in the interval, the batch is \
                 {batch}"
            ));
        }
        Ok(())
    }

    pub(super) fn admit(&mut self, ticket: u64, id: Id) {
        let ends = self.now + self.rules.claim_ttl;
        let admitted = Admitted { id, active: false, short: false, since: self.now, ends };
        self.admitted.insert(ticket, admitted);
        self.note_promotion(ticket);
    }

    /// A tick that promoted, skipped and abandoned so many, and whose scheduler reported this of a
    /// target. Checks that it was allowed and right.
    pub fn promote(&mut self, wall: u64, health: &Health, returned: Tick) -> Result<(), String> {
        let Tick { promoted, away, abandoned, step } = returned;
        self.read_clock(wall);
        self.watch_clock();
        self.offset = self.now.cast_signed() - wall.cast_signed();
        self.tick = self.now;
        self.last = self.now;
        self.follow(health, step)?;
        let did_some = promoted + away + abandoned > 0;
        if self.depth() == 0 || !self.promotes() || self.is_silent() {
            self.spend(0, 0);
            let wrong = "promoted although paused, or no visitor waits or polls";
            return if did_some { Err(wrong.into()) } else { Ok(()) };
        }
        self.age();
        let due = self.due();
        if promoted > due {
            return Err(format!("{promoted} promoted, the pace and the room allow {due}"));
        }
        if promoted > 0 {
            self.check(promoted)?;
        }
        self.probe(promoted)?;
        let looked = usize::try_from(promoted + away + abandoned).map_err(|e| e.to_string())?;
        let heads: Vec<_> = self
            .line
            .iter()
            .filter(|(_, (_, stand))| !matches!(stand, Stand::Away(_)))
            .take(looked)
            .map(|(ticket, (id, _))| (*ticket, *id))
            .collect();
        let (mut made, mut passed, mut dropped) = (0, 0, 0);
        for (ticket, id) in heads {
            match self.absence(ticket) {
                None => {
                    self.line.remove(&ticket);
                    self.admit(ticket, id);
                    self.count_wait(ticket);
                    made += 1;
                }
                Some(false) => {
                    self.line.insert(ticket, (id, Stand::Away(self.heard)));
                    passed += 1;
                }
                Some(true) => {
                    self.line.remove(&ticket);
                    self.end_place(ticket, id, Gone::Abandoned);
                    dropped += 1;
                }
            }
        }
        if (made, passed, dropped) != (promoted, away, abandoned) {
            return Err(format!(
                "promoted, away, abandoned: the first {looked} of the line are {made}, {passed}, \
                 {dropped}, the tick says {promoted}, {away}, {abandoned}"
            ));
        }
        self.spend(due, promoted);
        self.note_use();
        Ok(())
    }

    /// A sweep of a queue small enough for one call: unclaimed, expired, gone away, abandoned.
    pub fn sweep(&mut self, wall: u64) -> (u64, u64, u64, u64) {
        self.read_clock(wall);
        self.last = self.now;
        self.forget_revoked();
        self.age();
        let (mut unclaimed, mut expired, mut away, mut abandoned) = (0, 0, 0, 0);
        let ended: Vec<_> = self
            .admitted
            .iter()
            .filter(|(_, a)| a.ends <= self.now)
            .map(|(t, a)| (*t, *a))
            .collect();
        for (ticket, admitted) in ended {
            self.admitted.remove(&ticket);
            if admitted.active {
                expired += 1;
                self.end_place(ticket, admitted.id, Gone::Expired);
            } else {
                unclaimed += 1;
                self.give_back(ticket);
                self.end_place(ticket, admitted.id, Gone::Unclaimed);
            }
        }
        for (ticket, (id, stand)) in self.line.clone() {
            if let Stand::Away(since) = stand
                && since + self.rules.keep_ttl <= self.heard
            {
                self.line.remove(&ticket);
                self.end_place(ticket, id, Gone::Abandoned);
                abandoned += 1;
            }
        }
        for (ticket, (id, stand)) in self.line.clone() {
            let absent = match stand {
                // No place is skipped in a check-in period.
                _ if self.check_in_left() > 0 => None,
                Stand::Away(_) => None,
                Stand::Waiting | Stand::Returned => self.absence(ticket),
            };
            match absent {
                None => {}
                Some(false) => {
                    self.line.insert(ticket, (id, Stand::Away(self.heard)));
                    away += 1;
                }
                Some(true) => {
                    self.line.remove(&ticket);
                    self.end_place(ticket, id, Gone::Abandoned);
                    abandoned += 1;
                }
            }
        }
        (unclaimed, expired, away, abandoned)
    }
}
