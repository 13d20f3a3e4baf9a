//! The waiting room in plain Rust: maps instead of sorted sets, every promotion remembered one by
//! one.
//!
//! It works out how many places a tick may promote, and promotes the number that the scripts
//! chose: more are refused at once, and fewer when the tick is over ([`Queue::held_back`]). The cap
//! and the rate are checked over the exact history beside it.

mod health;
mod pace;
mod presence;
mod revoked;
mod shown;
mod ticks;
mod totals;
mod visits;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use health::{Adaptive, BreakerReading, BreakerState, Health, Step};
pub use revoked::Reading;
pub use shown::Shown;
pub use ticks::Tick;
pub use totals::Totals;

/// The identity of a place.
pub type Id = [u8; 14];

const SECOND: u64 = 1_000_000;
/// Queue time runs at most this far past the last tick, heard time past the last visitor heard.
const STEP: u64 = 5 * SECOND;
const GONE_KEPT: u64 = 600 * SECOND;

/// The rules, times in microseconds; 0: no such rule.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the names of the configuration")]
pub struct RulesInForce {
    pub capacity: u64,
    pub batch: u64,
    /// An operator overrides the batch.
    pub batch_overridden: bool,
    pub interval: u64,
    /// The pace: slices over the interval, or all of the batch at once.
    pub even: bool,
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

/// The answer that a visitor gets.
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
    /// A join at the gate began the session, and no client has shown the token yet.
    short: bool,
    /// When it was promoted (ready) or claimed (active).
    since: u64,
    ends: u64,
}

#[derive(Clone, Debug)]
struct Slot {
    number: u64,
    /// The head of the line when the slot was opened.
    base: u64,
    /// The last ticket given then.
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
#[derive(Clone, Debug, Default)]
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
    samples: BTreeSet<u64>,
    first_polls_over: u64,
    heard: u64,
    heard_at: Option<u64>,
    /// The same by the store's clock.
    heard_wall: u64,
    check_in: presence::CheckIn,
    slots: VecDeque<Slot>,
    slots_opened: u64,
    slot_at: u64,
    promotions: Vec<Promoted>,
    pace: pace::Pace,
    revoked: revoked::Revoked,
    departures: revoked::Departures,
    followed: health::Followed,
    totals: Totals,
}

impl Queue {
    /// A queue whose rules are written at this time of the store's clock.
    pub fn new(rules: RulesInForce, wall: u64) -> Self {
        let local_answers = rules.local_answers;
        let rules = RulesInForce { local_answers: false, ..rules };
        let mut queue = Self { rules, last: wall, tick: wall, now: wall, wall, ..Self::default() };
        queue.set_local_answers(wall, local_answers);
        queue
    }

    /// Queue time at the last call.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// When the slot was opened in which visitors are seen; 0 before the first.
    pub fn slot(&self) -> u64 {
        self.slot_at
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

    fn end_place(&mut self, ticket: u64, id: Id, reason: Gone) {
        self.gone.insert(ticket, (id, reason, self.now));
        if reason == Gone::Unclaimed {
            self.totals.missed += 1;
        }
    }

    fn give_back(&mut self, ticket: u64) {
        if let Some(promoted) = self.promotions.iter_mut().rev().find(|p| p.ticket == ticket) {
            promoted.given_back = true;
            self.pace.give_back(self.now, self.rules.interval, promoted.at);
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
        // Never given, or given to another before it could be forgotten: the store lost it.
        let sample = self.samples.range(..=ticket).next_back().map(|ticket| self.joined[ticket].0);
        if ticket > self.last_ticket || sample.is_some_and(|joined| joined + GONE_KEPT > self.now) {
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
}
