//! Named sections, such as `[queues.NAME]`: one table for each entity, over the defaults of its
//! kind, which stand under the name `"*"`.

use std::collections::BTreeMap;

use anteroom_core::rules::{Kind, Relation, Rule, Value as RuleValue};
use config::{Map, Value, ValueKind};
use serde::de::DeserializeOwned;

use crate::{error::Fault, name::check_name, read::read_as, rule};

/// The table of the defaults; no entity can have this name.
pub(crate) const EVERY: &str = "*";

/// A kind of entity that the configuration declares by name.
pub(crate) trait Named: DeserializeOwned {
    /// What is read by the table of the rules; the other keys are fields for serde.
    const RULES: &'static [Rule] = &[];
    /// The key without which the defaults are no whole entity.
    const REQUIRED: Option<&'static str> = None;

    /// The same with its rules, whose values `value` gives.
    fn with_rules(
        self,
        _value: impl FnMut(&'static Rule) -> Result<Option<RuleValue>, Fault>,
    ) -> Result<Self, Fault> {
        Ok(self)
    }

    /// The rules between the keys of one entity; the keys in the fault are without the section.
    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// The rules about which keys an entity names itself, beside those it has from the defaults.
    fn check_own(&self, _own: &Map<String, Value>) -> Result<(), Fault> {
        Ok(())
    }
}

/// A section as it is in the merged layers.
pub(crate) type Tables = BTreeMap<String, Map<String, Value>>;

/// The entities of a kind, checked, each under its own rules.
pub(crate) fn read<T: Named>(
    section: &str,
    mut tables: Tables,
) -> Result<BTreeMap<String, T>, Fault> {
    let every = tables.remove(EVERY).unwrap_or_default();
    // The defaults are read by themselves too, so that an error in them shows even when no entity
    // uses them.
    let mut whole = every.clone();
    if let Some(key) = T::REQUIRED {
        whole.entry(key.to_owned()).or_insert_with(|| Value::new(None, 1));
    }
    read_one::<T>(whole, &format!("{section}.{EVERY}"))?;
    let mut entities = BTreeMap::new();
    for (name, own) in tables {
        check_name(&name, section)?;
        let mut keys = every.clone();
        keys.extend(own.clone());
        let table = format!("{section}.{name}");
        let entity: T = read_one(keys, &table)?;
        entity.check_own(&own).map_err(|fault| fault.within(&table))?;
        entities.insert(name, entity);
    }
    Ok(entities)
}

fn read_one<T: Named>(mut keys: Map<String, Value>, section: &str) -> Result<T, Fault> {
    let mut rules: Map<String, Value> = keys.extract_if(|key, _| is_rule::<T>(key)).collect();
    let fields = Value::new(None, ValueKind::Table(keys));
    let entity: T = read_as(fields, section).map_err(|fault| with_names::<T>(fault, section))?;
    let entity = entity.with_rules(|own| match rules.remove(own.name) {
        None => Ok((own.default)()),
        Some(value) => rule::read(own.kind, value)
            .map(Some)
            .map_err(|broken| Fault::new(format!("{section}.{}", own.name), broken)),
    })?;
    entity.check().map_err(|fault| fault.within(section))?;
    Ok(entity)
}

fn is_rule<T: Named>(key: &str) -> bool {
    T::RULES.iter().any(|rule| rule.in_file && rule.name == key)
}

/// Of the keys of the entity itself serde knows only those that are no rules.
fn with_names<T: Named>(fault: Fault, section: &str) -> Fault {
    let inside = fault.key.strip_prefix(section).and_then(|key| key.strip_prefix('.'));
    let is_own = inside.is_some_and(|key| !key.contains('.'));
    let fields = fault.rule.strip_prefix("unknown key, expected one of ").filter(|_| is_own);
    let Some(fields) = fields else { return fault };
    let rules = T::RULES.iter().filter(|rule| rule.in_file);
    let rules = rules.map(|rule| format!("`{}`", rule.name));
    let known: Vec<_> = rules.chain(Some(fields.to_owned()).filter(|it| !it.is_empty())).collect();
    Fault { rule: format!("unknown key, expected one of {}", known.join(", ")), ..fault }
}

/// Refuses the first relation that does not hold.
pub(crate) fn refuse(mut broken: impl Iterator<Item = &'static Relation>) -> Result<(), Fault> {
    let Some(Relation { rule, at_least, other }) = broken.next() else { return Ok(()) };
    let must = match (rule.kind, at_least) {
        (Kind::Moment, true) => "must not be before",
        (Kind::Moment, false) => "must not be after",
        (_, true) => "must be at least",
        (_, false) => "must be at most",
    };
    Err(Fault::new(rule.name, format!("{must} {}", other.name)))
}

/// The key of the defaults behind a key of an entity, `queues.concert.batch`.
pub(crate) fn default_of(key: &str) -> Option<String> {
    let (section, rest) = key.split_once('.')?;
    let (_, rest) = rest.split_once('.')?;
    Some(format!("{section}.{EVERY}.{rest}"))
}

/// The keys, of those named, whose values differ between two readings of a section.
macro_rules! differing {
    ($section:literal, $new:expr, $old:expr, [$($key:ident),+ $(,)?]) => {
        [$((concat!($section, ".", stringify!($key)), $new.$key == $old.$key)),+]
            .into_iter()
            .filter_map(|(key, same)| (!same).then_some(key))
    };
}

pub(crate) use differing;
