//! The waiting room in plain Rust: maps instead of sorted sets, every promotion remembered one by
//! one.
//!
//! It decides everything but how many places a tick promotes: there it takes the number that the
//! scripts chose, checks it against the cap and the rate over the exact history, and promotes who
//! must be next.

mod health;
mod presence;
mod revoked;
mod shown;
mod ticks;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use health::{Adaptive, Health, Step, TargetReading, TargetState};
pub use revoked::Reading;
pub use shown::Shown;
pub use ticks::Tick;

/// The identity of a place.
pub type Id = [u8; 14];

const SECOND: u64 = 1_000_000;
/// Queue time runs at most this far past the last tick, heard time past the last visitor heard.
const STEP: u64 = 5 * SECOND;
const GONE_KEPT: u64 = 600 * SECOND;

/// The rules, times in microseconds; 0: no such rule.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names of the configuration")]
pub struct RulesInForce {
    pub capacity: u64,
    pub batch: u64,
    /// An operator overrides the batch.
    pub batch_overridden: bool,
    pub interval: u64,
    pub claim_ttl: u64,
    pub session_ttl: u64,
    pub session_max: u64,
    pub unproven_ttl: u64,
    pub idle_ttl: u64,
    pub keep_ttl: u64,
    pub first_poll_ttl: u64,
    pub max_waiting: u64,
    /// Promotion stops.
    pub paused: bool,
    /// No new joins.
    pub closed: bool,
    /// Admission answers for active places by itself.
    pub local_answers: bool,
    /// `None`: a quarter of `capacity`, at least 60.
    pub places_per_address: Option<u64>,
}

/// Why a place is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum Gone {
    Completed,
    Left,
    Unclaimed,
    Expired,
    Abandoned,
    Evicted,
    Lost,
    Ended,
}

/// What a visitor is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum Reply {
    Waiting { position: u64 },
    Ready { ends: u64 },
    Active { ends: u64 },
    Gone(Gone),
}

/// What a join brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum Joined {
    New(u64),
    Same(u64, Reply),
    Full,
    Closed,
    AddressFull,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// In line since the join.
    Waiting,
    /// In line again after it was away.
    Returned,
    /// Passed over since this heard time.
    Away(u64),
}

#[derive(Clone, Copy, Debug)]
struct Admitted {
    id: Id,
    active: bool,
    /// A join at the gate began the session, and nobody has shown the token yet.
    short: bool,
    /// When it was promoted (ready) or claimed (active).
    since: u64,
    ends: u64,
}

#[derive(Clone, Debug)]
struct Slot {
    number: u64,
    /// The last ticket given when the slot was opened.
    top: u64,
    seen: BTreeSet<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Promoted {
    at: u64,
    ticket: u64,
    given_back: bool,
}

/// One queue.
#[derive(Clone, Debug)]
pub struct Queue {
    /// The rules in force.
    pub rules: RulesInForce,
    offset: i64,
    last: u64,
    tick: u64,
    now: u64,
    /// The store's clock at the last call.
    wall: u64,
    last_ticket: u64,
    line: BTreeMap<u64, (Id, Stand)>,
    admitted: BTreeMap<u64, Admitted>,
    gone: BTreeMap<u64, (Id, Gone, u64)>,
    joined: BTreeMap<u64, (u64, u64)>,
    /// From which address a place joined, if it was counted.
    from: BTreeMap<u64, u64>,
    marked_at: Option<u64>,
    marks: BTreeSet<u64>,
    young: u64,
    heard: u64,
    heard_at: Option<u64>,
    /// The same by the store's clock.
    heard_wall: u64,
    roll_call: presence::RollCall,
    slots: VecDeque<Slot>,
    slots_opened: u64,
    slot_at: u64,
    promotions: Vec<Promoted>,
    revoked: revoked::Revoked,
    followed: health::Followed,
}

impl Queue {
    /// A queue whose rules are written at this time of the store's clock.
    pub fn new(rules: RulesInForce, wall: u64) -> Self {
        let local_answers = rules.local_answers;
        let mut queue = Self {
            rules: RulesInForce { local_answers: false, ..rules },
            offset: 0,
            last: wall,
            tick: wall,
            now: wall,
            wall,
            last_ticket: 0,
            line: BTreeMap::new(),
            admitted: BTreeMap::new(),
            gone: BTreeMap::new(),
            joined: BTreeMap::new(),
            from: BTreeMap::new(),
            marked_at: None,
            marks: BTreeSet::new(),
            young: 0,
            heard: 0,
            heard_at: None,
            heard_wall: 0,
            roll_call: presence::RollCall::default(),
            slots: VecDeque::new(),
            slots_opened: 0,
            slot_at: 0,
            promotions: Vec::new(),
            revoked: revoked::Revoked::default(),
            followed: health::Followed::default(),
        };
        queue.set_local_answers(wall, local_answers);
        queue
    }

    /// Queue time at the last call.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Places waiting and present.
    pub fn depth(&self) -> u64 {
        self.line.values().filter(|(_, stand)| !matches!(stand, Stand::Away(_))).count() as u64
    }

    /// Places passed over.
    pub fn away(&self) -> u64 {
        self.line.len() as u64 - self.depth()
    }

    /// Places ready and places active at this instant.
    pub fn admitted(&self) -> (u64, u64) {
        let alive = |active| {
            self.admitted.values().filter(|a| a.active == active && a.ends > self.now).count()
                as u64
        };
        (alive(false), alive(true))
    }

    fn read_clock(&mut self, wall: u64) {
        self.wall = wall;
        let now = wall.saturating_add_signed(self.offset);
        self.now = now.max(self.last).min(self.tick + STEP);
    }

