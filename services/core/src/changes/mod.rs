//! The log of changes: what operators changed of an entity, who, and when.
//!
//! The script that makes a change adds its entry (`lua/lib/changes.lua`). So each change that took
//! effect has one entry, and no other call has one. The handle of an operator has the name of the
//! key: [`By`]. Redis keeps the newest 1 000 entries of an entity, each of 512 bytes or less.

mod packed;

use std::sync::Arc;

use packed::Packed;

use crate::queue::{Overridden, Override, RULES};
use crate::rules::{MAX_AMOUNT, Rule, Value};
use crate::store::{Args, Error, Reply};

/// The most changes of a page.
pub const MAX_CHANGES: u64 = 200;
/// The greatest id of a change.
pub const MAX_CHANGE_ID: u64 = MAX_AMOUNT;

/// By whom an entity is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct By(Option<Arc<str>>);

impl By {
    /// By the operator whose key has this name. The change is logged. By default it is not.
    pub fn operator(key: &str) -> Self {
        Self(Some(key.into()))
    }

    /// Adds the name of the key to the arguments of a script that makes a change.
    pub(crate) fn push_to(&self, args: &mut Args) {
        args.push(self.0.as_deref().unwrap_or_default());
    }
}

/// A page of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Newest first.
    pub changes: Vec<Change>,
    /// The `before` of the next page; absent at the end of the log.
    pub next: Option<u64>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Greater than that of each earlier change of the entity.
    pub id: u64,
    /// When, in microseconds since 1970 by the clock of Redis.
    pub at_us: u64,
    /// The name of the operator's key.
    pub key: String,
    /// The operation, such as `queue.evict`.
    pub operation: String,
    /// The ticket that it is about.
    pub ticket: Option<u64>,
    /// Fields before it.
    pub before: Vec<(String, ChangeValue)>,
    /// Fields after it.
    pub after: Vec<(String, ChangeValue)>,
    /// The overrides that it changed. A long reason is cut, and ends with `…`.
    pub overrides: Vec<ChangedOverride>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeValue {
    /// A count or an amount.
    Number(u64),
    /// True or false.
    Flag(bool),
    /// One of a few words.
    Text(String),
}

/// An override that was set, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedOverride {
    /// The index of its rule in the table.
    at: usize,
    /// The override before; absent if the configuration was in force.
    pub before: Option<Overridden>,
    /// The override after; absent if the configuration is in force.
    pub after: Option<Overridden>,
}

impl ChangedOverride {
    /// Its rule.
    pub fn rule(&self) -> &'static Rule {
        &RULES[self.at]
    }
}

impl Changes {
    /// Adds the arguments of a script that lists changes.
    pub(crate) fn page(mut args: Args, before: Option<u64>, limit: u64) -> Args {
        args.push(before.map(|id| id.to_string()).unwrap_or_default());
        // One more shows whether there is a next page.
        args.push(limit.clamp(1, MAX_CHANGES) + 1);
        args
    }

    /// Reads the replies of such a script, from one log or several, for the same `limit`.
    pub(crate) fn read(
        replies: impl IntoIterator<Item = Reply>,
        limit: u64,
    ) -> Result<Self, Error> {
        let mut changes = Vec::new();
        for mut reply in replies {
            while !reply.is_empty() {
                let entry = reply.bytes()?;
                let change = Change::read(&entry);
                changes.push(change.ok_or_else(|| reply.error("an entry that cannot be read"))?);
            }
        }
        changes.sort_unstable_by_key(|change: &Change| std::cmp::Reverse(change.id));
        let limit = usize::try_from(limit.clamp(1, MAX_CHANGES)).unwrap_or(usize::MAX);
        let goes_on = changes.len() > limit;
        changes.truncate(limit);
        let next = changes.last().filter(|_| goes_on).map(|change| change.id);
        Ok(Self { changes, next })
    }
}

impl Change {
    /// The reason that the operator gave with it.
    pub fn reason(&self) -> Option<&str> {
        self.overrides.iter().find_map(|changed| match &changed.after.as_ref()?.rule {
            Override::Reason(reason) => reason.as_deref(),
            _ => None,
        })
    }

