//! What visitors do, and their eviction.

use super::{Admitted, Gone, Id, Joined, Queue, Reply, RulesInForce, SECOND, Stand};

impl Queue {
    /// The place that an identity holds; one that has ended is cleared away.
    fn held(&mut self, id: Id) -> Option<(u64, Reply)> {
        let in_line = self.line.iter().find(|(_, (holder, _))| *holder == id).map(|(t, _)| *t);
        let admitted = self.admitted.iter().find(|(_, a)| a.id == id).map(|(t, _)| *t);
        let ticket = in_line.or(admitted)?;
        match self.locate(id, ticket) {
            Reply::Gone(reason) => {
                self.line.remove(&ticket);
                self.admitted.remove(&ticket);
                if reason == Gone::Unclaimed {
                    self.give_back(ticket);
                }
                self.end_place(ticket, id, reason);
                None
            }
            place => Some((ticket, place)),
        }
    }

    /// How many places an address may hold; 0 for any number.
    fn most_per_address(&self) -> u64 {
        let by_capacity =
            if self.rules.capacity > 0 { (self.rules.capacity / 4).max(60) } else { 0 };
        self.rules.places_per_address.unwrap_or(by_capacity)
    }

    /// Places that an address holds; those that have ended count until a script sees it.
    fn held_by(&self, address: u64) -> u64 {
        let is_held = |ticket| self.line.contains_key(ticket) || self.admitted.contains_key(ticket);
        let from = self.from.iter().filter(|(_, of)| **of == address);
        from.filter(|(ticket, _)| is_held(ticket)).count() as u64
    }

    /// A join, which counts for an address, if any. `ready`: the scripts promoted the new place at
    /// once, as they must exactly if the line is empty and the rules allow it.
    pub fn join(
        &mut self,
        wall: u64,
        id: Id,
        address: Option<u64>,
        ready: bool,
    ) -> Result<Joined, String> {
        self.read_clock(wall);
        self.hear();
        if let Some((ticket, place)) = self.held(id) {
            if let Reply::Waiting { .. } = place {
                self.heartbeat(ticket);
            }
            return Ok(Joined::Same(ticket, self.locate(id, ticket)));
        }
        if self.rules.closed {
            return Ok(Joined::Closed);
        }
        if self.depth() >= self.rules.max_waiting {
            return Ok(Joined::Full);
        }
        let most = self.most_per_address();
        let address = address.filter(|_| most > 0);
        if address.is_some_and(|address| self.held_by(address) >= most) {
            return Ok(Joined::AddressFull);
        }
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        if let Some(address) = address {
            self.from.insert(ticket, address);
        }
        self.last = self.now;
        self.joined.insert(ticket, (self.now, self.heard));
        let to_line = self.depth() > 0 || !self.promotes();
        let passes = self.passes();
        if ready {
            if to_line {
                return Err("promoted at once although places wait, or the queue is paused".into());
            }
            if passes == Some(false) {
                return Err("promoted at once although the rules have no room".into());
            }
            self.check(1)?;
            self.probe(1)?;
            self.admit(ticket, id);
            self.totals.at_once += 1;
        } else {
            if !to_line && passes == Some(true) {
                let wrong =
                    "not promoted at once although no visitor waits and the rules have room";
                return Err(wrong.into());
            }
            self.line.insert(ticket, (id, Stand::Waiting));
        }
        let is_compared = !ready && ticket.is_multiple_of(64);
        if is_compared || self.marked_at.is_none_or(|at| self.now - at >= SECOND) {
            self.marked_at = Some(self.now);
            self.samples.insert(ticket);
        }
        Ok(Joined::New(ticket))
    }

    /// A look, which is also the heartbeat.
    pub fn place(&mut self, wall: u64, id: Id, ticket: u64) -> Reply {
        self.read_clock(wall);
        if let Reply::Waiting { .. } = self.locate(id, ticket) {
            self.heartbeat(ticket);
        }
        self.locate(id, ticket)
    }

    /// A poll of a visitor who is answered otherwise. Whether the place is in line since its join.
    pub fn heartbeats(&mut self, wall: u64, places: &[(Id, u64)]) -> Vec<bool> {
        self.read_clock(wall);
        let is_in_line = |queue: &Self, id, ticket| {
            queue.line.get(&ticket).is_some_and(|place| *place == (id, Stand::Waiting))
        };
        let seen = |(id, ticket): &(Id, u64)| {
            let is_seen = is_in_line(self, *id, *ticket);
            if is_seen {
                self.heartbeat(*ticket);
            }
            is_seen
        };
        places.iter().map(seen).collect()
    }

    /// Whether the ticket was seen in the present slot.
    pub fn was_seen(&self, ticket: u64) -> bool {
        self.slots.back().is_some_and(|slot| slot.seen.contains(&ticket))
    }

