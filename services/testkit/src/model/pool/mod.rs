//! A pool, in plain Rust.
//!
//! Holds and calls are numbered by the tests. Times are in microseconds. What 50 ended holds are
//! left over at a time is not modelled: here all of them are taken back at once.

use std::collections::BTreeMap;

/// A day.
pub const DAY: u64 = 86_400_000_000;
/// How far queue time runs past a tick.
const STEP: u64 = 5_000_000;
/// The largest sum.
pub const MAX_AMOUNT: u64 = (1 << 53) - 1;

/// What a file sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What is in the pool when it is created.
    pub funds: Option<u64>,
    /// How long a hold lasts.
    pub hold_ttl: u64,
    /// The most that each option pays; the options are numbered.
    pub options: Vec<u64>,
}

/// How much a call requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmountRequest {
    /// So much.
    Amount(u64),
    /// The most that an option pays.
    Option(usize),
}

/// Why nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Another call had the name.
    Mismatch,
    /// The sum would be too large.
    TooLarge,
    /// The balance is too small.
    Insufficient(u64),
    /// No such option.
    NoOption,
    /// No such hold.
    NoHold,
    /// Settled for this.
    Settled(u64),
    /// Cancelled.
    Cancelled,
    /// Over, and the balance is too small.
    Expired,
    /// More than is held.
    Exceeds(u64),
}

/// What came of a call: amount, time left and balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done.
    Done(u64, u64, u64),
    /// Done before.
    Repeated(u64, u64, u64),
    /// Not done.
    Refused(Refusal),
}

/// The state of a hold, what it reserved, and the time left.
pub type Look = Option<(&'static str, u64, u64)>;

/// What a pool has: balance, held, paid, funded, lines of the ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// To be given out.
    pub balance: u64,
    /// Reserved.
    pub held: u64,
    /// Paid.
    pub paid: u64,
    /// Ever put in.
    pub funded: u64,
    /// Movements.
    pub lines: u64,
}

#[derive(Clone, Debug)]
struct Hold {
    request: AmountRequest,
    ends: u64,
    amount: u64,
    balance: u64,
    /// Not taken back, settled or cancelled.
    is_reserved: bool,
    settled: Option<u64>,
    is_cancelled: bool,
}

/// A draw or funds, by the name of the call.
#[derive(Clone, Copy, Debug)]
struct Call {
    request: AmountRequest,
    at: u64,
    amount: u64,
    balance: u64,
}

/// A pool.
#[derive(Clone, Debug)]
pub struct Pool {
    rules: Rules,
    exists: bool,
    sums: Sums,
    offset: i64,
    last: u64,
    tick: u64,
    holds: BTreeMap<u64, Hold>,
    draws: BTreeMap<u64, Call>,
    funds: BTreeMap<u64, Call>,
}

