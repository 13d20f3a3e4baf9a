//! JSON of which no object has a key twice: readers of logs differ in which one they take.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

/// Any value without such an object in it.
struct Unique;

/// Reads a text as JSON.
///
/// # Errors
/// It is none, or an object has a key twice.
pub(crate) fn unique_keys(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<Unique>(text).map(|Unique| ())
}

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Self;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = object.next_key::<String>()? {
            object.next_value::<Self>()?;
            if let Some(twice) = keys.replace(key) {
                return Err(A::Error::custom(format!("{twice} is there twice")));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_twice_in_an_object_is_found_at_any_depth() {
        for good in [r#"{"a":1,"b":{"a":[null,true,-1,0.5,"a"]}}"#, "7", "[]"] {
            assert!(unique_keys(good).is_ok(), "{good}");
        }
        for bad in [r#"{"a":1,"a":1}"#, r#"{"b":[{"a":1,"b":2,"a":3}]}"#, "{"] {
            assert!(unique_keys(bad).is_err(), "{bad}");
        }
    }
}