    /// The line in outline, after visitors were heard: their slot, as [`Queue::slot`], whether a
    /// check-in period is under way, and of each ticket from the head to the end of the line its
    /// position, and how many are promoted before.
    pub fn sketch(&mut self, wall: u64, heard: bool) -> (u64, bool, Vec<(u64, u64, u64)>) {
        self.read_clock(wall);
        if heard {
            self.hear();
        }
        let waits = |(ticket, (_, stand)): (&u64, &(Id, Stand))| {
            (*stand == Stand::Waiting).then_some(*ticket)
        };
        let places = self.line.iter().filter_map(waits);
        let shown = places.map(|ticket| (ticket, self.position(ticket), self.before(ticket)));
        (self.slot(), self.check_in_left() > 0, shown.collect())
    }

    /// A claim, or an authorize that renews when it is worth it.
    pub fn enter(&mut self, wall: u64, id: Id, ticket: u64, renew: bool) -> Reply {
        self.enter_by(wall, id, ticket, renew, false)
    }

    /// The authorize behind a join at the gate.
    pub fn enter_joined(&mut self, wall: u64, id: Id, ticket: u64) -> Reply {
        self.enter_by(wall, id, ticket, false, true)
    }

    fn enter_by(&mut self, wall: u64, id: Id, ticket: u64, renew: bool, joined: bool) -> Reply {
        let place = self.place(wall, id, ticket);
        let RulesInForce { claim_ttl, session_ttl, session_max, unproven_ttl, .. } = self.rules;
        let now = self.now;
        if let (Reply::Ready { .. } | Reply::Active { .. }, Some(admitted)) =
            (place, self.admitted.get_mut(&ticket))
        {
            if !admitted.active {
                let whole = session_ttl.min(session_max);
                let short = whole.min(claim_ttl).min(unproven_ttl);
                let ends = now + if joined { short } else { whole };
                *admitted = Admitted { active: true, short: joined, since: now, ends, ..*admitted };
                self.last = now;
            } else if (admitted.short && !joined)
                || (renew && 4 * (now + session_ttl - admitted.ends) >= session_ttl)
            {
                let ends = (now + session_ttl).min(admitted.since + session_max);
                if ends > admitted.ends {
                    (admitted.ends, admitted.short) = (ends, false);
                    self.last = now;
                }
            }
        }
        self.locate(id, ticket)
    }

    /// A renewal.
    pub fn renew(&mut self, wall: u64, id: Id, ticket: u64) -> Reply {
        let place = self.place(wall, id, ticket);
        if let (Reply::Active { .. }, Some(admitted)) = (place, self.admitted.get_mut(&ticket)) {
            let RulesInForce { session_ttl, session_max, .. } = self.rules;
            let ends = (self.now + session_ttl).min(admitted.since + session_max);
            // A session_max that was lowered meanwhile ends no session at once.
            if ends > self.now {
                let cut = ends < admitted.ends;
                (admitted.ends, admitted.short) = (ends, false);
                self.last = self.now;
                if cut {
                    self.revoke(&[(ticket, id)]);
                }
            }
        }
        self.locate(id, ticket)
    }

    /// These give up or finish, in one call; nothing for who was gone before.
    pub fn leave(&mut self, wall: u64, places: &[(Id, u64)]) -> Vec<Option<Gone>> {
        self.read_clock(wall);
        self.last = self.now;
        let mut ended = Vec::new();
        let leave = |&(id, ticket): &(Id, u64)| {
            let reason = match self.locate(id, ticket) {
                Reply::Gone(_) => return None,
                Reply::Active { .. } => {
                    ended.push((ticket, id));
                    Gone::Completed
                }
                Reply::Ready { .. } => {
                    self.give_back(ticket);
                    Gone::Left
                }
                Reply::Waiting { .. } => Gone::Left,
            };
            self.leave_line(ticket);
            self.admitted.remove(&ticket);
            self.end_place(ticket, id, reason);
            Some(reason)
        };
        let left = places.iter().map(leave).collect();
        self.revoke(&ended);
        left
    }

    /// Takes a place out of the line; whose it was.
    fn leave_line(&mut self, ticket: u64) -> Option<Id> {
        let (id, stand) = self.line.remove(&ticket)?;
        if !matches!(stand, Stand::Away(_)) {
            self.depart(ticket);
        }
        Some(id)
    }

    /// An eviction by ticket; whether a visitor held it.
    pub fn evict(&mut self, wall: u64, ticket: u64) -> bool {
        self.read_clock(wall);
        if let Some(id) = self.leave_line(ticket) {
            self.last = self.now;
            self.end_place(ticket, id, Gone::Evicted);
            return true;
        }
        let Some(admitted) = self.admitted.get(&ticket).copied() else { return false };
        self.last = self.now;
        let (reason, held) = match self.locate(admitted.id, ticket) {
            Reply::Gone(reason) => (reason, false),
            Reply::Active { .. } => {
                self.revoke(&[(ticket, admitted.id)]);
                (Gone::Evicted, true)
            }
            _ => (Gone::Evicted, true),
        };
        if !admitted.active {
            self.give_back(ticket);
        }
        self.admitted.remove(&ticket);
        self.end_place(ticket, admitted.id, reason);
        held
    }
}
