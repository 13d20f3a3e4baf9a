//! An event in plain Rust: every application is remembered with its state, and everything else is
//! counted each time.

mod claims;
mod operate;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use claims::{Claimed, Failed, Finished, Work};
pub use operate::{AddStock, Letter, Look};

/// A visitor, a code or the name of a call, as a number.
pub type Name = u64;
/// What names a claim; the history makes it.
pub type Fence = u64;

/// Queue time runs at most so far past the last tick.
const STEP: u64 = 5_000_000;
/// Without a tick for so long, no issuer could renew a lease.
const LATE: u64 = 1_000_000;
/// A call that has a name counts for so long.
const DAY: u64 = 86_400_000_000;

/// The rules, times in microseconds.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names of the configuration")]
pub struct Rules {
    pub stock: u64,
    /// In millionths.
    pub over_apply: u64,
    pub opens_at: u64,
    /// 0: never.
    pub ends_at: u64,
    pub codes: bool,
    pub lease: u64,
    pub max_attempts: u64,
    pub max_per_second: u64,
    pub keep_ttl: u64,
}

/// The state of an application, as its visitor sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum Application {
    Pending(u64),
    Claimed,
    /// In milliseconds.
    ToRetry(u64),
    Issued {
        at: u64,
        code: Option<Name>,
    },
    SoldOut,
    Failed,
}

/// The answer to an application.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum Apply {
    Accepted(Application),
    Same(Application),
    SoldOut,
    NotOpen(Option<u64>),
}

/// What is known of an application.
#[derive(Clone, Debug)]
struct Made {
    visitor: Name,
    /// In milliseconds of queue time.
    at: u64,
    attempts: u64,
    /// Of its last claim.
    fence: Fence,
    state: State,
}

/// Its state.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// In line, for the first time or again.
    InLine,
    Held {
        until: u64,
    },
    ToRetry {
        due: u64,
    },
    Dead {
        at: u64,
        cause: String,
    },
    Issued {
        at: u64,
        code: Option<Name>,
    },
    SoldOut,
    Failed,
}

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// In force.
    rules: Rules,
    /// As the file has them.
    file: Rules,
    exists: bool,
    wall: u64,
    now: u64,
    offset: i64,
    last: u64,
    tick: u64,
    given: u64,
    /// The first call gives it the stock of the file.
    is_to_be_given: bool,
    /// By sequence.
    made: BTreeMap<u64, Made>,
    by_visitor: BTreeMap<Name, u64>,
    tail: u64,
    codes: VecDeque<Name>,
    known_codes: BTreeSet<Name>,
    calls: BTreeMap<Name, (u64, u64, u64)>,
    debt: u64,
    debt_at: u64,
    debt_offset: u64,
    sold_out: u64,
    failed: u64,
    /// Leases that ended between these times are not over until the second.
    grace: Option<(u64, u64)>,
    /// When a tick found it over.
    over_at: Option<u64>,
    /// Issued by applications that were dropped long after the end, if they were.
    dropped: Option<u64>,
}

