//! Replies of the scripts: integers behind a code.

use std::time::Duration;

use redis::Value;

use super::place::{Epoch, GoneReason, Place, Status, Ticket};
use crate::store::Error;

/// What a script answers first. The scripts name the same numbers in `lua/queue/lib/meta.lua`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Ok = 0,
    Created = 1,
    NotReady = 2,
    NotActive = 3,
    Full = 4,
    Closed = 5,
    IsGone = 6,
    NoRules = 7,
}

impl Code {
    const ALL: [(Self, &str); 8] = [
        (Self::Ok, "OK"),
        (Self::Created, "CREATED"),
        (Self::NotReady, "NOT_READY"),
        (Self::NotActive, "NOT_ACTIVE"),
        (Self::Full, "FULL"),
        (Self::Closed, "CLOSED"),
        (Self::IsGone, "IS_GONE"),
        (Self::NoRules, "NO_RULES"),
    ];

    fn of(number: i64) -> Option<Self> {
        Self::ALL.iter().map(|(code, _)| *code).find(|code| *code as i64 == number)
    }
}

/// A reply, read from front to back.
pub(super) struct Reply {
    operation: &'static str,
    values: std::vec::IntoIter<Value>,
}

/// The outcomes of a call of visitors, read from front to back: see `lua/queue/lib/visit.lua`.
pub(super) struct Outcomes {
    operation: &'static str,
    bytes: Vec<u8>,
    read: usize,
}

impl Reply {
    /// Takes an array; anything else is an error of the store.
    pub(super) fn new(operation: &'static str, value: Value) -> Result<Self, Error> {
        match value {
            Value::Array(values) => Ok(Self { operation, values: values.into_iter() }),
            other => Err(Error::Reply { operation, detail: format!("no array but {other:?}") }),
        }
    }

    pub(super) fn error(&self, detail: impl Into<String>) -> Error {
        Error::Reply { operation: self.operation, detail: detail.into() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.as_slice().is_empty()
    }

    pub(super) fn integer(&mut self) -> Result<i64, Error> {
        match self.values.next() {
            Some(Value::Int(number)) => Ok(number),
            other => Err(self.error(format!("{other:?} where an integer belongs"))),
        }
    }

    /// An integer that cannot be negative.
    pub(super) fn count(&mut self) -> Result<u64, Error> {
        let number = self.integer()?;
        u64::try_from(number).map_err(|_| self.error(format!("{number} where a count belongs")))
    }

    /// An integer where -1 stands for unknown.
    pub(super) fn known(&mut self) -> Result<Option<u64>, Error> {
        Ok(u64::try_from(self.integer()?).ok())
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, Error> {
        match self.values.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes),
            other => Err(self.error(format!("{other:?} where bytes belong"))),
        }
    }

    pub(super) fn text(&mut self) -> Result<String, Error> {
        String::from_utf8(self.bytes()?).map_err(|_| self.error("a text that is not UTF-8"))
    }

    pub(super) fn epoch(&mut self) -> Result<Epoch, Error> {
        self.exactly().map(Epoch)
    }

    /// Bytes of this length.
    pub(super) fn exactly<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let bytes = self.bytes()?;
        bytes.try_into().map_err(|_| self.error(format!("not {N} bytes")))
    }

    pub(super) fn code(&mut self) -> Result<Code, Error> {
        let number = self.integer()?;
        Code::of(number).ok_or_else(|| self.error(format!("unknown code {number}")))
    }

    /// The code in front: false when the store holds no rules for the queue.
    pub(super) fn has_rules(&mut self) -> Result<bool, Error> {
        match self.code()? {
            Code::Ok => Ok(true),
            Code::NoRules => Ok(false),
            code => Err(self.error(format!("code {code:?} in front"))),
        }
    }

    /// The reason behind a number of the scripts.
    pub(super) fn reason(&self, number: i64) -> Result<GoneReason, Error> {
        reason(number).ok_or_else(|| self.error(format!("unknown reason {number}")))
    }

    /// The outcomes of a call of visitors.
    pub(super) fn outcomes(mut self) -> Result<Outcomes, Error> {
        Ok(Outcomes { operation: self.operation, bytes: self.bytes()?, read: 0 })
    }
}

