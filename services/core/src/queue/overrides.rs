//! Overrides and the rules in force as Redis stores them: by name, in the order of the table.

use super::reply::Reply;
use super::rules::{Override, RULES, Rules};
use super::scripts;
use crate::entity::Ruled;
use crate::rules::{self, Rule, Typed as _, Value};
use crate::store::{Error, Script};

impl Ruled for Rules {
    const PARTS: usize = 2;

    fn seed_script() -> &'static Script {
        &scripts::SEED_RULES
    }
}

/// The name of an override and its value; `None` takes it back.
pub(super) fn write_override(change: &Override) -> (&'static str, Option<String>) {
    (change.rule().name, change.value().map(|value| value.stored()))
}

/// The override of this name and value; `None` when there is no such rule, or the value is none of
/// its.
pub(super) fn read_override(name: &str, value: &str) -> Option<Override> {
    let rule = RULES.iter().find(|rule| rule.name == name)?;
    Override::new(rule, rule.kind.stored(value)?)
}

/// The rules in force and the reason of the state, in the order of the table.
pub(super) fn read(reply: &mut Reply) -> Result<(Rules, Option<String>), Error> {
    let mut value = |rule: &Rule| -> Result<Option<Value>, Error> {
        let text = reply.text()?;
        rules::read(rule, &text).map_err(|detail| reply.error(detail))
    };
    let mut reason = None;
    // The stored state is skipped: the one in force is further up in the reply.
    for rule in RULES.iter().filter(|rule| !rule.in_file) {
        let value = value(rule)?;
        if rule.name == "reason" {
            reason = value.and_then(String::typed);
        }
    }
    Ok((Rules::read(value)?, reason))
}

/// The rules of the file. An overridden rule has its value in `configured`, every other rule its
/// value in force.
pub(super) fn file_rules(
    in_force: &Rules,
    configured: &[(&'static Rule, String)],
) -> Result<Rules, String> {
    Rules::read(|rule| {
        match configured.iter().find(|(overridden, _)| overridden.name == rule.name) {
            Some((_, text)) => rules::read(rule, text),
            None => Ok(in_force.value(rule)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Amounts, Kind, write};

    /// A value of each kind that no default is.
    fn some_value(rule: &Rule) -> Value {
        match rule.kind {
            Kind::Whole { least, .. } => Value::Whole(least + 1),
            Kind::Millionths { least, .. } => Value::Millionths(least + 1),
            Kind::Span { most, .. } => Value::Span(std::time::Duration::from_millis(most)),
            Kind::Moment => Value::Moment(1_800_000_000),
            Kind::Choice(names) => Value::Choice(names[1], 1),
            Kind::Flag => Value::Flag(true),
            Kind::Text { .. } => Value::Text("7".to_owned()),
            Kind::Amounts { .. } => {
                Value::Amounts(Amounts::new([("small".to_owned(), 7)]).expect("an amount"))
            }
        }
    }

    #[test]
    fn a_value_is_read_as_it_was_stored() {
        for rule in RULES {
            let value = some_value(rule);
            let change = Override::new(rule, Some(value.clone())).expect("a value of its kind");
            assert_eq!((change.rule().name, change.value()), (rule.name, Some(value)));
            let (name, stored) = write_override(&change);
            assert_eq!(read_override(name, &stored.expect("a value")), Some(change));
        }
        for (name, value) in [("state", "9"), ("state", "0"), ("capacity", "many"), ("hue", "1")] {
            assert_eq!(read_override(name, value), None);
        }
    }

    #[test]
    fn rules_are_read_as_they_were_written() {
        let file = RULES.iter().filter(|rule| rule.in_file);
        let rules = Rules::read(|rule| Ok::<_, ()>(Some(some_value(rule)))).expect("rules");
        let stored = write(&rules).skip_while(|(name, _)| *name != "capacity");
        for (rule, (name, text)) in file.zip(stored) {
            assert_eq!(name, rule.name);
            assert_eq!(rule.kind.stored(&text), Some(rules.value(rule)), "{name}");
            assert_eq!(rules.value(rule), Some(some_value(rule)), "{name}");
        }
    }
}
