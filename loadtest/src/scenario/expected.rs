//! Sets of statuses and spans of time, as a scenario writes them.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use hyper::StatusCode;
use rand::Rng as _;
use serde::Deserialize;

/// A set of statuses: `[200, "3xx"]`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Vec<Written>")]
pub struct Statuses(Vec<RangeInclusive<u16>>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Code(i64),
    Class(String),
}

impl TryFrom<Vec<Written>> for Statuses {
    type Error = String;

    fn try_from(written: Vec<Written>) -> Result<Self, String> {
        if written.is_empty() {
            return Err("an empty list of statuses".to_owned());
        }
        let range = |item| match item {
            // 100 to 599 fit.
            Written::Code(code @ 100..=599) => Ok(code as u16..=code as u16),
            Written::Code(code) => Err(format!("{code} is no status, 100 to 599 are")),
            Written::Class(class) => match class.as_bytes() {
                [digit @ b'1'..=b'5', b'x', b'x'] => Ok(of_class(u16::from(digit - b'0'))),
                _ => Err(format!("{class:?} is no class of statuses, \"2xx\" is")),
            },
        };
        Ok(Self(written.into_iter().map(range).collect::<Result<_, _>>()?))
    }
}

fn of_class(class: u16) -> RangeInclusive<u16> {
    class * 100..=class * 100 + 99
}

impl Statuses {
    /// 2xx.
    pub fn success() -> Self {
        Self(vec![of_class(2)])
    }

    /// A status that both have.
    pub fn shared(&self, other: &Self) -> Option<u16> {
        let mut all = self.0.iter().cloned().flatten();
        all.find(|status| other.0.iter().any(|range| range.contains(status)))
    }

    /// Whether it is one of them.
    pub fn contains(&self, status: StatusCode) -> bool {
        self.0.iter().any(|range| range.contains(&status.as_u16()))
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |range: &RangeInclusive<u16>| match (range.start(), range.end()) {
            (code, last) if code == last => code.to_string(),
            (first, _) => format!("{}xx", first / 100),
        };
        f.write_str(&self.0.iter().map(range).collect::<Vec<_>>().join(", "))
    }
}

/// A time drawn evenly between two bounds: `"2s"` or `"1s..3s"`.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct Think {
    /// The shortest.
    pub least: Duration,
    /// The longest.
    pub most: Duration,
}

impl TryFrom<String> for Think {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let time = |text: &str| {
            let wrong = |error| format!("{text:?} is no time ({error}), \"1500ms\" is");
            humantime::parse_duration(text.trim()).map_err(wrong)
        };
        let (least, most) = text.split_once("..").unwrap_or((&text, &text));
        let (least, most) = (time(least)?, time(most)?);
        if least > most {
            return Err(format!("{text:?} ends before it begins"));
        }
        Ok(Self { least, most })
    }
}

impl Think {
    pub(super) fn draw(self) -> Duration {
        rand::rng().random_range(self.least..=self.most)
    }

    /// Its average.
    pub fn mean(self) -> Duration {
        (self.least + self.most) / 2
    }
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", humantime::format_duration(self.least))?;
        if self.most > self.least {
            write!(f, "..{}", humantime::format_duration(self.most))?;
        }
        Ok(())
    }
}
