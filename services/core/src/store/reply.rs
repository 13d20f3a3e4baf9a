//! Replies of the scripts, read from front to back: integers and bytes behind a code.

use std::time::Duration;

use redis::Value;

use super::Error;

/// The codes of any operation.
const OK: i64 = 0;
const NO_RULES: i64 = 1;
/// Their names in the scripts.
pub(super) const CODES: [(&str, u64); 2] = [("OK", OK as u64), ("NO_RULES", NO_RULES as u64)];

/// Declares what the scripts of a subsystem answer for one item: the codes of any, and behind them
/// its own, each with its number and its name there.
macro_rules! reply_codes {
    (
        $(#[doc = $doc:literal])+
        $visibility:vis enum $name:ident { Ok, $($code:ident = $number:literal $text:literal,)+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name {
            Ok = 0,
            $($code = $number,)+
        }

        impl $name {
            /// Its own, by their names in the scripts.
            pub(super) const OWN: &'static [(&'static str, u64)] = &[$(($text, $number)),+];

            /// The one of this number.
            $visibility fn numbered(number: u64) -> Option<Self> {
                match number {
                    0 => Some(Self::Ok),
                    $($number => Some(Self::$code),)+
                    _ => None,
                }
            }

            /// The one of this number, which is one of `numbers`.
            #[allow(dead_code, reason = "not every script returns its codes among numbers")]
            $visibility fn of(number: u64, numbers: &$crate::store::Numbers) -> Result<Self, Error> {
                Self::numbered(number)
                    .ok_or_else(|| numbers.error(format!("unknown code {number}")))
            }
        }
    };
}
pub(crate) use reply_codes;

/// A reply: an array of integers and bytes.
pub(crate) struct Reply {
    operation: &'static str,
    values: std::vec::IntoIter<Value>,
}

impl Reply {
    /// Takes an array; anything else is an error of the store.
    pub(crate) fn new(operation: &'static str, value: Value) -> Result<Self, Error> {
        match value {
            Value::Array(values) => Ok(Self { operation, values: values.into_iter() }),
            other => Err(Error::Reply { operation, detail: format!("no array but {other:?}") }),
        }
    }

    /// The reply of an entity that is ruled by its calls, with its code read.
    pub(crate) fn of(operation: &'static str, value: Value) -> Result<Self, Error> {
        Self::ruled(operation, value)?
            .ok_or_else(|| Error::Reply { operation, detail: "no rules".to_owned() })
    }

    /// A reply with its code read; `None` when the store holds no rules for the entity.
    pub(crate) fn ruled(operation: &'static str, value: Value) -> Result<Option<Self>, Error> {
        let mut reply = Self::new(operation, value)?;
        match reply.integer()? {
            OK => Ok(Some(reply)),
            NO_RULES => Ok(None),
            code => Err(reply.error(format!("code {code} in front"))),
        }
    }

    pub(crate) fn error(&self, detail: impl Into<String>) -> Error {
        Error::Reply { operation: self.operation, detail: detail.into() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.as_slice().is_empty()
    }

    pub(crate) fn integer(&mut self) -> Result<i64, Error> {
        match self.values.next() {
            Some(Value::Int(number)) => Ok(number),
            other => Err(self.error(format!("{other:?} where an integer belongs"))),
        }
    }

    /// An integer that cannot be negative.
    pub(crate) fn count(&mut self) -> Result<u64, Error> {
        let number = self.integer()?;
        u64::try_from(number).map_err(|_| self.error(format!("{number} where a count belongs")))
    }

    /// An integer where -1 is unknown.
    pub(crate) fn known(&mut self) -> Result<Option<u64>, Error> {
        Ok(u64::try_from(self.integer()?).ok())
    }

    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, Error> {
        match self.values.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes),
            other => Err(self.error(format!("{other:?} where bytes belong"))),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, Error> {
        String::from_utf8(self.bytes()?).map_err(|_| self.error("a text that is not UTF-8"))
    }

    /// Bytes of this length.
    pub(crate) fn exactly<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let bytes = self.bytes()?;
        bytes.try_into().map_err(|_| self.error(format!("not {N} bytes")))
    }

    /// The numbers of a batched call, which are the rest of the reply.
    pub(crate) fn numbers(mut self) -> Result<Numbers, Error> {
        self.packed()
    }