impl Event {
    /// One that the store knows nothing of.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            file: rules,
            exists: false,
            wall: 0,
            now: 0,
            offset: 0,
            last: 0,
            tick: 0,
            given: 0,
            is_to_be_given: true,
            made: BTreeMap::new(),
            by_visitor: BTreeMap::new(),
            tail: 0,
            codes: VecDeque::new(),
            known_codes: BTreeSet::new(),
            calls: BTreeMap::new(),
            debt: 0,
            debt_at: 0,
            debt_offset: 0,
            sold_out: 0,
            failed: 0,
            grace: None,
            over_at: None,
            dropped: None,
        }
    }

    /// The store loses everything.
    pub fn empty(&mut self) {
        *self = Self::new(self.file);
    }

    /// It loses the meta hash alone: the applications stay what they are, and so does the stock.
    /// An event that was dropped has none.
    pub fn lose_meta(&mut self) {
        let lost = std::mem::replace(self, Self::new(self.file));
        if lost.dropped.is_none() {
            self.is_to_be_given = lost.is_to_be_given;
            (self.given, self.sold_out, self.failed) = (lost.given, lost.sold_out, lost.failed);
            (self.made, self.by_visitor, self.tail) = (lost.made, lost.by_visitor, lost.tail);
        }
        (self.codes, self.known_codes, self.calls) = (lost.codes, lost.known_codes, lost.calls);
    }

    /// Each call begins here: the first is the birth of the event.
    fn begin(&mut self, wall: u64) {
        self.wall = wall;
        if !self.exists {
            self.exists = true;
            (self.offset, self.last, self.tick) = (0, wall, wall);
        }
        if self.is_to_be_given {
            (self.given, self.is_to_be_given) = (self.rules.stock, false);
        }
        self.now = wall.saturating_add_signed(self.offset).max(self.last).min(self.tick + STEP);
    }

    /// Whether no tick has come for so long that no issuer could renew a lease.
    fn is_late(&self) -> bool {
        self.wall.saturating_add_signed(self.offset) > self.tick + LATE
    }

    /// By when a lease must have ended to be over.
    fn ended_by(&self) -> u64 {
        match self.grace {
            Some((from, until)) if self.now < until => from.min(self.now),
            _ if self.is_late() => self.tick,
            _ => self.now,
        }
    }

    /// What a call writes keeps its time.
    fn written(&mut self) {
        self.last = self.now;
    }

    fn count(&self, of: impl Fn(&State) -> bool) -> u64 {
        self.made.values().filter(|made| of(&made.state)).count() as u64
    }

    fn in_line(&self) -> impl Iterator<Item = u64> {
        let waiting = self.made.iter().filter(|(_, made)| made.state == State::InLine);
        waiting.map(|(sequence, _)| *sequence)
    }

    fn issued(&self) -> u64 {
        self.dropped.unwrap_or(0) + self.count(|state| matches!(state, State::Issued { .. }))
    }

    fn held(&self) -> u64 {
        self.count(|state| matches!(state, State::Held { .. }))
    }

    /// For how many of those in line there is a unit, and with codes a code.
    fn free(&self) -> u64 {
        let bound = self.count(|state| {
            let holds = matches!(state, State::Held { .. } | State::ToRetry { .. });
            holds || matches!(state, State::Dead { .. })
        });
        let mut free = self.given - bound - self.issued();
        if self.rules.codes {
            free = free.min((self.codes.len() as u64).saturating_sub(self.held()));
        }
        free.min(self.in_line().count() as u64)
    }

    fn shown(&self, sequence: u64) -> Application {
        match &self.made[&sequence].state {
            State::InLine => {
                Application::Pending(self.in_line().take_while(|it| *it <= sequence).count() as u64)
            }
            State::Held { .. } => Application::Claimed,
            State::ToRetry { due } => match due.saturating_sub(self.now) / 1_000 {
                0 => Application::Claimed,
                left => Application::ToRetry(left),
            },
            State::Issued { at, code } => Application::Issued { at: *at, code: *code },
            State::SoldOut => Application::SoldOut,
            State::Dead { .. } | State::Failed => Application::Failed,
        }
    }

    /// A visitor applies.
    pub fn apply(&mut self, wall: u64, visitor: Name) -> Apply {
        self.begin(wall);
        if let Some(sequence) = self.by_visitor.get(&visitor) {
            return Apply::Same(self.shown(*sequence));
        }
        if self.dropped.is_some() {
            return Apply::NotOpen(None);
        }
        if wall < self.rules.opens_at {
            return Apply::NotOpen(Some((self.rules.opens_at - wall).div_ceil(1_000)));
        }
        if self.rules.ends_at != 0 && wall >= self.rules.ends_at {
            return Apply::NotOpen(None);
        }
        let most = u128::from(self.given) * u128::from(self.rules.over_apply) / 1_000_000;
        let over = |state: &State| matches!(state, State::SoldOut | State::Failed);
        let on_their_way = self.count(|state| !over(state));
        if self.issued() >= self.given || u128::from(on_their_way) >= most {
            return Apply::SoldOut;
        }
        self.tail += 1;
        let at = self.now / 1_000;
        let made = Made { visitor, at, attempts: 0, fence: 0, state: State::InLine };
        self.made.insert(self.tail, made);
        self.by_visitor.insert(visitor, self.tail);
        self.written();
        Apply::Accepted(self.shown(self.tail))
    }

    /// A look at the application of a visitor.
    pub fn status(&mut self, wall: u64, visitor: Name) -> Option<Application> {
        self.begin(wall);
        self.by_visitor.get(&visitor).map(|sequence| self.shown(*sequence))
    }
}
