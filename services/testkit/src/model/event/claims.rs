//! What issuers do.

use super::{Event, Fence, Name, State};

/// What `max_per_second` counts in.
const UNIT: u64 = 1_000_000;
/// The most that one call claims.
const MOST: u64 = 64;

/// The answer to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the operation's reply")]
pub struct Claimed {
    pub work: Vec<Work>,
    /// In microseconds.
    pub again_in: Option<u64>,
    pub pending: bool,
}

/// One application to be issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the operation's reply")]
pub struct Work {
    pub sequence: u64,
    pub visitor: Name,
    pub attempt: u64,
}

/// What finishing came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum Finished {
    Issued { code: Option<Name>, after_ms: Option<u64> },
    LeaseLost,
    NoCodes,
}

/// What a failed attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum Failed {
    Retried,
    Dead,
    LeaseLost,
}

impl Event {
    fn to_retry(&self) -> Vec<(u64, u64)> {
        let due = self.made.iter().filter_map(|(sequence, made)| match made.state {
            State::ToRetry { due } => Some((due, *sequence)),
            _ => None,
        });
        let mut due: Vec<_> = due.collect();
        due.sort_unstable();
        due
    }

    /// Whether a claim would find something.
    pub fn kick(&mut self, wall: u64) -> bool {
        self.begin(wall);
        self.free() > 0 || self.to_retry().iter().any(|(due, _)| *due <= self.now)
    }

    /// How many the rate leaves, and how long until the next.
    fn by_rate(&mut self) -> (u64, u64) {
        let rate = self.rules.max_per_second;
        if rate == 0 {
            return (u64::MAX, 0);
        }
        let full = (rate / 10).max(1) * UNIT;
        // By a clock of its own, which never goes back.
        let at = (self.wall + self.debt_offset).max(self.debt_at);
        self.debt_offset = at - self.wall;
        let passed = (at - self.debt_at).min(2 * UNIT);
        self.debt = self.debt.min(full).saturating_sub(passed * rate);
        self.debt_at = at;
        let may = (full - self.debt) / UNIT;
        (may, (self.debt + UNIT).saturating_sub(full).div_ceil(rate))
    }

    /// An issuer claims, under a fence of its own.
    pub fn claim(&mut self, wall: u64, fence: Fence, most: u64) -> Claimed {
        self.begin(wall);
        let due = self.to_retry().into_iter().filter(|(due, _)| *due <= self.now);
        for (_, sequence) in due.take(MOST as usize).collect::<Vec<_>>() {
            self.set(sequence, State::InLine);
        }
        let free = self.free();
        let (by_rate, mut rest) = self.by_rate();
        let count = most.min(MOST).min(free).min(by_rate);
        let sequences: Vec<_> = self.in_line().take(count as usize).collect();
        let until = self.now + self.rules.lease;
        let mut work = Vec::new();
        for sequence in sequences {
            self.set(sequence, State::Held { until });
            if let Some(made) = self.made.get_mut(&sequence) {
                made.fence = fence;
                work.push(Work { sequence, visitor: made.visitor, attempt: made.attempts + 1 });
            }
        }
        if count > 0 {
            self.debt += if self.rules.max_per_second > 0 { count * UNIT } else { 0 };
            self.written();
        }
        let mut again_in = None;
        if free > count && by_rate <= count {
            if count > 0 {
                rest = self.by_rate().1;
            }
            again_in = Some(rest);
        }
        let next = self.to_retry().first().map(|(due, _)| due.saturating_sub(self.now));
        let again_in = again_in.into_iter().chain(next).min();
        Claimed { work, again_in, pending: free > count }
    }

    fn set(&mut self, sequence: u64, state: State) {
        if let Some(made) = self.made.get_mut(&sequence) {
            made.state = state;
        }
    }

    fn is_held(&self, fence: Fence, sequence: u64) -> bool {
        let over = self.ended_by();
        self.made.get(&sequence).is_some_and(|made| {
            made.fence == fence && matches!(made.state, State::Held { until } if until > over)
        })
    }

    /// Leases restart; for each whether it is held.
    pub fn renew(&mut self, wall: u64, fence: Fence, sequences: &[u64]) -> Vec<bool> {
        self.begin(wall);
        let held: Vec<_> = sequences.iter().map(|it| self.is_held(fence, *it)).collect();
        let lease = self.now + self.rules.lease;
        for (sequence, _) in sequences.iter().zip(&held).filter(|(_, held)| **held) {
            if let Some(State::Held { until }) = self.made.get_mut(sequence).map(|it| &mut it.state)
            {
                *until = lease.max(*until);
            }
        }
        self.written();
        held
    }

