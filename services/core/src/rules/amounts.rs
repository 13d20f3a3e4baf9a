//! Amounts by name, as in `small=1000000,large=20000000`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The largest amount, and the largest sum of amounts: beyond it Lua would round.
pub const MAX_AMOUNT: u64 = (1 << 53) - 1;

/// Amounts by name, each from 1 to [`MAX_AMOUNT`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts(BTreeMap<String, u64>);

impl Amounts {
    /// These amounts; else the first pair that is none: a name is `[a-z0-9-]{1,40}`.
    ///
    /// # Errors
    ///
    /// The name of that pair.
    pub fn new(pairs: impl IntoIterator<Item = (String, u64)>) -> Result<Self, String> {
        let mut amounts = BTreeMap::new();
        for (name, amount) in pairs {
            if !is_name(&name) || !(1..=MAX_AMOUNT).contains(&amount) {
                return Err(name);
            }
            amounts.insert(name, amount);
        }
        Ok(Self(amounts))
    }

    /// The amount of this name.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// The names with their amounts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), *amount))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Reads what [`fmt::Display`] writes.
impl FromStr for Amounts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pairs = text.split(',').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, amount) = pair.split_once('=')?;
            Some((name.to_owned(), amount.parse().ok()?))
        };
        let pairs = pairs.map(|text| pair(text).ok_or_else(|| text.to_owned()));
        Self::new(pairs.collect::<Result<Vec<_>, _>>()?)
    }
}

/// As the scripts read it.
impl fmt::Display for Amounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, amount)) in self.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{name}={amount}")?;
        }
        Ok(())
    }
}

fn is_name(name: &str) -> bool {
    (1..=40).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_they_are_written() {
        let amounts = |pairs: &[(&str, u64)]| {
            Amounts::new(pairs.iter().map(|(name, amount)| ((*name).to_owned(), *amount)))
        };
        let two = amounts(&[("two-hundred", 5_000_000), ("five", MAX_AMOUNT)]).expect("amounts");
        assert_eq!(two.to_string(), "five=9007199254740991,two-hundred=5000000");
        assert_eq!(two.to_string().parse(), Ok(two));
        assert_eq!("".parse(), Ok(Amounts::default()));
        for (name, amount) in [("", 1), ("a=b", 1), ("A", 1), ("a", 0), ("a", MAX_AMOUNT + 1)] {
            assert_eq!(amounts(&[(name, amount)]), Err(name.to_owned()));
        }
        for text in ["a", "a=", "a=x", "a=-1"] {
            assert_eq!(text.parse::<Amounts>(), Err(text.to_owned()));
        }
    }
}
