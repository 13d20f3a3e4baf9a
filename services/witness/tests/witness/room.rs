//! A waiting room of a few lines, honest or with one planted fault, in simulated time (µs).

use std::collections::BTreeMap;

use anteroom_witness::{Call, Shown};

use crate::story::{active, gone, ready, waiting};

pub const CAPACITY: usize = 4;
pub const BATCH: usize = 6;
pub const INTERVAL: u64 = 2_000_000;
pub const TTL: u64 = 5_000_000;

/// What the room does wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlantedFault {
    #[default]
    None,
    /// One more than the capacity.
    OneTooMany,
    /// One more than the batch.
    OneTooFast,
    /// The second in line before the first.
    OutOfOrder,
    /// A repeated join of one who is ready makes a new place.
    TwoPlaces,
    /// Now and then a join is answered and forgotten.
    LosesJoins,
    /// Now and then a position is shown too good.
    FalseHope,
    /// Turns end a second early.
    ShortTurns,
    /// With local answers: a position may be worse than the one that the client sent.
    IgnoresSentPositions,
}

/// The line as it was some time ago.
#[derive(Default)]
struct Outline {
    read_at: u64,
    tickets: Vec<u64>,
}

/// So old an outline may be.
const OUTLINE_AGE: u64 = 2_000_000;
/// Places that may be promoted meanwhile are answered exactly.
const FRONT: u64 = 2 * BATCH as u64;

struct Admitted {
    who: u32,
    active: bool,
    until: u64,
    promoted: u64,
}

/// The room's state; `now` is time itself, from which queue time follows.
#[derive(Default)]
pub struct SimulatedRoom {
    fault: PlantedFault,
    /// With local answers.
    outline: Option<Outline>,
    offset: i64,
    last: u64,
    tick: u64,
    tickets: u64,
    line: BTreeMap<u64, u32>,
    admitted: BTreeMap<u64, Admitted>,
    over: BTreeMap<u64, &'static str>,
    log: Vec<u64>,
}

impl SimulatedRoom {
    pub fn new(fault: PlantedFault, local_answers: bool) -> Self {
        let outline = local_answers.then(Outline::default);
        Self { fault, outline, ..Self::default() }
    }

    /// Queue time: never back, and at most 5 s past the last tick. What has ended by it is swept.
    fn clock(&mut self, now: u64) -> u64 {
        self.last = now.saturating_add_signed(self.offset).max(self.last).min(self.tick + TTL);
        let (time, log, over) = (self.last, &mut self.log, &mut self.over);
        self.admitted.retain(|ticket, it| {
            if it.until > time {
                return true;
            }
            over.insert(*ticket, if it.active { "expired" } else { "unclaimed" });
            if !it.active {
                give_back(log, it.promoted);
            }
            false
        });
        time
    }

    /// A scheduler's tick.
    pub fn promote(&mut self, now: u64) {
        let time = self.clock(now);
        (self.offset, self.tick) = (time as i64 - now as i64, time);
        while !self.line.is_empty() && self.may_promote(time) {
            let next = usize::from(self.fault == PlantedFault::OutOfOrder && self.line.len() > 1);
            let ticket = *self.line.keys().nth(next).expect("as many");
            let who = self.line.remove(&ticket).expect("in line");
            self.admit(ticket, who, time);
        }
    }

    fn may_promote(&self, time: u64) -> bool {
        let more = |fault| usize::from(self.fault == fault);
        let recent = self.log.iter().filter(|at| **at + INTERVAL > time).count();
        self.admitted.len() < CAPACITY + more(PlantedFault::OneTooMany)
            && recent < BATCH + more(PlantedFault::OneTooFast)
    }

    fn admit(&mut self, ticket: u64, who: u32, time: u64) {
        let until = time + TTL;
        self.admitted.insert(ticket, Admitted { who, active: false, until, promoted: time });
        self.log.push(time);
    }