    /// Applications are issued.
    pub fn finish(&mut self, wall: u64, fence: Fence, work: &[Work]) -> Vec<Finished> {
        self.begin(wall);
        let mut is_any = false;
        let mut finish = |work: &Work| {
            let made = self.made.get(&work.sequence).filter(|made| made.visitor == work.visitor);
            if !self.is_held(fence, work.sequence) || made.is_none() {
                let made = made.filter(|made| made.fence == fence);
                return match made.map(|made| &made.state) {
                    Some(State::Issued { code, .. }) => {
                        Finished::Issued { code: *code, after_ms: None }
                    }
                    _ => Finished::LeaseLost,
                };
            }
            let code = if self.rules.codes { self.codes.pop_front() } else { None };
            if self.rules.codes && code.is_none() {
                return Finished::NoCodes;
            }
            let after_ms = made.map(|made| (self.now / 1_000).saturating_sub(made.at));
            self.set(work.sequence, State::Issued { at: self.wall / 1_000_000, code });
            is_any = true;
            Finished::Issued { code, after_ms }
        };
        let finished = work.iter().map(&mut finish).collect();
        if is_any {
            self.written();
            if self.issued() == self.given {
                for sequence in self.in_line().collect::<Vec<_>>() {
                    self.set(sequence, State::SoldOut);
                    self.sold_out += 1;
                }
            }
        }
        finished
    }

    /// An attempt failed.
    pub fn fail(
        &mut self,
        wall: u64,
        fence: Fence,
        sequence: u64,
        cause: &str,
        retry_in: Option<u64>,
    ) -> Failed {
        self.begin(wall);
        if !self.is_held(fence, sequence) {
            let made = self.made.get(&sequence).filter(|made| made.fence == fence);
            return match made.map(|made| &made.state) {
                Some(State::ToRetry { .. }) => Failed::Retried,
                Some(State::Dead { .. }) => Failed::Dead,
                _ => Failed::LeaseLost,
            };
        }
        self.written();
        let is_dead = self.count_attempt(sequence, cause, retry_in.is_none());
        if is_dead {
            return Failed::Dead;
        }
        self.set(sequence, State::ToRetry { due: self.now + retry_in.unwrap_or_default() });
        Failed::Retried
    }

    /// Counts an attempt; whether it was the last.
    fn count_attempt(&mut self, sequence: u64, cause: &str, is_last: bool) -> bool {
        let at = self.wall / 1_000_000;
        let Some(made) = self.made.get_mut(&sequence) else { return false };
        made.attempts += 1;
        let is_dead = is_last || made.attempts >= self.rules.max_attempts;
        if is_dead {
            made.state = State::Dead { at, cause: cause.to_owned() };
        }
        is_dead
    }

    /// Claims are given back; how many were held.
    pub fn give_back(&mut self, wall: u64, fence: Fence, sequences: &[u64]) -> u64 {
        self.begin(wall);
        self.written();
        let held: Vec<_> =
            sequences.iter().copied().filter(|it| self.is_held(fence, *it)).collect();
        for sequence in &held {
            self.set(*sequence, State::InLine);
        }
        held.len() as u64
    }

    /// A tick: how many leases ended with another attempt to come, and how many without.
    pub fn reclaim(&mut self, wall: u64) -> (u64, u64) {
        self.begin(wall);
        let over = self.ended_by();
        if self.is_late() && self.grace.is_none_or(|(_, until)| self.now >= until) {
            self.grace = Some((self.tick, self.now + self.rules.lease));
        }
        self.offset = self.now as i64 - wall as i64;
        (self.last, self.tick) = (self.now, self.now);
        let is_over = self.rules.ends_at != 0 && self.now >= self.rules.ends_at;
        self.over_at = is_over.then(|| self.over_at.unwrap_or(self.now));
        let drops = self.over_at.is_some_and(|at| self.now >= at + self.rules.keep_ttl);
        if drops && self.dropped.is_none() {
            self.dropped = Some(self.issued());
            self.made.clear();
            self.by_visitor.clear();
            self.codes.clear();
            self.known_codes.clear();
            return (0, 0);
        }
        let ended = self.made.iter().filter_map(|(sequence, made)| match made.state {
            State::Held { until } if until <= over => Some((until, *sequence)),
            _ => None,
        });
        let ended: Vec<_> = ended.collect();
        let (mut returned, mut dead) = (0, 0);
        for (_, sequence) in ended {
            if self.count_attempt(sequence, "the lease ended", false) {
                dead += 1;
            } else {
                self.set(sequence, State::InLine);
                returned += 1;
            }
        }
        (returned, dead)
    }
}
