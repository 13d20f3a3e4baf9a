//! The body of an override: rules that an operator puts in force for a time.
//!
//! Each named field is set until `until` (without it, until taken back), `null` takes its override
//! back, and fields that are not named keep what they have, with their own ends. The ranges are
//! those of the configuration. A reason belongs to the state it was given with: a change of the
//! state that names no reason takes an old one back.

pub mod field;

use std::collections::BTreeMap;
use std::fmt;

use anteroom_authorize::problem::Problem;
use anteroom_config::Moment;
use anteroom_core::queue::{Override, RULES, Rules, State};
use anteroom_core::rules::{Kind, Relation, Value};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::json;
use utoipa::openapi::schema::{AdditionalProperties, Object, Schema};
use utoipa::openapi::{RefOr, schema::KnownFormat, schema::SchemaFormat, schema::Type};
use utoipa::{PartialSchema, ToSchema};

use self::field::Given;

/// The field that is no rule.
const UNTIL: &str = "until";

/// Overrides as a body names them, not yet held to their rules.
#[derive(Debug, Default)]
pub struct Overrides {
    /// By the rule's place in the table; `None` takes the override back.
    named: BTreeMap<usize, Option<Given>>,
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
    field: String,
    rule: String,
}

impl Wrong {
    fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into() }
    }
}

impl From<Wrong> for Problem {
    fn from(wrong: Wrong) -> Self {
        Self::invalid_value(format!("{} {}", wrong.field, wrong.rule))
    }
}

impl Overrides {
    /// Checks every field by itself and against each other.
    ///
    /// `now` is the store's clock in seconds since 1970, `in_force` the rules with all overrides,
    /// `file` those of the configuration.
    ///
    /// # Errors
    ///
    /// Names the first field with a value that its rule forbids.
    pub fn check(&self, now: u64, in_force: &Rules, file: &Rules) -> Result<Change, Wrong> {
        let overrides = self.overrides()?;
        let bypass = overrides.contains(&Override::State(Some(State::Bypass)));
        let until = self.end(now, bypass)?;
        if until.is_some() && overrides.is_empty() {
            return Err(Wrong::new(
                UNTIL,
                "is the end of the overrides in the same call: send at least one of them",
            ));
        }
        agree(&overrides, in_force, file)?;
        Ok(Change { overrides, until })
    }

    /// The named fields, each within its own rule.
    fn overrides(&self) -> Result<Vec<Override>, Wrong> {
        let mut overrides = Vec::new();
        for (at, given) in &self.named {
            let rule = &RULES[*at];
            let value = given.as_ref().map(|given| given.value(rule.kind)).transpose();
            let value = value.map_err(|must| Wrong::new(field::name(rule), must))?;
            overrides.extend(Override::new(rule, value));
        }
        let names = |of: fn(&Override) -> bool| overrides.iter().any(of);
        if names(|it| matches!(it, Override::State(_)))
            && !names(|it| matches!(it, Override::Reason(_)))
        {
            overrides.push(Override::Reason(None));
        }
        Ok(overrides)
    }

    fn end(&self, now: u64, bypass: bool) -> Result<Option<u64>, Wrong> {
        let Some(until) = &self.until else {
            let rule = "is required with the state bypass";
            return if bypass { Err(Wrong::new(UNTIL, rule)) } else { Ok(None) };
        };
        let until = Moment::parse(until).ok_or_else(|| Wrong::new(UNTIL, Moment::RULE))?.seconds();
        if until > now {
            Ok(Some(until))
        } else {
            Err(Wrong::new(UNTIL, "must be in the future, by the clock of Redis"))
        }
    }
}

/// Checks what must hold between the rules once the change is made; what is taken back falls back
/// to `file`.
///
/// Only what the change names is judged: an old mistake must not delay an operator who pauses a
/// queue. The check is a courtesy and no promise, for an override may lapse and leave the others
/// behind; the scripts bear any combination.
fn agree(overrides: &[Override], in_force: &Rules, file: &Rules) -> Result<(), Wrong> {
    let mut rules = in_force.clone();
    for change in overrides {
        rules.apply(change, file);
    }
    let named = |name: &str| overrides.iter().any(|change| change.rule().name == name);
    for Relation { rule, at_least, other } in rules.broken() {
        let (wrong, at_least, bound) = match (named(rule.name), named(other.name)) {
            (true, _) => (rule, *at_least, other),
            (false, true) => (other, !at_least, rule),
            (false, false) => continue,
        };
        let (wrong, name) = (field::name(wrong), field::name(bound));
        return Err(Wrong::new(
            wrong,
            match (rules.value(bound), at_least) {
                (Some(Value::Span(time)), true) => {
                    format!("must be at least {name}, which is {}", time.as_millis())
                }
                (Some(Value::Span(time)), false) => {
                    format!("must be at most {name}, which is {}", time.as_millis())
                }
                (_, true) => format!("must not be before {name}"),
                (_, false) => format!("must not be after {name}"),
            },
        ));
    }
    Ok(())
}

impl<'de> Deserialize<'de> for Overrides {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(Fields)
    }
}

/// Reads the fields of the body.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Overrides;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of overrides")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Overrides, A::Error> {
        let (mut overrides, mut has_until) = (Overrides::default(), false);
        while let Some(field) = fields.next_key::<String>()? {
            let again = if field == UNTIL {
                overrides.until = fields.next_value()?;
                std::mem::replace(&mut has_until, true)
            } else if let Some(at) = field::named(&field) {
                let given = fields.next_value_seed(Seed(RULES[at].kind))?;
                overrides.named.insert(at, given).is_some()
            } else {
                return Err(unknown(&field));
            };
            if again {
                return Err(A::Error::custom(format!("duplicate field `{field}`")));
            }
        }
        Ok(overrides)
    }
}

fn unknown<E: Error>(field: &str) -> E {
    let known = RULES.iter().map(field::name).chain([UNTIL.to_owned()]);
    let known = known.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    E::custom(format!("unknown field `{field}`, expected one of {known}"))
}

/// Reads the value of a rule of this kind.
struct Seed(Kind);

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Option<Given>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Option<Given>, D::Error> {
        Given::read(self.0, reader)
    }
}

impl ToSchema for Overrides {}

impl PartialSchema for Overrides {
    fn schema() -> RefOr<Schema> {
        let until = Object::builder()
            .schema_type(utoipa::openapi::schema::SchemaType::Array(vec![Type::String, Type::Null]))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some(
                "The end of the overrides in this call, by the clock of Redis; without it they have no \
                 end. As RFC 3339.",
            ))
            .examples([json!("2027-01-15T21:00:00+09:00")]);
        RULES
            .iter()
            .fold(Object::builder(), |object, rule| {
                object.property(field::name(rule), field::schema(rule, true))
            })
            .property(UNTIL, until)
            .description(Some("Overrides. Fields that you leave out stay as they are."))
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
            .into()
    }
}

#[cfg(test)]
mod tests;