    /// One request has its effect now: status, ticket and what the answer shows.
    pub fn ask(
        &mut self,
        now: u64,
        who: u32,
        call: Call,
        (held, sent): (u64, Option<u64>),
    ) -> (u16, u64, Shown) {
        let time = self.clock(now);
        if call == Call::Join {
            return self.join(time, who);
        }
        let shown = match call {
            Call::Leave => self.leave(held),
            Call::Claim | Call::Authorize => self.claim(held, time),
            _ => self.with_local_answers(now, held, sent, self.shown(held, time)),
        };
        let status = match shown {
            Shown::Gone { .. } if call != Call::Leave => 410,
            Shown::Waiting { .. } if call == Call::Claim => 409,
            _ => 200,
        };
        (status, held, shown)
    }

    fn join(&mut self, time: u64, who: u32) -> (u16, u64, Shown) {
        let in_line = self.line.iter().find(|(_, it)| **it == who).map(|(ticket, _)| *ticket);
        let inside = self
            .admitted
            .iter()
            .find(|(_, it)| it.who == who && (it.active || self.fault != PlantedFault::TwoPlaces));
        if let Some(ticket) = in_line.or(inside.map(|(ticket, _)| *ticket)) {
            return (200, ticket, self.shown(ticket, time));
        }
        self.tickets += 1;
        let ticket = self.tickets;
        if self.line.is_empty() && self.may_promote(time) {
            self.admit(ticket, who, time);
        } else {
            self.line.insert(ticket, who);
        }
        let shown = self.shown(ticket, time);
        if self.fault == PlantedFault::LosesJoins && ticket.is_multiple_of(10) {
            self.line.remove(&ticket);
        }
        (201, ticket, shown)
    }

    fn shown(&self, ticket: u64, time: u64) -> Shown {
        if let Some(it) = self.admitted.get(&ticket) {
            let left_ms = (it.until - time).div_ceil(1_000);
            return if it.active { active(left_ms) } else { ready(left_ms) };
        }
        if self.line.contains_key(&ticket) {
            let ahead = self.line.range(..ticket).count() as u64;
            let flatters =
                self.fault == PlantedFault::FalseHope && (ticket + time).is_multiple_of(5);
            return waiting(if flatters { 1 } else { ahead + 1 });
        }
        gone(self.over.get(&ticket).copied().unwrap_or("lost"))
    }

    /// With local answers a position is 3 % off, and of the line up to 2 s ago, but never above the
    /// one that the client sent.
    fn with_local_answers(
        &mut self,
        now: u64,
        ticket: u64,
        sent: Option<u64>,
        exact: Shown,
    ) -> Shown {
        let Some(outline) = &mut self.outline else { return exact };
        if outline.tickets.is_empty() || outline.read_at + OUTLINE_AGE <= now {
            *outline = Outline { read_at: now, tickets: self.line.keys().copied().collect() };
        }
        let Shown::Waiting { position: Some(exact) } = exact else { return exact };
        let rank = outline.tickets.binary_search(&ticket).map(|rank| rank as u64 + 1);
        let position = match rank {
            Ok(position) if position > FRONT && (ticket + now).is_multiple_of(2) => {
                position * 103 / 100
            }
            Ok(position) if position > FRONT => (position * 97).div_ceil(100),
            _ => exact,
        };
        let sent = sent.filter(|_| self.fault != PlantedFault::IgnoresSentPositions);
        waiting(position.min(sent.unwrap_or(u64::MAX)))
    }

    fn claim(&mut self, ticket: u64, time: u64) -> Shown {
        if let Some(it) = self.admitted.get_mut(&ticket)
            && !it.active
        {
            let ttl = if self.fault == PlantedFault::ShortTurns { TTL - 1_000_000 } else { TTL };
            (it.active, it.until) = (true, time + ttl);
            return active(TTL / 1_000);
        }
        self.shown(ticket, time)
    }

    fn leave(&mut self, ticket: u64) -> Shown {
        if self.line.remove(&ticket).is_some() {
            self.over.insert(ticket, "left");
        }
        if let Some(it) = self.admitted.remove(&ticket) {
            self.over.insert(ticket, if it.active { "completed" } else { "left" });
            if !it.active {
                give_back(&mut self.log, it.promoted);
            }
        }
        gone("left")
    }
}

fn give_back(log: &mut Vec<u64>, promoted: u64) {
    if let Some(at) = log.iter().position(|at| *at == promoted) {
        log.swap_remove(at);
    }
}
