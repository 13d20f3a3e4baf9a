//! Strict readers for the values of the configuration.
//!
//! The rule of a value is at its field (`whole::<_, _, 1, 1000>`), and the error shows it. Nothing
//! is rounded, cut or guessed: 1.5, -1, 1e300, NaN and "5" are no whole numbers. The `config` crate
//! itself converts: it reads "5" as 5, 1.5 as 2 and 1 as true. So values are taken as they are
//! (`deserialize_any`), and only [`crate::environment`] makes numbers and flags of text. A list may
//! come as text.

use std::{fmt, marker::PhantomData, net::IpAddr, net::SocketAddr, time::Duration};

use ipnet::IpNet;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::durations;

/// A value that is written as one string.
pub trait FromText: Sized {
    /// The rule, as the rest of the sentence "KEY = VALUE: …".
    const RULE: &'static str;

    /// The value, or nothing when the text breaks the rule.
    fn from_text(text: &str) -> Option<Self>;
}

/// [`FromText`] of a type whose values are written as words.
macro_rules! words {
    ($type:ty { $first:literal => $one:ident, $($word:literal => $value:ident,)+ }) => {
        impl $crate::parse::FromText for $type {
            const RULE: &'static str =
                concat!("must be one of ", $first $(, ", ", $word)+);

            fn from_text(text: &str) -> Option<Self> {
                match text {
                    $first => Some(Self::$one),
                    $($word => Some(Self::$value),)+
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use words;

/// A whole number from `MIN` to `MAX`.
pub fn whole<'de, D, T, const MIN: u64, const MAX: u64>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    let number = deserializer.deserialize_any(Scalar)?.whole(MIN, MAX).map_err(D::Error::custom)?;
    // A type that is too small for its range would be a mistake of this program.
    T::try_from(number).map_err(|_| D::Error::custom("is too large"))
}

/// Like [`whole`], for a key that may be absent.
pub fn some_whole<'de, D, T, const MIN: u64, const MAX: u64>(
    deserializer: D,
) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    whole::<D, T, MIN, MAX>(deserializer).map(Some)
}

/// A duration from `MIN` to `MAX` milliseconds, in whole milliseconds, as the store counts; also
/// for a key that may be absent.
pub fn span<'de, D, T, const MIN: u64, const MAX: u64>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: From<Duration>,
{
    let given = deserializer.deserialize_any(Scalar)?;
    given.span(MIN, MAX).map(T::from).map_err(D::Error::custom)
}

/// A share from above 0 to 1, in millionths.
pub fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    deserializer.deserialize_any(Scalar)?.share().map_err(D::Error::custom)
}

/// A duration from `MIN` to `MAX` seconds, in whole seconds.
pub fn seconds<'de, D, const MIN: u64, const MAX: u64>(
    deserializer: D,
) -> Result<Duration, D::Error>
where
    D: Deserializer<'de>,
{
    let given = deserializer.deserialize_any(Scalar)?;
    let span = given.span(1_000 * MIN, 1_000 * MAX).ok().filter(|span| span.subsec_nanos() == 0);
    span.ok_or_else(|| {
        let [least, most] =
            [MIN, MAX].map(|seconds| durations::shown(Duration::from_secs(seconds)));
        let rule = "must be a duration such as \"10s\", from";
        D::Error::custom(format!("{rule} {least} to {most} in whole seconds"))
    })
}

/// `true` or `false`.
pub fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    deserializer.deserialize_any(Scalar)?.flag().map_err(D::Error::custom)
}

/// Plain text, never empty. A number is not taken for its digits, so that nothing gets lost.
pub fn some_text<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: From<String>,
{
    match deserializer.deserialize_any(Scalar)? {
        Given::Text(text) if !text.is_empty() => Ok(Some(T::from(text))),
        _ => Err(D::Error::custom("must be a string that is not empty")),
    }
}

/// Like [`some_text`], for a key that is required.
pub fn text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: From<String>,
{
    let text = some_text(deserializer)?;
    text.ok_or_else(|| D::Error::custom("is required"))
}

/// A value with its own way of writing.
pub fn parsed<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromText,
{
    Written::<T>::deserialize(deserializer).map(|written| written.0)
}

/// Like [`parsed`], for a key that may be absent.
pub fn some_parsed<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromText,
{
    parsed(deserializer).map(Some)
}

/// At most `MAX` values with their own way of writing: an array, or one string with commas.
pub fn list<'de, D, T, const MAX: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromText,
{
    struct List<T>(PhantomData<T>);
    impl<'de, T: FromText> Visitor<'de> for List<T> {
        type Value = Vec<T>;
        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("a list of strings")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            parts.map(|part| T::from_text(part).ok_or_else(|| E::custom(T::RULE))).collect()
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut values = Vec::new();
            while let Some(Written(value)) = seq.next_element()? {
                values.push(value);
            }
            Ok(values)
        }
    }
    let values = deserializer.deserialize_any(List(PhantomData))?;
    if values.len() > MAX {
        return Err(D::Error::custom(format!("must be at most {MAX} entries")));
    }
    Ok(values)
}