    fn bury(&mut self, ticket: u64, id: Id, reason: Gone) {
        self.gone.insert(ticket, (id, reason, self.now));
    }

    fn give_back(&mut self, ticket: u64) {
        if let Some(promoted) = self.promotions.iter_mut().rev().find(|p| p.ticket == ticket) {
            promoted.given_back = true;
        }
    }

    fn locate(&self, id: Id, ticket: u64) -> Reply {
        if let Some((holder, stand)) = self.line.get(&ticket)
            && *holder == id
        {
            return match stand {
                Stand::Away(since) if since + self.rules.keep_ttl <= self.heard => {
                    Reply::Gone(Gone::Abandoned)
                }
                _ => Reply::Waiting { position: self.position(ticket) },
            };
        }
        if let Some(admitted) = self.admitted.get(&ticket)
            && admitted.id == id
        {
            return match (admitted.ends > self.now, admitted.active) {
                (true, true) => Reply::Active { ends: admitted.ends },
                (true, false) => Reply::Ready { ends: admitted.ends },
                (false, true) => Reply::Gone(Gone::Expired),
                (false, false) => Reply::Gone(Gone::Unclaimed),
            };
        }
        if let Some((holder, reason, at)) = self.gone.get(&ticket)
            && *holder == id
        {
            return Reply::Gone(if at + GONE_KEPT > self.now { *reason } else { Gone::Ended });
        }
        // Never given, or given to somebody else before it could be forgotten: the store lost it.
        let mark = self.marks.range(..=ticket).next_back().map(|mark| self.joined[mark].0);
        if ticket > self.last_ticket || mark.is_some_and(|joined| joined + GONE_KEPT > self.now) {
            return Reply::Gone(Gone::Lost);
        }
        Reply::Gone(Gone::Ended)
    }

    fn position(&self, ticket: u64) -> u64 {
        let ahead = self.line.range(..ticket).filter(|(_, (_, stand))| *stand == Stand::Waiting);
        1 + ahead.count() as u64
    }

    /// How many places in line are promoted before this one.
    pub fn before(&self, ticket: u64) -> u64 {
        let present = |(_, stand): &&(Id, Stand)| !matches!(stand, Stand::Away(_));
        self.line.range(..ticket).map(|(_, place)| place).filter(present).count() as u64
    }

    /// A visitor in line is heard.
    fn heartbeat(&mut self, ticket: u64) {
        self.hear();
        if let Some((_, stand)) = self.line.get_mut(&ticket)
            && matches!(stand, Stand::Away(_))
        {
            *stand = Stand::Returned;
        }
        self.see(ticket);
    }

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
                self.bury(ticket, id, reason);
                None
            }
            told => Some((ticket, told)),
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
    /// once, which must have been allowed; and where both rules had room beyond doubt, they must
    /// have.
    pub fn join(
        &mut self,
        wall: u64,
        id: Id,
        address: Option<u64>,
        ready: bool,
    ) -> Result<Joined, String> {
        self.read_clock(wall);
        self.hear();
        if let Some((ticket, told)) = self.held(id) {
            if let Reply::Waiting { .. } = told {
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
        let room = self.room();
        let window = self.window();
        if ready {
            if to_line {
                return Err("promoted at once although places wait, or the queue is paused".into());
            }
            self.check(1)?;
            self.probe(1)?;
            self.admit(ticket, id);
        } else {
            // With an even pace a slice may be used up; nobody promoted within the interval rules
            // that out.
            if !to_line && room > 0 && (self.pace().1 == 0 || window == 0) {
                return Err(
                    "not promoted at once although nobody waits and both rules have room".into()
                );
            }
            self.line.insert(ticket, (id, Stand::Waiting));
        }
        let told_every = !ready && ticket.is_multiple_of(64);
        if told_every || self.marked_at.is_none_or(|at| self.now - at >= SECOND) {
            self.marked_at = Some(self.now);
            self.marks.insert(ticket);
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

    /// A claim, or an authorize that renews when it is worth it.
    pub fn enter(&mut self, wall: u64, id: Id, ticket: u64, renew: bool) -> Reply {
        self.enter_by(wall, id, ticket, renew, false)
    }

    /// The authorize behind a join at the gate.
    pub fn enter_joined(&mut self, wall: u64, id: Id, ticket: u64) -> Reply {
        self.enter_by(wall, id, ticket, false, true)
    }

    fn enter_by(&mut self, wall: u64, id: Id, ticket: u64, renew: bool, joined: bool) -> Reply {
        let told = self.place(wall, id, ticket);
        let RulesInForce { claim_ttl, session_ttl, session_max, unproven_ttl, .. } = self.rules;
        let now = self.now;
        if let (Reply::Ready { .. } | Reply::Active { .. }, Some(admitted)) =
            (told, self.admitted.get_mut(&ticket))
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
        let told = self.place(wall, id, ticket);
        if let (Reply::Active { .. }, Some(admitted)) = (told, self.admitted.get_mut(&ticket)) {
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
            self.line.remove(&ticket);
            self.admitted.remove(&ticket);
            self.bury(ticket, id, reason);
            Some(reason)
        };
        let left = places.iter().map(leave).collect();
        self.revoke(&ended);
        left
    }

    /// An eviction by ticket; whether anybody held it.
    pub fn evict(&mut self, wall: u64, ticket: u64) -> bool {
        self.read_clock(wall);
        if let Some((id, _)) = self.line.remove(&ticket) {
            self.last = self.now;
            self.bury(ticket, id, Gone::Evicted);
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
        self.bury(ticket, admitted.id, reason);
        held
    }
}