    /// Reads an entry. A later version can add more at its end.
    fn read(entry: &[u8]) -> Option<Self> {
        let (id, packed) = entry.split_first_chunk()?;
        let id = f64::from_be_bytes(*id);
        let mut values = Packed::read(packed)?.into_array()?.into_iter();
        let mut change = Self {
            id: (0.0..=MAX_CHANGE_ID as f64).contains(&id).then_some(id as u64)?,
            at_us: values.next()?.number()?,
            key: values.next()?.into_text()?,
            operation: values.next()?.into_text()?,
            ticket: Some(values.next()?.number()?).filter(|ticket| *ticket > 0),
            before: fields(values.next()?)?,
            after: fields(values.next()?)?,
            overrides: Vec::new(),
        };
        if let Some(overrides) = values.next() {
            change.overrides = changed_overrides(overrides)?;
        }
        Some(change)
    }
}

/// Fields are alternating names and values.
fn fields(packed: Packed) -> Option<Vec<(String, ChangeValue)>> {
    let mut values = packed.into_array()?.into_iter();
    let mut fields = Vec::new();
    while let Some(name) = values.next() {
        let value = match values.next()? {
            Packed::Number(number) => ChangeValue::Number(number),
            Packed::Flag(flag) => ChangeValue::Flag(flag),
            Packed::Text(text) => ChangeValue::Text(text),
            Packed::Array(_) => return None,
        };
        fields.push((name.into_text()?, value));
    }
    Some(fields)
}

/// What `lua/queue/lib/override_change.lua` packs. A rule of a later version is left out.
fn changed_overrides(packed: Packed) -> Option<Vec<ChangedOverride>> {
    let mut values = packed.into_array()?.into_iter();
    let until = values.next()?.number()?;
    let mut changed = Vec::new();
    while let Some(number) = values.next() {
        let at = usize::try_from(number.number()?).ok()?.checked_sub(1)?;
        let (before, ended) = (values.next()?, values.next()?.number()?);
        let after = values.next()?;
        let Some(rule) = RULES.get(at) else { continue };
        let (before, after) = (overridden(rule, before, ended)?, overridden(rule, after, until)?);
        changed.push(ChangedOverride { at, before, after });
    }
    Some(changed)
}

/// An override as an entry has it. `Some(None)`: there is none. `None`: not a value of the rule.
fn overridden(rule: &'static Rule, value: Packed, until: u64) -> Option<Option<Overridden>> {
    let value = match value {
        Packed::Flag(false) => return Some(None),
        Packed::Number(number) => rule.kind.stored(&number.to_string())?,
        // A reason. It is empty if all of it was cut.
        Packed::Text(text) => Some(Value::Text(text)),
        Packed::Flag(true) | Packed::Array(_) => return None,
    };
    let rule = Override::new(rule, value)?;
    Some(Some(Overridden { rule, until: Some(until).filter(|until| *until > 0) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries have the numbers of rules, so a new rule comes after these.
    #[test]
    fn the_number_of_a_rule_never_changes() {
        let names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        let known = [
            "state",
            "reason",
            "capacity",
            "batch",
            "interval",
            "pace",
            "claim_ttl",
            "session_ttl",
            "session_max",
            "unproven_ttl",
            "idle_ttl",
            "keep_ttl",
            "first_poll_ttl",
            "max_waiting",
            "joins_at",
            "opens_at",
            "closes_at",
            "local_answers",
            "places_per_address",
        ];
        assert_eq!(names[..known.len()], known);
    }

    #[test]
    fn what_a_later_version_adds_is_passed_over() {
        // [5, "ops", "queue.x", 7, [], ["n", 1], [0, 99, false, 0, 1], "more"]
        let packed =
            b"\x98\x05\xa3ops\xa7queue.x\x07\x90\x92\xa1n\x01\x95\x00\x63\xc2\x00\x01\xa4more";
        let entry = [&16_f64.to_be_bytes()[..], packed].concat();
        let change = Change::read(&entry).expect("an entry");
        assert_eq!((change.id, change.at_us, change.ticket), (16, 5, Some(7)));
        assert_eq!(change.after, [("n".to_owned(), ChangeValue::Number(1))]);
        assert_eq!((change.overrides, change.key), (vec![], "ops".to_owned()));
        for at in 0..entry.len() {
            assert_eq!(Change::read(&entry[..at]), None, "cut at {at}");
        }
    }
}
