//! Sets of statuses and spans of time, as a scenario writes them.

use std::fmt;
use std::time::Duration;

use anyhow::{anyhow, bail, ensure};
use hyper::StatusCode;
use rand::Rng as _;
use serde::Deserialize;
use toml::Value;

/// A set of statuses: `[200, "3xx"]`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Vec<Value>")]
pub struct Statuses(Vec<String>);

impl TryFrom<Vec<Value>> for Statuses {
    type Error = anyhow::Error;

    fn try_from(written: Vec<Value>) -> anyhow::Result<Self> {
        ensure!(!written.is_empty(), "an empty list of statuses");
        let text = |item| match item {
            Value::Integer(code @ 100..=599) => Ok(code.to_string()),
            Value::Integer(code) => bail!("{code} is not a status: use 100 to 599"),
            Value::String(class) if matches!(class.as_bytes(), [b'1'..=b'5', b'x', b'x']) => {
                Ok(class)
            }
            other => bail!("{other} is not a class of statuses such as \"2xx\""),
        };
        Ok(Self(written.into_iter().map(text).collect::<Result<_, _>>()?))
    }
}

impl Statuses {
    /// 2xx.
    pub fn success() -> Self {
        Self(vec!["2xx".to_owned()])
    }

    /// A status that both have.
    pub fn shared(&self, other: &Self) -> Option<u16> {
        let both = |status| self.contains(status) && other.contains(status);
        (100..600).find(|code| StatusCode::from_u16(*code).is_ok_and(both))
    }

    /// Whether it is one of them.
    pub fn contains(&self, status: StatusCode) -> bool {
        let status = status.as_str();
        self.0.iter().any(|it| it == status || it.ends_with("xx") && it[..1] == status[..1])
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
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
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        let time = |text: &str| {
            let wrong = |error| anyhow!("{text:?} is not a time such as \"1500ms\" ({error})");
            crate::durations::parse_duration(text.trim()).map_err(wrong)
        };
        let (least, most) = text.split_once("..").unwrap_or((&text, &text));
        let (least, most) = (time(least)?, time(most)?);
        ensure!(least <= most, "{text:?} ends before it begins");
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
        let [least, most] = [self.least, self.most].map(crate::durations::format_duration);
        if self.most > self.least { write!(f, "{least}..{most}") } else { write!(f, "{least}") }
    }
}
