//! What the scripts tell of targets.

use super::State;
use super::state::Window;
use crate::store::{Error, Numbers};

/// What `target.record` says of one item. The scripts name the same numbers in
/// `lua/target/lib/rules.lua`, all but the first, which is every subsystem's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Ok = 0,
    Repeated = 2,
    Mismatch = 3,
    TooMany = 4,
}

impl Code {
    const ALL: [(Self, &str); 4] = [
        (Self::Ok, "OK"),
        (Self::Repeated, "REPEATED"),
        (Self::Mismatch, "MISMATCH"),
        (Self::TooMany, "TOO_MANY"),
    ];

    pub(super) fn read(numbers: &mut Numbers) -> Result<Self, Error> {
        let number = numbers.count()?;
        let known = Self::ALL.iter().map(|(code, _)| *code).find(|code| *code as u64 == number);
        known.ok_or_else(|| numbers.error(format!("unknown code {number}")))
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
        let lua = include_str!("../../../../lua/target/lib/rules.lua");
        let own = &Code::ALL[1..];
        let names: Vec<_> = own.iter().map(|(_, name)| *name).collect();
        let numbers: Vec<_> = own.iter().map(|(code, _)| (*code as u8).to_string()).collect();
        assert!(lua.contains(&format!("local {} = {}\n", names.join(", "), numbers.join(", "))));
    }
}