    /// Numbers behind which the reply goes on.
    pub(crate) fn packed(&mut self) -> Result<Numbers, Error> {
        Ok(Numbers { operation: self.operation, bytes: self.bytes()?, read: 0 })
    }
}

/// Numbers that a script packed into one string of doubles: cheaper than an array for both sides.
pub(crate) struct Numbers {
    operation: &'static str,
    bytes: Vec<u8>,
    read: usize,
}

impl Numbers {
    /// Those in a part of a reply.
    pub(crate) fn of(reply: &Reply, bytes: &[u8]) -> Self {
        Self { operation: reply.operation, bytes: bytes.to_vec(), read: 0 }
    }

    pub(crate) fn error(&self, detail: impl Into<String>) -> Error {
        Error::Reply { operation: self.operation, detail: detail.into() }
    }

    /// How many are left to read.
    pub(crate) fn len(&self) -> usize {
        (self.bytes.len() - self.read) / size_of::<f64>()
    }

    pub(crate) fn double(&mut self) -> Result<f64, Error> {
        let rest = self.bytes.get(self.read..).unwrap_or_default();
        let Some((double, _)) = rest.split_first_chunk() else {
            return Err(self.error("fewer outcomes than items"));
        };
        self.read += double.len();
        Ok(f64::from_be_bytes(*double))
    }

    /// A whole number, of those that a double holds exactly.
    pub(crate) fn integer(&mut self) -> Result<i64, Error> {
        let number = self.double()?;
        if number.fract() == 0.0 && number.abs() <= MAX_WHOLE {
            Ok(number as i64)
        } else {
            Err(self.error(format!("{number} where a whole number belongs")))
        }
    }

    /// An integer that cannot be negative.
    pub(crate) fn count(&mut self) -> Result<u64, Error> {
        let number = self.integer()?;
        u64::try_from(number).map_err(|_| self.error(format!("{number} where a count belongs")))
    }

    /// Outcomes differ in length: one read wrong would hand all later ones to the wrong callers.
    pub(crate) fn end(&self) -> Result<(), Error> {
        if self.read == self.bytes.len() {
            Ok(())
        } else {
            Err(self.error("more outcomes than items"))
        }
    }
}

/// What a reply says of one item of a call.
pub(crate) enum ItemReply<T> {
    /// Its outcome.
    Outcome(T),
    /// Redis has no memory left for it; nothing was changed.
    Full,
}

impl<T> ItemReply<T> {
    pub(crate) fn into_result(self) -> Result<T, Error> {
        match self {
            Self::Outcome(outcome) => Ok(outcome),
            Self::Full => Err(Error::Full),
        }
    }
}

/// Beyond it a double may be the neighbour of the number that was meant.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A time in milliseconds; below zero there is none.
pub(crate) fn millis(number: i64) -> Option<Duration> {
    u64::try_from(number).ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_the_outcomes_do() {
        let packed = |values: &[f64]| {
            let bytes = values.iter().flat_map(|value| value.to_be_bytes()).collect();
            Reply::new("test", Value::Array(vec![Value::BulkString(bytes)]))
                .and_then(Reply::numbers)
        };
        let mut numbers = packed(&[7.0, -1.0, 9_007_199_254_740_991.0]).expect("numbers");
        assert_eq!(numbers.count(), Ok(7));
        assert!(numbers.end().is_err(), "there is more");
        assert_eq!(numbers.integer(), Ok(-1));
        assert_eq!(numbers.count(), Ok(9_007_199_254_740_991));
        assert_eq!(numbers.end(), Ok(()));
        assert!(numbers.count().is_err(), "there is no more");
    }

    #[test]
    fn a_number_that_is_not_whole_or_not_exact_is_an_error() {
        for number in [f64::NAN, f64::INFINITY, 1.5, -0.1, 1e300, -1e300] {
            let bytes = Value::BulkString(number.to_be_bytes().to_vec());
            let mut reply = Reply::new("test", Value::Array(vec![bytes])).expect("an array");
            let mut numbers = reply.packed().expect("numbers");
            let error = numbers.integer().expect_err("no whole number");
            assert!(error.to_string().contains("where a whole number belongs"), "{error}");
        }
    }
}
