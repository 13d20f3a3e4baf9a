//! Rules as the store holds them: by name.

use super::{Rule, Value};

/// The rules of a kind of entity, as their table has them.
pub(crate) trait Stored {
    /// Every rule, with those that only operators set.
    const RULES: &'static [Rule];

    /// The value of a rule; `None` where there is no such rule.
    fn value_of(&self, rule: &Rule) -> Option<Value>;
}

/// The rules of a file, and what only operators set as it is without them, in the order of the
/// table.
pub(crate) fn write<R: Stored>(rules: &R) -> impl Iterator<Item = (&'static str, String)> {
    R::RULES.iter().map(|rule| {
        let value = rules.value_of(rule);
        (rule.name, value.map_or_else(|| rule.kind.none().to_owned(), |value| value.stored()))
    })
}

/// The value of a rule that the store holds as this text; else what is wrong with it.
pub(crate) fn read(rule: &Rule, text: &str) -> Result<Option<Value>, String> {
    rule.kind.stored(text).ok_or_else(|| format!("{text:?} is no value of {}", rule.name))
}
