//! The body of an override: rules that an operator puts in force for a time.
//!
//! Each named field is set until `until` (without it, until taken back), `null` takes its override
//! back, and fields that are not named keep what they have, with their own ends. The ranges are
//! those of the configuration. A reason belongs to the state it was given with: a change of the state
//! that names no reason takes an old one back.

mod read;
mod together;

use anteroom_core::queue::{Override, Rules};
use anteroom_runtime::config::Moment;
use serde::{Deserialize, Deserializer};
use serde_json::Number;
use utoipa::ToSchema;

use super::problem::{Code, Problem};

/// A field as the body names it: absent, null, or a value.
type Named<T> = Option<Option<T>>;

/// Overrides. Without a value of its own a field keeps what it has.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// open, paused, closed or bypass; bypass needs `until`.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<String>, pattern = "^(open|paused|closed|bypass)$", example = "paused")]
    state: Named<String>,
    /// What visitors read as the reason for the state: 1 to 200 characters.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 200, pattern = r"^(?!-$)[^\u0000-\u001f\u007f-\u009f]+$")]
    reason: Named<String>,
    /// Most places ready and active at any instant.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 1_000_000_000)]
    capacity: Named<Number>,
    /// Most promotions in any interval.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 1_000_000)]
    batch: Named<Number>,
    /// The interval of `batch`, in milliseconds.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<u64>, minimum = 1_000, maximum = 3_600_000)]
    interval_ms: Named<Number>,
    /// even or batch.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<String>, pattern = "^(even|batch)$", example = "even")]
    pace: Named<String>,
    /// How long a turn is held until it is claimed, in milliseconds.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<u64>, minimum = 5_000, maximum = 3_600_000)]
    claim_ttl_ms: Named<Number>,
    /// How long an active place lives without renewal, in milliseconds.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<u64>, minimum = 5_000, maximum = 86_400_000)]
    session_ttl_ms: Named<Number>,
    /// How long an active place lives at most, in milliseconds; at least `session_ttl_ms`.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<u64>, minimum = 5_000, maximum = 604_800_000)]
    session_max_ms: Named<Number>,
    /// How long a waiting visitor may be unseen, in milliseconds.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<u64>, minimum = 60_000, maximum = 86_400_000)]
    idle_ttl_ms: Named<Number>,
    /// How long one who is away keeps the ticket, in milliseconds.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<u64>, minimum = 60_000, maximum = 604_800_000)]
    keep_ttl_ms: Named<Number>,
    /// How long a new place may go without its first poll, in milliseconds; at most `idle_ttl_ms`.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<u64>, minimum = 30_000, maximum = 86_400_000)]
    first_poll_ttl_ms: Named<Number>,
    /// Most places waiting.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 10_000_000)]
    max_waiting: Named<Number>,
    /// From when on joins are taken (RFC 3339).
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<String>, format = DateTime, example = "2027-01-15T19:30:00+09:00")]
    joins_at: Named<String>,
    /// From when on places are promoted (RFC 3339); not before `joins_at`.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<String>, format = DateTime, example = "2027-01-15T20:00:00+09:00")]
    opens_at: Named<String>,
    /// From when on the queue is closed (RFC 3339); not before the others.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<String>, format = DateTime, example = "2027-01-15T23:00:00+09:00")]
    closes_at: Named<String>,
    /// Whether admission answers for active places by itself.
    #[serde(deserialize_with = "named")]
    #[schema(value_type = Option<bool>)]
    local_answers: Named<bool>,
    /// Until when the values named here hold (RFC 3339), by the store's clock; without it, until
    /// they are taken back.
    #[schema(format = DateTime, example = "2027-01-15T21:00:00+09:00")]
    until: Option<String>,
}

/// What a body asks for, field by field within its rules.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    /// The overrides to set, or to take back.
    pub overrides: Vec<Override>,
    /// Their end, in seconds since 1970 by the store's clock.
    pub until: Option<u64>,
}

/// A field whose value its rule forbids.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong {
    field: &'static str,
    rule: String,
}

impl Wrong {
    fn new(field: &'static str, rule: impl Into<String>) -> Self {
        Self { field, rule: rule.into() }
    }
}

impl From<Wrong> for Problem {
    fn from(wrong: Wrong) -> Self {
        Self::new(Code::InvalidValue).detail(format!("{} {}", wrong.field, wrong.rule))
    }
}

impl Overrides {
    /// Checks every field by itself and against each other.
    ///
    /// `now` is the store's clock in seconds since 1970, `in_force` the rules with all overrides, `file` those
    /// of the configuration.
    ///
    /// # Errors
    ///
    /// Names the first field with a value that its rule forbids.
    pub fn check(&self, now: u64, in_force: &Rules, file: &Rules) -> Result<Change, Wrong> {
        let overrides = self.read()?;
        let until = self.end(now)?;
        if until.is_some() && overrides.is_empty() {
            return Err(Wrong::new(
                "until",
                "is the end of the values named beside it: name at least one",
            ));
        }
        together::check(&overrides, in_force, file)?;
        Ok(Change { overrides, until })
    }

    fn end(&self, now: u64) -> Result<Option<u64>, Wrong> {
        let bypass = self.state.as_ref().is_some_and(|state| state.as_deref() == Some("bypass"));
        match &self.until {
            None if bypass => Err(Wrong::new("until", "is required with the state bypass")),
            None => Ok(None),
            Some(until) => {
                let until = Moment::parse(until)
                    .ok_or_else(|| Wrong::new("until", Moment::RULE))?
                    .seconds();
                if until > now {
                    Ok(Some(until))
                } else {
                    Err(Wrong::new("until", "must lie in the future, by the store's clock"))
                }
            }
        }
    }
}

/// Keeps null apart from an absent field.
fn named<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Named<T>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests;
