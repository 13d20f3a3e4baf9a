//! What the scripts reply about targets.

use super::State;
use super::state::Window;
use crate::store::{Error, Numbers, reply_codes};

reply_codes! {
    /// What `target.record` replies about one item.
    pub(super) enum Code {
        Ok,
        Repeated = 2 "REPEATED",
        Mismatch = 3 "MISMATCH",
        TooMany = 4 "TOO_MANY",
    }
}

impl State {
    pub(super) fn read(numbers: &mut Numbers) -> Result<Self, Error> {
        let number = numbers.count()?;
        Self::numbered(number).ok_or_else(|| numbers.error(format!("unknown state {number}")))
    }
}

impl Window {
    pub(super) fn read(numbers: &mut Numbers) -> Result<Self, Error> {
        let (successes, failures) = (numbers.count()?, numbers.count()?);
        Ok(Self { successes, failures, state: State::read(numbers)? })
    }
}