/// A whole number, its digits grouped or not.
pub fn integer(text: &str) -> Option<i64> {
    text.replace('_', "").parse().ok()
}

/// The number with its thousands apart, as TOML lets it be written.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    grouped
}

/// One value of a [`FromText`] type, for serde.
struct Written<T>(T);

impl<'de, T: FromText> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = deserializer.deserialize_any(Scalar)?;
        given.text(T::RULE, T::from_text).map(Written).map_err(D::Error::custom)
    }
}

/// What a scalar turned out to be.
pub(crate) enum Given {
    Whole(u64),
    Float(f64),
    Flag(bool),
    Text(String),
    Other,
}

impl Given {
    pub fn whole(&self, least: u64, most: u64) -> Result<u64, String> {
        match self {
            Self::Whole(number) if (least..=most).contains(number) => Ok(*number),
            _ => {
                let hint = self.hint(|text| integer(text) >= Some(0));
                let (least, most) = (grouped(least), grouped(most));
                Err(format!("must be a whole number from {least} to {most}{hint}"))
            }
        }
    }

    pub fn span(&self, least: u64, most: u64) -> Result<Duration, String> {
        let (least, most) = (Duration::from_millis(least), Duration::from_millis(most));
        let span = if let Self::Text(text) = self { durations::read(text) } else { None };
        span.filter(|span| (least..=most).contains(span)).ok_or_else(|| {
            format!(
                "must be a duration such as \"10s\", from {} to {} in whole milliseconds",
                durations::shown(least),
                durations::shown(most),
            )
        })
    }

    pub fn share(&self) -> Result<u32, String> {
        if let Some(millionths) = self.decimal().filter(|number| (1..=1_000_000).contains(number)) {
            return Ok(millionths as u32);
        }
        let hint = self.hint(|text| text.parse::<f64>().is_ok());
        Err(format!("must be a number above 0 and at most 1, of at most six decimals{hint}"))
    }

    pub fn millionths(&self, least: u64, most: u64) -> Result<u64, String> {
        if let Some(millionths) = self.decimal().filter(|number| (least..=most).contains(number)) {
            return Ok(millionths);
        }
        let hint = self.hint(|text| text.parse::<f64>().is_ok());
        let (least, most) = (least as f64 / 1e6, most as f64 / 1e6);
        Err(format!("must be a number from {least} to {most}, of at most six decimals{hint}"))
    }

    /// A number of at most six decimals, in millionths.
    fn decimal(&self) -> Option<u64> {
        let millionths = match self {
            Self::Whole(number) => *number as f64 * 1e6,
            Self::Float(number) => number * 1e6,
            _ => return None,
        };
        // A decimal of six places is no exact double, but close to one.
        let whole = millionths.round();
        ((0.0..1e15).contains(&whole) && (millionths - whole).abs() < 1e-6).then_some(whole as u64)
    }

    pub fn flag(&self) -> Result<bool, String> {
        if let Self::Flag(flag) = self {
            return Ok(*flag);
        }
        let hint = self.hint(|text| text.parse::<bool>().is_ok());
        Err(format!("must be true or false{hint}"))
    }

    pub fn text<T>(&self, rule: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T, String> {
        let value = if let Self::Text(text) = self { read(text) } else { None };
        value.ok_or_else(|| rule.to_owned())
    }

    /// What a rule says besides where only quotes make the value a text.
    fn hint(&self, is_meant: impl Fn(&str) -> bool) -> &'static str {
        match self {
            Self::Text(text) if is_meant(text) => ", without quotes",
            _ => "",
        }
    }
}

/// Takes any value as it is; what it means is decided by the caller, who knows the rule.
pub(crate) struct Scalar;

impl<'de> Visitor<'de> for Scalar {
    type Value = Given;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a single value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Given, E> {
        Ok(Given::Flag(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Given, E> {
        Ok(u64::try_from(value).map_or(Given::Other, Given::Whole))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Given, E> {
        Ok(Given::Whole(value))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Given, E> {
        Ok(Given::Float(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Given, E> {
        Ok(Given::Text(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Given, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Given::Other)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Given, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Given::Other)
    }
}

impl FromText for SocketAddr {
    const RULE: &'static str =
        "must be an address with a port, such as \"127.0.0.1:8080\" or \"[::]:8080\"";

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl FromText for IpNet {
    const RULE: &'static str =
        "must be a network such as \"10.0.0.0/8\", or an address; not all addresses (/0)";

    fn from_text(text: &str) -> Option<Self> {
        text.parse::<IpNet>()
            .map(|net| net.trunc())
            .ok()
            .or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
            .map(unmapped)
            // No operator means to trust the address that any client claims.
            .filter(|net| net.prefix_len() > 0)
    }
}

/// `::ffff:10.0.0.0/104` is `10.0.0.0/8`: addresses of clients come out as IPv4 too.
fn unmapped(net: IpNet) -> IpNet {
    let IpNet::V6(v6) = net else { return net };
    let v4 = v6.addr().to_ipv4_mapped().zip(v6.prefix_len().checked_sub(96));
    v4.and_then(|(addr, len)| IpNet::new(addr.into(), len).ok()).unwrap_or(net)
}
