//! What the scripts tell of targets.

use super::State;
use super::state::Window;
use crate::store::{Error, Numbers, codes};

codes! {
    /// What `target.record` says of one item, as `lua/breaker/lib/rules.lua` names it.
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
        let known = Self::ALL.into_iter().find(|state| *state as u64 == number);
        known.ok_or_else(|| numbers.error(format!("unknown state {number}")))
    }
}

impl Window {
    pub(super) fn read(numbers: &mut Numbers) -> Result<Self, Error> {
        let (successes, failures) = (numbers.count()?, numbers.count()?);
        Ok(Self { successes, failures, state: State::read(numbers)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_scripts() {
        let lua = include_str!("../../../../lua/breaker/lib/rules.lua");
        let line = Code::line();
        assert!(lua.contains(&line), "{line}");
    }
}
