//! Whole numbers in bodies: in digits, because a double would round some of what has a fraction or
//! an exponent.

use serde::{Deserialize as _, Deserializer};
use serde_json::Number;

/// Reads a whole number.
pub fn whole<'de, D: Deserializer<'de>>(reader: D) -> Result<u64, D::Error> {
    whole_in(&Number::deserialize(reader)?)
}

/// The same of a number that may be absent, or null.
pub fn whole_or_none<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<u64>, D::Error> {
    Option::<Number>::deserialize(reader)?.as_ref().map(whole_in).transpose()
}

fn whole_in<E: serde::de::Error>(number: &Number) -> Result<u64, E> {
    let rule = "must be a whole number that is not negative, without a fraction or an exponent";
    number.as_u64().ok_or_else(|| E::custom(rule))
}
