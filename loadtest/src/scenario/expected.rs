//! Sets of statuses and spans of time, as a scenario writes them.

use std::fmt;
use std::time::Duration;

use hyper::StatusCode;
use serde::Deserialize;

use super::Think;

/// A set of statuses: `[200, "3xx"]`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Vec<Written>")]
pub struct Statuses(Vec<(u16, u16)>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Code(i64),
    Class(String),
}

impl TryFrom<Vec<Written>> for Statuses {
    type Error = String;

    fn try_from(written: Vec<Written>) -> Result<Self, String> {
        let range = |item| match item {
            Written::Code(code @ 100..=599) => {
                // 100 to 599 fit.
                let code = code as u16;
                Ok((code, code))
            }
            Written::Code(code) => Err(format!("{code} is no status, 100 to 599 are")),
            Written::Class(class) => match class.as_bytes() {
                [digit @ b'1'..=b'5', b'x', b'x'] => {
                    let least = u16::from(digit - b'0') * 100;
                    Ok((least, least + 99))
                }
                _ => Err(format!("{class:?} is no class of statuses, \"2xx\" is")),
            },
        };
        let ranges: Vec<_> = written.into_iter().map(range).collect::<Result<_, _>>()?;
        if ranges.is_empty() {
            return Err("an empty list of statuses".to_owned());
        }
        Ok(Self(ranges))
    }
}

impl Statuses {
    /// 2xx.
    pub fn success() -> Self {
        Self(vec![(200, 299)])
    }

    /// A status that both have.
    pub fn shared(&self, other: &Self) -> Option<u16> {
        let of = |(least, most): &(u16, u16)| *least..=*most;
        self.0.iter().flat_map(of).find(|it| other.0.iter().any(|ours| of(ours).contains(it)))
    }

    /// Whether it is one of them.
    pub fn contains(&self, status: StatusCode) -> bool {
        self.0.iter().any(|(least, most)| (*least..=*most).contains(&status.as_u16()))
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (least, most)) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            if least == most { write!(f, "{least}")? } else { write!(f, "{}xx", least / 100)? }
        }
        Ok(())
    }
}

/// `"2s"`, or `"1s..3s"` for a time drawn evenly between the two.
impl<'de> Deserialize<'de> for Think {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl std::str::FromStr for Think {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = |text: &str| -> Result<Duration, String> {
            let wrong = |error| format!("{text:?} is no time ({error}), \"1500ms\" is");
            humantime::parse_duration(text.trim()).map_err(wrong)
        };
        let (least, most) = match text.split_once("..") {
            Some((least, most)) => (time(least)?, time(most)?),
            None => (time(text)?, time(text)?),
        };
        if least > most {
            return Err(format!("{text:?} ends before it begins"));
        }
        Ok(Self { least, most })
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