impl Pool {
    /// One that no call has reached yet.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            exists: false,
            sums: Sums::default(),
            offset: 0,
            last: 0,
            tick: 0,
            holds: BTreeMap::new(),
            draws: BTreeMap::new(),
            funds: BTreeMap::new(),
        }
    }

    /// The file says something else.
    pub fn change(&mut self, wall: u64, rules: Rules) {
        self.rules = rules;
        self.open(wall);
    }

    /// The store loses everything.
    pub fn forget(&mut self) {
        *self = Self::new(self.rules.clone());
    }

    /// Queue time now; a pool that the store does not know is created.
    fn open(&mut self, wall: u64) -> u64 {
        if !self.exists {
            self.exists = true;
            (self.tick, self.last) = (wall, wall);
            if let Some(funds) = self.rules.funds {
                self.sums = Sums { balance: funds, funded: funds, lines: 1, ..Sums::default() };
            }
        }
        wall.saturating_add_signed(self.offset).max(self.last).min(self.tick + STEP)
    }

    /// Queue time, once what has ended is taken back.
    fn sweep_holds(&mut self, wall: u64) -> u64 {
        let now = self.open(wall);
        for hold in self.holds.values_mut().filter(|it| it.is_reserved && it.ends <= now) {
            hold.is_reserved = false;
            self.sums.held -= hold.amount;
            self.sums.balance += hold.amount;
            self.sums.lines += 1;
            self.last = now;
        }
        now
    }

    fn begin(&mut self, wall: u64) -> u64 {
        self.last = self.sweep_holds(wall);
        self.last
    }

    fn amount(&self, request: AmountRequest) -> Option<u64> {
        match request {
            AmountRequest::Amount(amount) => Some(amount),
            AmountRequest::Option(option) => self.rules.options.get(option).copied(),
        }
    }

    /// The requested amount, if the balance covers it.
    fn covered(&self, request: AmountRequest) -> Result<u64, Refusal> {
        let amount = self.amount(request).ok_or(Refusal::NoOption)?;
        let balance = self.sums.balance;
        if amount > balance { Err(Refusal::Insufficient(balance)) } else { Ok(amount) }
    }

    /// Reserves.
    pub fn hold(&mut self, wall: u64, request: AmountRequest, id: u64) -> Answer {
        let now = self.begin(wall);
        let known = self.holds.get(&id).filter(|hold| hold.ends + DAY > now);
        if let Some(hold) = known {
            let is_over = hold.settled.is_some() || hold.is_cancelled;
            return if hold.request == request {
                let left = if is_over { 0 } else { hold.ends.saturating_sub(now) };
                Answer::Repeated(hold.amount, left, hold.balance)
            } else {
                Answer::Refused(Refusal::Mismatch)
            };
        }
        match self.covered(request) {
            Err(refusal) => Answer::Refused(refusal),
            Ok(amount) => {
                self.sums.balance -= amount;
                self.sums.held += amount;
                self.sums.lines += 1;
                let ends = now + self.rules.hold_ttl;
                let balance = self.sums.balance;
                let hold = Hold {
                    request,
                    ends,
                    amount,
                    balance,
                    is_reserved: true,
                    settled: None,
                    is_cancelled: false,
                };
                self.holds.insert(id, hold);
                Answer::Done(amount, self.rules.hold_ttl, balance)
            }
        }
    }

    /// Pays at once.
    pub fn draw(&mut self, wall: u64, request: AmountRequest, id: u64) -> Answer {
        let now = self.begin(wall);
        if let Some(answer) = repeated(&self.draws, id, request, now) {
            return answer;
        }
        match self.covered(request) {
            Err(refusal) => Answer::Refused(refusal),
            Ok(amount) => {
                self.sums.balance -= amount;
                self.sums.paid += amount;
                self.sums.lines += 1;
                let balance = self.sums.balance;
                self.draws.insert(id, Call { request, at: now, amount, balance });
                Answer::Done(amount, 0, balance)
            }
        }
    }

    /// Puts money in.
    pub fn fund(&mut self, wall: u64, amount: u64, id: u64) -> Answer {
        let now = self.open(wall);
        self.last = now;
        let request = AmountRequest::Amount(amount);
        if let Some(answer) = repeated(&self.funds, id, request, now) {
            return answer;
        }
        if self.sums.funded + amount > MAX_AMOUNT {
            return Answer::Refused(Refusal::TooLarge);
        }
        self.sums.balance += amount;
        self.sums.funded += amount;
        self.sums.lines += 1;
        let balance = self.sums.balance;
        self.funds.insert(id, Call { request, at: now, amount, balance });
        Answer::Done(amount, 0, balance)
    }

    /// Pays of a hold.
    pub fn settle(&mut self, wall: u64, id: u64, amount: u64) -> Answer {
        let now = self.begin(wall);
        let Self { sums, holds, .. } = self;
        let Some(hold) = holds.get_mut(&id).filter(|hold| hold.ends + DAY > now) else {
            return Answer::Refused(Refusal::NoHold);
        };
        match hold.settled {
            Some(settled) if settled == amount => {
                return Answer::Repeated(settled, hold.amount, sums.balance);
            }
            Some(settled) => return Answer::Refused(Refusal::Settled(settled)),
            None => {}
        }
        if hold.is_cancelled {
            return Answer::Refused(Refusal::Cancelled);
        }
        if amount > hold.amount {
            return Answer::Refused(Refusal::Exceeds(hold.amount));
        }
        let released = if hold.is_reserved { hold.amount } else { 0 };
        if amount > released + sums.balance {
            return Answer::Refused(Refusal::Expired);
        }
        sums.held -= released;
        sums.paid += amount;
        sums.balance = sums.balance + released - amount;
        sums.lines += 1;
        hold.is_reserved = false;
        hold.settled = Some(amount);
        Answer::Done(amount, hold.amount, sums.balance)
    }

    /// Gives a hold up.
    pub fn cancel(&mut self, wall: u64, id: u64) -> Result<(), Refusal> {
        let now = self.begin(wall);
        let hold = self.holds.get_mut(&id).filter(|hold| hold.ends + DAY > now);
        let hold = hold.ok_or(Refusal::NoHold)?;
        if let Some(amount) = hold.settled {
            return Err(Refusal::Settled(amount));
        }
        if hold.is_reserved {
            hold.is_reserved = false;
            self.sums.held -= hold.amount;
            self.sums.balance += hold.amount;
            self.sums.lines += 1;
        }
        hold.is_cancelled = true;
        Ok(())
    }

    /// Lets a hold last; its amount and the time left.
    pub fn extend(&mut self, wall: u64, id: u64) -> Result<(u64, u64), Refusal> {
        let now = self.begin(wall);
        let hold = self.holds.get_mut(&id).filter(|hold| hold.ends + DAY > now);
        let hold = hold.ok_or(Refusal::NoHold)?;
        match (hold.settled, hold.is_cancelled, hold.is_reserved) {
            (Some(amount), _, _) => Err(Refusal::Settled(amount)),
            (_, true, _) => Err(Refusal::Cancelled),
            (_, _, false) => Err(Refusal::Expired),
            (None, false, true) => {
                hold.ends = hold.ends.max(now + self.rules.hold_ttl);
                Ok((hold.amount, hold.ends - now))
            }
        }
    }

    /// Looks at a hold.
    pub fn look(&mut self, wall: u64, id: u64) -> Look {
        let now = self.open(wall);
        let hold = self.holds.get(&id).filter(|hold| hold.ends + DAY > now)?;
        let state = match (hold.settled, hold.is_cancelled) {
            (Some(_), _) => "settled",
            (_, true) => "cancelled",
            _ if hold.ends <= now => "expired",
            _ => "held",
        };
        let left = if state == "held" { hold.ends - now } else { 0 };
        Some((state, hold.amount, left))
    }

    /// Looks at the whole.
    pub fn snapshot(&mut self, wall: u64) -> Sums {
        self.sweep_holds(wall);
        self.sums
    }

    /// Which options the balance covers.
    pub fn available(&self) -> Vec<bool> {
        self.rules.options.iter().map(|amount| *amount <= self.sums.balance).collect()
    }

    /// Queue time goes on by this much at once, as by many ticks, but nothing is taken back.
    pub fn pass_unseen(&mut self, micros: u64) {
        self.last += micros;
        self.tick += micros;
        self.offset += i64::try_from(micros).unwrap_or(0);
    }

    /// A tick.
    pub fn sweep(&mut self, wall: u64) {
        let now = self.open(wall);
        self.offset = i64::try_from(now).unwrap_or(i64::MAX) - i64::try_from(wall).unwrap_or(0);
        self.tick = now;
        self.begin(wall);
    }
}

/// The answer to a call that was made within the last day.
fn repeated(
    calls: &BTreeMap<u64, Call>,
    id: u64,
    request: AmountRequest,
    now: u64,
) -> Option<Answer> {
    let call = calls.get(&id).filter(|call| call.at + DAY > now)?;
    Some(if call.request == request {
        Answer::Repeated(call.amount, 0, call.balance)
    } else {
        Answer::Refused(Refusal::Mismatch)
    })
}
