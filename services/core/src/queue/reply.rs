//! What the scripts tell of places.

use std::time::Duration;

use super::place::{GoneReason, Place, Standing, Ticket, Wait};
pub(super) use crate::store::Reply;
use crate::store::{Error, Numbers, millis};

/// What a script answers for one visitor. The scripts name the same numbers in
/// `lua/queue/lib/meta.lua`, all but the first, which is every subsystem's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Ok = 0,
    Created = 2,
    NotReady = 3,
    NotActive = 4,
    Full = 5,
    Closed = 6,
    IsGone = 7,
}

impl Code {
    const ALL: [(Self, &str); 7] = [
        (Self::Ok, "OK"),
        (Self::Created, "CREATED"),
        (Self::NotReady, "NOT_READY"),
        (Self::NotActive, "NOT_ACTIVE"),
        (Self::Full, "FULL"),
        (Self::Closed, "CLOSED"),
        (Self::IsGone, "IS_GONE"),
    ];

    fn of(number: u64) -> Option<Self> {
        Self::ALL.iter().map(|(code, _)| *code).find(|code| *code as u64 == number)
    }
}

/// The reason behind a number of the scripts.
pub(super) fn reason(number: u64) -> Option<GoneReason> {
    let at = usize::try_from(number).ok()?.checked_sub(1)?;
    GoneReason::ALL.get(at).copied()
}

/// One visitor's outcome, as `lua/queue/lib/outcomes.lua` packs it.
pub(super) struct PackedOutcome {
    pub(super) code: Code,
    /// The status, or the reason of a place that is gone.
    pub(super) status: u64,
    /// The position of a waiting place, else a time in milliseconds.
    value: u64,
}

impl PackedOutcome {
    /// Reads the next.
    pub(super) fn read(numbers: &mut Numbers) -> Result<Self, Error> {
        let head = numbers.count()?;
        let code =
            Code::of(head & 7).ok_or_else(|| numbers.error(format!("unknown code in {head}")))?;
        Ok(Self { code, status: head >> 3 & 15, value: head >> 7 })
    }

    /// How long until the place ends, or until joins are taken.
    pub(super) fn left(&self) -> Duration {
        Duration::from_millis(self.value)
    }

    /// Why the place is gone.
    pub(super) fn reason(&self, numbers: &Numbers) -> Result<GoneReason, Error> {
        reason(self.status).ok_or_else(|| numbers.error(format!("unknown reason {}", self.status)))
    }

    /// The place that it shows; for a waiting one its expected wait follows.
    pub(super) fn place(&self, numbers: &mut Numbers, ticket: Ticket) -> Result<Place, Error> {
        let standing = match self.status {
            1 => Standing::Waiting { position: self.value, wait: wait(numbers)? },
            2 => Standing::Ready { expires_in: self.left() },
            3 => Standing::Active { expires_in: self.left() },
            other => return Err(numbers.error(format!("unknown status {other}"))),
        };
        Ok(Place { ticket, standing })
    }
}

/// The wait, as `lua/queue/lib/eta.lua` tells it: below zero it is no time, but the number of the
/// turn.
fn wait(numbers: &mut Numbers) -> Result<Wait, Error> {
    let (eta, eta_p90) = (numbers.integer()?, numbers.integer()?);
    Ok(match millis(eta) {
        Some(eta) => Wait::Expected { eta, eta_p90: millis(eta_p90) },
        None => Wait::Unknown { before: eta.unsigned_abs() - 1 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: &str = include_str!("../../../../lua/queue/lib/meta.lua");

    /// The numbers that a line `local A, B = 0, 1` of the scripts gives to its names.
    fn numbers(first_name: &str) -> Vec<(String, i64)> {
        let line = META
            .lines()
            .find(|line| line.starts_with(&format!("local {first_name}, ")))
            .expect("the line stands in lib/meta.lua");
        let (names, values) = line["local ".len()..].split_once(" = ").expect("an assignment");
        let names = names.split(", ").map(str::to_owned);
        names.zip(values.split(", ").map(|value| value.parse().expect("a number"))).collect()
    }

    #[test]
    fn codes_are_those_of_the_scripts() {
        let own = Code::ALL.iter().skip(1);
        let codes: Vec<_> = own.map(|(code, name)| ((*name).to_owned(), *code as i64)).collect();
        assert_eq!(codes, numbers("CREATED"));
    }

    #[test]
    fn reasons_are_those_of_the_scripts() {
        let reasons: Vec<_> = GoneReason::ALL
            .iter()
            .zip(1..)
            .map(|(reason, number)| (reason.name().to_uppercase(), number))
            .collect();
        assert_eq!(reasons, numbers("COMPLETED"));
    }
}
