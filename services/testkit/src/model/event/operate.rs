//! What operators and the configuration do, and the view of the whole.

use super::{DAY, Event, Name, Rules, State};

/// The answer to more stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum AddStock {
    Added(u64),
    Repeated(u64),
    Mismatch,
    TooLarge,
}

/// A dead letter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the operation's reply")]
pub struct Letter {
    pub sequence: u64,
    pub visitor: Name,
    pub attempts: u64,
    pub at: u64,
    pub cause: String,
}

/// The event as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the operation's reply")]
pub struct Look {
    pub stock: u64,
    pub issued: u64,
    pub pending: u64,
    pub claimed: u64,
    pub dead: u64,
    pub failed: u64,
    pub sold_out: u64,
    pub codes: u64,
}

impl Event {
    /// Other rules are in force; the stock was given before, and the first application has settled
    /// how units are issued.
    pub fn apply_rules(&mut self, wall: u64, rules: Rules) {
        let codes = if self.exists && self.tail > 0 { self.rules.codes } else { rules.codes };
        (self.rules, self.file) = (Rules { codes, ..rules }, rules);
        self.begin(wall);
    }

    /// Whether it gives out codes.
    pub fn gives_codes(&self) -> bool {
        self.rules.codes
    }

    /// An operator adds stock by a call of this name.
    pub fn add_stock(&mut self, wall: u64, name: Name, units: u64) -> AddStock {
        self.begin(wall);
        if let Some((at, first, left)) = self.calls.get(&name)
            && *at + DAY > self.now
        {
            let same = *first == units;
            return if same { AddStock::Repeated(*left) } else { AddStock::Mismatch };
        }
        let sum = self.given.checked_add(units).filter(|sum| *sum < 1 << 53);
        let Some(sum) = sum else { return AddStock::TooLarge };
        self.given = sum;
        self.calls.insert(name, (self.now, units, sum));
        self.written();
        AddStock::Added(sum)
    }

    /// Codes are loaded: how many were new, and how many are left.
    pub fn load_codes(&mut self, wall: u64, codes: impl Iterator<Item = Name>) -> (u64, u64) {
        self.begin(wall);
        self.written();
        let mut new = 0;
        for code in codes {
            if self.known_codes.insert(code) {
                self.codes.push_back(code);
                new += 1;
            }
        }
        (new, self.codes.len() as u64)
    }

    /// The dead letters behind a sequence.
    pub fn dead(&mut self, wall: u64, after: u64, limit: usize) -> Vec<Letter> {
        self.begin(wall);
        let behind = self.made.range(after + 1..);
        let dead = behind.filter_map(|(sequence, made)| match &made.state {
            State::Dead { at, cause } => Some(Letter {
                sequence: *sequence,
                visitor: made.visitor,
                attempts: made.attempts,
                at: *at,
                cause: cause.clone(),
            }),
            _ => None,
        });
        dead.take(limit).collect()
    }

    /// Dead letters are tried again: how many of these are, or were before, and how many are left.
    pub fn retry_dead(&mut self, wall: u64, visitors: impl Iterator<Item = Name>) -> (u64, u64) {
        self.begin(wall);
        let retried = visitors.filter(|visitor| self.retry(*visitor)).count() as u64;
        (retried, self.count(|state| matches!(state, State::Dead { .. })))
    }

    fn retry(&mut self, visitor: Name) -> bool {
        let Some(sequence) = self.by_visitor.get(&visitor) else { return false };
        let Some(made) = self.made.get_mut(sequence) else { return false };
        match made.state {
            State::Dead { .. } => {
                (made.attempts, made.state) = (0, State::InLine);
                self.written();
                true
            }
            // Claimed once, and in line again.
            State::Held { .. } | State::ToRetry { .. } => true,
            State::InLine => made.fence != 0,
            _ => false,
        }
    }

    /// A dead letter has failed for good.
    pub fn give_up(&mut self, wall: u64, visitor: Name) -> bool {
        self.begin(wall);
        let Some(sequence) = self.by_visitor.get(&visitor) else { return false };
        let Some(made) = self.made.get_mut(sequence) else { return false };
        match made.state {
            State::Failed => true,
            State::Dead { .. } => {
                made.state = State::Failed;
                self.failed += 1;
                self.written();
                true
            }
            _ => false,
        }
    }

    /// The event as a whole.
    pub fn look(&mut self, wall: u64) -> Look {
        self.begin(wall);
        let retried = self.count(|state| matches!(state, State::ToRetry { .. }));
        Look {
            stock: self.given,
            issued: self.issued(),
            pending: self.in_line().count() as u64 + retried,
            claimed: self.held(),
            dead: self.count(|state| matches!(state, State::Dead { .. })),
            failed: self.failed,
            sold_out: self.sold_out,
            codes: self.codes.len() as u64,
        }
    }
}
