//! Amounts, and amounts by name, as in `small=1000000,large=20000000`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The largest amount, and the largest sum of amounts: beyond it Lua would round.
pub const MAX_AMOUNT: u64 = (1 << 53) - 1;

/// An amount that Lua does not round: 0 to [`MAX_AMOUNT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(u64);

impl Amount {
    /// This amount; `None` beyond [`MAX_AMOUNT`].
    pub const fn new(amount: u64) -> Option<Self> {
        if amount <= MAX_AMOUNT { Some(Self(amount)) } else { None }
    }

    /// As a number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// As the scripts unpack it.
    pub(crate) fn to_be_double(self) -> [u8; 8] {
        (self.0 as f64).to_be_bytes()
    }
}

/// The name of an amount: `[a-z0-9-]{1,40}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// This name; `None` when it breaks the rule.
    pub fn new(name: impl Into<String>) -> Option<Self> {
        let name = name.into();
        let is_one = (1..=40).contains(&name.len())
            && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        is_one.then_some(Self(name))
    }

    /// As a text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How many bytes it has.
    pub(crate) fn length(&self) -> u8 {
        self.0.len() as u8
    }
}

/// Amounts by name, each from 1 to [`MAX_AMOUNT`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts(BTreeMap<Name, Amount>);

impl Amounts {
    /// These amounts; else the first pair that is none: a name is `[a-z0-9-]{1,40}`.
    ///
    /// # Errors
    ///
    /// The name of that pair.
    pub fn new(pairs: impl IntoIterator<Item = (String, u64)>) -> Result<Self, String> {
        let mut amounts = BTreeMap::new();
        for (name, amount) in pairs {
            let valid = Name::new(name.as_str()).zip(Amount::new(amount));
            let Some((valid, amount)) = valid.filter(|(_, amount)| amount.get() > 0) else {
                return Err(name);
            };
            amounts.insert(valid, amount);
        }
        Ok(Self(amounts))
    }

    /// The amount of this name.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(&Name::new(name)?).map(|amount| amount.get())
    }

    /// The names with their amounts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), amount.get()))
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

    #[test]
    fn what_lua_would_round_and_what_is_no_name_cannot_be_made() {
        assert_eq!(Amount::new(MAX_AMOUNT).map(Amount::get), Some(MAX_AMOUNT));
        assert_eq!(Amount::new(MAX_AMOUNT + 1), None);
        let longest = "a".repeat(40);
        assert_eq!(Name::new(longest.as_str()).map(|name| name.length()), Some(40));
        for text in ["", "A", "a b", "a=1", "a".repeat(41).as_str(), "é"] {
            assert_eq!(Name::new(text), None, "{text:?}");
        }
    }
}
