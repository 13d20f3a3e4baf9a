//! Rules of stored entities, each written once.
//!
//! `rules!` makes of one table the typed rules of a kind of entity, the override of a
//! single rule, and a list of [`Rule`]s: by name, with what a value may be. By that list the store
//! keeps rules, the configuration reads them, and operators change and see them.

mod amounts;
mod stored;
mod table;

use std::time::Duration;

pub use amounts::{Amount, Amounts, MAX_AMOUNT, Name};
pub(crate) use stored::{Stored, read, write};
pub use table::{Field, Typed};
pub(crate) use table::{
    always, at_least, choice, field, overrides, rule, rule_table, rules, typed,
};

/// One rule of a table.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The key in the configuration and in the store.
    pub name: &'static str,
    /// What a value may be.
    pub kind: Kind,
    /// The value when none is set; `None`: no such rule.
    pub default: fn() -> Option<Value>,
    /// What it means, in a sentence.
    pub doc: &'static str,
    /// Whether the configuration names it; if not, only operators set it.
    pub in_file: bool,
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number in this range.
    Whole {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A time in whole milliseconds, in this range of milliseconds.
    Span {
        /// The shortest.
        least: u64,
        /// The longest.
        most: u64,
    },
    /// A number with up to six decimals, in this range of millionths.
    Millionths {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A second of the calendar.
    Moment,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// On or off.
    Flag,
    /// So many characters at most, at least one, and no control characters.
    Text {
        /// The most.
        most: usize,
    },
    /// So many [`Amounts`] at most.
    Amounts {
        /// The most.
        most: usize,
    },
}

/// Whole numbers in this range.
pub const fn whole(least: u64, most: u64) -> Kind {
    Kind::Whole { least, most }
}

/// Times in this range of milliseconds.
pub const fn span(least: u64, most: u64) -> Kind {
    Kind::Span { least, most }
}

/// A second in milliseconds, for [`span`].
pub const SECOND: u64 = 1_000;
/// A minute in milliseconds.
pub const MINUTE: u64 = 60 * SECOND;
/// An hour in milliseconds.
pub const HOUR: u64 = 60 * MINUTE;
/// A day in milliseconds.
pub const DAY: u64 = 24 * HOUR;

/// A value of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Whole(u64),
    /// A time.
    Span(Duration),
    /// A number in millionths.
    Millionths(u64),
    /// Seconds since 1970.
    Moment(u64),
    /// A name, and which of its kind's names it is.
    Choice(&'static str, usize),
    /// On or off.
    Flag(bool),
    /// A text.
    Text(String),
    /// Amounts by name.
    Amounts(Amounts),
}

/// How the values of two rules must compare, where both are set.
#[derive(Debug)]
pub struct Relation {
    /// The rule that is reported as wrong, unless only the other one was changed.
    pub rule: Rule,
    /// Whether it must be at least the other; else at most.
    pub at_least: bool,
    /// The other one.
    pub other: Rule,
}

/// No such rule, where 0 is a value.
const UNSET: &str = "-1";

/// Seconds since 1970 beyond which microseconds are no integers in a double: in the year 2255.
pub const LAST_MOMENT: u64 = ((1 << 53) - 1) / 1_000_000;

impl Kind {
    /// The value of this kind that has this name; `None` when no name is its.
    pub fn choice(self, name: &str) -> Option<Value> {
        let Self::Choice(names) = self else { return None };
        let at = names.iter().position(|known| *known == name)?;
        Some(Value::Choice(names[at], at))
    }

    /// The value of this kind that is this text; `None` when it is too long, empty, or holds
    /// control characters.
    pub fn text(self, text: &str) -> Option<Value> {
        let Self::Text { most } = self else { return None };
        let good = (1..=most).contains(&text.chars().count()) && !text.contains(char::is_control);
        good.then(|| Value::text(text))
    }

    /// The value of this kind that these are; `None` when there are too many.
    pub fn amounts(self, amounts: Amounts) -> Option<Value> {
        let Self::Amounts { most } = self else { return None };
        (amounts.len() <= most).then_some(Value::Amounts(amounts))
    }

    /// Reads what the store holds; `Some(None)` for no such rule, `None` for what is no value.
    pub(crate) fn stored(self, text: &str) -> Option<Option<Value>> {
        let number = || text.parse::<u64>().ok();
        Some(match self {
            Self::Whole { least: 0, .. } if text == UNSET => None,
            Self::Whole { least, .. } => {
                Some(number()?).filter(|n| *n > 0 || least == 0).map(Value::Whole)
            }
            Self::Span { .. } => Some(Value::Span(Duration::from_micros(number()?))),
            Self::Millionths { .. } => Some(Value::Millionths(number()?)),
            Self::Moment => {
                Some(number()? / 1_000_000).filter(|seconds| *seconds > 0).map(Value::Moment)
            }
            Self::Choice(names) => {
                let at = usize::try_from(number()?.checked_sub(1)?).ok()?;
                Some(Value::Choice(names.get(at)?, at))
            }
            Self::Flag => Some(Value::Flag(number()? == 1)),
            Self::Text { .. } => Some(text).filter(|text| !text.is_empty()).map(Value::text),
            Self::Amounts { .. } => Some(text.parse::<Amounts>().ok()?)
                .filter(|amounts| !amounts.is_empty())
                .map(Value::Amounts),
        })
    }

    /// How the store holds "no such rule".
    pub(crate) fn none(self) -> &'static str {
        match self {
            Self::Text { .. } | Self::Amounts { .. } => "",
            Self::Whole { least: 0, .. } => UNSET,
            _ => "0",
        }
    }
}

impl Value {
    fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// The value as the store holds it: times in microseconds, names as their number, from 1.
    pub(crate) fn stored(&self) -> String {
        match self {
            Self::Whole(number) | Self::Millionths(number) => number.to_string(),
            Self::Span(time) => time.as_micros().to_string(),
            Self::Moment(seconds) => ((*seconds).min(LAST_MOMENT) * 1_000_000).to_string(),
            Self::Choice(_, at) => (at + 1).to_string(),
            Self::Flag(on) => u8::from(*on).to_string(),
            Self::Text(text) => text.clone(),
            Self::Amounts(amounts) => amounts.to_string(),
        }
    }
}

impl Relation {
    pub(crate) fn holds(&self, rule: Option<Value>, other: Option<Value>) -> bool {
        let Some((rule, other)) = rule.zip(other) else { return true };
        if self.at_least { rule >= other } else { rule <= other }
    }
}

impl PartialOrd for Value {
    /// Values of one kind, but for texts and amounts.
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Self::Whole(one), Self::Whole(two))
            | (Self::Millionths(one), Self::Millionths(two))
            | (Self::Moment(one), Self::Moment(two)) => one.partial_cmp(two),
            (Self::Span(one), Self::Span(two)) => one.partial_cmp(two),
            _ => None,
        }
    }
}
