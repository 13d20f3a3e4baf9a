//! What the script replies about checks.

use std::time::Duration;

use crate::store::{Error, Numbers, millis, reply_codes};

reply_codes! {
    /// What the script answers.
    pub(super) enum Code {
        Ok,
        Refused = 2 "REFUSED",
        ShadowRefused = 3 "SHADOW_REFUSED",
        Repeated = 4 "REPEATED",
        Mismatch = 5 "MISMATCH",
    }
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was decided.
    Decided {
        /// Whether all of it is allowed: then what it requested is taken, else nothing.
        allowed: bool,
        /// Whether that was decided by an earlier call of the same name; this one took nothing.
        repeated: bool,
        /// The outcome of each check, in their order.
        checks: Vec<Checked>,
    },
    /// An earlier call of the same name had another payload.
    Mismatch,
}

/// The outcome of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Whether there was room for its units.
    pub outcome: Outcome,
    /// How many units are left now.
    pub remaining: u32,
    /// Until all units are there again, if none are taken meanwhile.
    pub reset: Duration,
    /// Until there is room for its units, if none are taken meanwhile: at that time there is, and
    /// one millisecond before there is not. Zero where there is room.
    pub retry_after: Duration,
}

/// Whether a check's units have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// They have.
    Allowed,
    /// They have not: nothing of the whole call is taken.
    Refused,
    /// They have not, and the limit is a shadow: nothing is taken from it.
    ShadowRefused,
}

impl Answer {
    /// That of a call without a name which has only this check.
    pub(super) fn of_one(checked: Checked) -> Self {
        let allowed = checked.outcome != Outcome::Refused;
        Self::Decided { allowed, repeated: false, checks: vec![checked] }
    }

    /// Reads the outcomes of so many checks of one item.
    pub(super) fn read(numbers: &mut Numbers, checks: usize) -> Result<Self, Error> {
        let code = Code::of(numbers.count()?, numbers)?;
        let (allowed, repeated) = match code {
            Code::Ok => (true, false),
            Code::Repeated => (true, true),
            Code::Refused => (false, false),
            Code::Mismatch => return Ok(Self::Mismatch),
            Code::ShadowRefused => return Err(numbers.error("a shadow that refuses an item")),
        };
        let checks = (0..checks).map(|_| Checked::read(numbers)).collect::<Result<_, _>>()?;
        Ok(Self::Decided { allowed, repeated, checks })
    }
}

impl Checked {
    fn read(numbers: &mut Numbers) -> Result<Self, Error> {
        let head = numbers.count()?;
        let outcome = match Code::of(head & 7, numbers)? {
            Code::Ok => Outcome::Allowed,
            Code::Refused => Outcome::Refused,
            Code::ShadowRefused => Outcome::ShadowRefused,
            code => return Err(numbers.error(format!("{code:?} of a check"))),
        };
        let remaining = u32::try_from(head >> 3).map_err(|_| numbers.error("too many units"))?;
        let mut time = || {
            let ms = numbers.integer()?;
            millis(ms).ok_or_else(|| numbers.error(format!("a time of {ms} ms")))
        };
        Ok(Self { outcome, remaining, reset: time()?, retry_after: time()? })
    }
}