impl Outcomes {
    fn error(&self, detail: impl Into<String>) -> Error {
        Error::Reply { operation: self.operation, detail: detail.into() }
    }

    /// Doubles hold every integer of the scripts exactly.
    fn number(&mut self) -> Result<i64, Error> {
        let rest = self.bytes.get(self.read..).unwrap_or_default();
        let Some((double, _)) = rest.split_first_chunk() else {
            return Err(self.error("fewer outcomes than were asked for"));
        };
        self.read += double.len();
        Ok(f64::from_be_bytes(*double) as i64)
    }

    /// An integer that cannot be negative.
    pub(super) fn count(&mut self) -> Result<u64, Error> {
        let number = self.number()?;
        u64::try_from(number).map_err(|_| self.error(format!("{number} where a count belongs")))
    }

    /// Outcomes differ in length: one read wrong would hand all later ones to the wrong callers.
    pub(super) fn end(&self) -> Result<(), Error> {
        if self.read == self.bytes.len() {
            Ok(())
        } else {
            Err(self.error("more outcomes than were asked for"))
        }
    }

    /// One visitor's outcome, as `lua/queue/lib/visit.lua` packs it.
    pub(super) fn outcome(&mut self) -> Result<Outcome, Error> {
        let head = self.count()?;
        let code = Code::of((head & 7) as i64)
            .ok_or_else(|| self.error(format!("unknown code in {head}")))?;
        Ok(Outcome { code, status: (head >> 3 & 15) as i64, value: head >> 7 })
    }

    /// The reason behind a number of the scripts.
    pub(super) fn reason(&self, number: i64) -> Result<GoneReason, Error> {
        reason(number).ok_or_else(|| self.error(format!("unknown reason {number}")))
    }

    /// The place that an outcome shows; for a waiting one its expected wait follows.
    pub(super) fn place(&mut self, outcome: &Outcome, ticket: Ticket) -> Result<Place, Error> {
        let status = match outcome.status {
            1 => Status::Waiting,
            2 => Status::Ready,
            3 => Status::Active,
            other => return Err(self.error(format!("unknown status {other}"))),
        };
        let mut place = Place {
            status,
            ticket,
            position: 0,
            before: None,
            eta: None,
            eta_p90: None,
            expires_in: None,
        };
        if status == Status::Waiting {
            place.position = outcome.value;
            // Below zero it is no time, but the number of the turn.
            let eta = self.number()?;
            place.eta = duration(eta);
            place.before = (eta < 0).then(|| eta.unsigned_abs() - 1);
            place.eta_p90 = duration(self.number()?);
        } else {
            place.expires_in = Some(outcome.left());
        }
        Ok(place)
    }
}

/// A time in milliseconds; below zero there is none.
fn duration(number: i64) -> Option<Duration> {
    u64::try_from(number).ok().map(Duration::from_millis)
}

fn reason(number: i64) -> Option<GoneReason> {
    usize::try_from(number - 1).ok().and_then(|at| GoneReason::ALL.get(at).copied())
}

/// One visitor's outcome as the script tells it.
pub(super) struct Outcome {
    pub(super) code: Code,
    /// The status, or the reason of a place that is gone.
    pub(super) status: i64,
    /// The position of a waiting place, else a time in milliseconds.
    value: u64,
}

impl Outcome {
    /// How long until the place ends, or until joins are taken.
    pub(super) fn left(&self) -> Duration {
        Duration::from_millis(self.value)
    }
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
        let codes: Vec<_> =
            Code::ALL.iter().map(|(code, name)| ((*name).to_owned(), *code as i64)).collect();
        assert_eq!(codes, numbers("OK"));
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
