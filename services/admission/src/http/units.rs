//! Units in bodies: money and stock, in digits, and nothing that a double would round.

use serde::{Deserialize as _, Deserializer};
use serde_json::Number;

/// Reads a number of units.
pub fn units<'de, D: Deserializer<'de>>(reader: D) -> Result<u64, D::Error> {
    units_in(&Number::deserialize(reader)?)
}

/// The same of a number that may be absent, or null.
pub fn units_or_none<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<u64>, D::Error> {
    Option::<Number>::deserialize(reader)?.as_ref().map(units_in).transpose()
}

fn units_in<E: serde::de::Error>(number: &Number) -> Result<u64, E> {
    let rule = "must be a whole number that is not negative, without a fraction or an exponent";
    number.as_u64().ok_or_else(|| E::custom(rule))
}
