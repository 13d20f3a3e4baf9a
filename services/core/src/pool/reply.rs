//! What the scripts reply about pools.

use crate::store::{Error, Numbers, reply_codes};

reply_codes! {
    /// What a script replies to a call.
    pub(super) enum Code {
        Ok,
        Repeated = 2 "REPEATED",
        Mismatch = 3 "MISMATCH",
        TooLarge = 4 "TOO_LARGE",
        Insufficient = 5 "NO_COVER",
        Again = 6 "AGAIN",
        Unconfirmed = 7 "UNCONFIRMED",
        Full = 8 "FULL",
    }
}

reply_codes! {
    /// What it replies besides, about an option or a hold.
    pub(super) enum RefusalCode {
        Ok,
        NoOption = 9 "NO_OPTION",
        NoHold = 10 "NO_HOLD",
        Settled = 11 "IS_SETTLED",
        Cancelled = 12 "IS_CANCELLED",
        Expired = 13 "IS_EXPIRED",
        Exceeds = 14 "EXCEEDS",
    }
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// It was done.
    Done(T),
    /// It was done before, under the same name; this is what that call returned.
    Repeated(T),
    /// Nothing was changed.
    Refused(Refusal),
}

impl<T> Answer<T> {
    /// The same, of something else.
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Answer<U> {
        match self {
            Self::Done(value) => Answer::Done(change(value)),
            Self::Repeated(value) => Answer::Repeated(change(value)),
            Self::Refused(refusal) => Answer::Refused(refusal),
        }
    }
}

/// Why a pool refuses a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An earlier call of the same name had another payload.
    Mismatch,
    /// All that was ever funded would be more than [`MAX_AMOUNT`](crate::rules::MAX_AMOUNT).
    TooLarge,
    /// The balance does not cover it.
    Insufficient {
        /// The balance.
        balance: u64,
    },
    /// The store's primary has changed, and no operator has confirmed the pool.
    Unconfirmed,
    /// The store's user has no permission to see which primary it is, so no operator can confirm.
    Unseen,
    /// There is no option of this name.
    NoOption,
    /// There is no such hold, or it ended more than a day ago.
    NoHold,
    /// The hold was settled, for this amount.
    Settled {
        /// The amount.
        amount: u64,
    },
    /// The hold was cancelled.
    Cancelled,
    /// The hold has ended, and the balance does not cover its amount any more.
    Expired,
    /// More is to be settled than is held.
    Exceeds {
        /// What is held.
        held: u64,
    },
}

/// What a script decides about a call, if it can.
pub(super) enum Attempt {
    /// This.
    Decided(Answer<Receipt>),
    /// Nothing yet: more holds have ended than one call takes back. The call is to be sent again.
    HoldsLeft,
}

/// The four numbers with which a script answers each call.
pub(super) struct Receipt {
    code: u64,
    /// The amount: of the call, or what was settled.
    pub(super) amount: u64,
    /// Time until a hold ends (µs), or what it held.
    pub(super) third: u64,
    /// The balance.
    pub(super) balance: u64,
}

impl Receipt {
    pub(super) fn read(numbers: &mut Numbers) -> Result<Self, Error> {
        Ok(Self {
            code: numbers.count()?,
            amount: numbers.count()?,
            third: numbers.count()?,
            balance: numbers.count()?,
        })
    }

    pub(super) fn attempt(self, numbers: &Numbers) -> Result<Attempt, Error> {
        let refusal = if self.code <= Code::Full as u64 {
            match Code::of(self.code, numbers)? {
                Code::Ok => return Ok(Attempt::Decided(Answer::Done(self))),
                Code::Repeated => return Ok(Attempt::Decided(Answer::Repeated(self))),
                Code::Again => return Ok(Attempt::HoldsLeft),
                Code::Mismatch => Refusal::Mismatch,
                Code::TooLarge => Refusal::TooLarge,
                Code::Insufficient => Refusal::Insufficient { balance: self.balance },
                Code::Unconfirmed => Refusal::Unconfirmed,
                Code::Full => return Err(Error::Full),
            }
        } else {
            match RefusalCode::of(self.code, numbers)? {
                RefusalCode::Ok => return Ok(Attempt::Decided(Answer::Done(self))),
                RefusalCode::NoOption => Refusal::NoOption,
                RefusalCode::NoHold => Refusal::NoHold,
                RefusalCode::Settled => Refusal::Settled { amount: self.amount },
                RefusalCode::Cancelled => Refusal::Cancelled,
                RefusalCode::Expired => Refusal::Expired,
                RefusalCode::Exceeds => Refusal::Exceeds { held: self.third },
            }
        };
        Ok(Attempt::Decided(Answer::Refused(refusal)))
    }
}
