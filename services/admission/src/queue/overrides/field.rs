//! A rule as the API names, takes, shows and documents it: all of that follows from its table. A
//! duration is in milliseconds, with its unit in the name.

use std::time::Duration;

use anteroom_authorize::durations::{millis, moment};
use anteroom_config::Moment;
use anteroom_core::queue::RULES;
use anteroom_core::rules::{Kind, Rule, Value};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, json};
use utoipa::ToSchema;
use utoipa::openapi::schema::{KnownFormat, Object, ObjectBuilder, SchemaFormat, SchemaType, Type};

/// The name of a rule here.
pub fn name(rule: &Rule) -> String {
    match rule.kind {
        Kind::Span { .. } => format!("{}_ms", rule.name),
        _ => rule.name.to_owned(),
    }
}

/// The rule of this name.
pub(super) fn named(name: &str) -> Option<usize> {
    RULES.iter().position(|rule| self::name(rule) == name)
}

/// A value as JSON says it, not yet held to its rule.
#[derive(Debug)]
pub(super) enum Given {
    Number(Number),
    Text(String),
    Flag(bool),
}

impl Given {
    /// Reads what a rule of this kind takes; null takes an override back.
    pub(super) fn read<'de, D: Deserializer<'de>>(
        kind: Kind,
        reader: D,
    ) -> Result<Option<Self>, D::Error> {
        Ok(match kind {
            Kind::Whole { .. } | Kind::Span { .. } | Kind::Millionths { .. } => {
                Option::deserialize(reader)?.map(Self::Number)
            }
            Kind::Moment | Kind::Choice(_) | Kind::Text { .. } | Kind::Amounts { .. } => {
                Option::deserialize(reader)?.map(Self::Text)
            }
            Kind::Flag => Option::deserialize(reader)?.map(Self::Flag),
        })
    }

    /// The value, within its rule; else the rule, as the rest of the sentence "FIELD …".
    pub(super) fn value(&self, kind: Kind) -> Result<Value, String> {
        let within = |number: &Number, least, most| {
            number.as_u64().filter(|number| (least..=most).contains(number))
        };
        let value = match (kind, self) {
            (Kind::Whole { least, most }, Self::Number(number)) => {
                within(number, least, most).map(Value::Whole)
            }
            (Kind::Span { least, most }, Self::Number(number)) => {
                within(number, least, most).map(Duration::from_millis).map(Value::Span)
            }
            (Kind::Millionths { least, most }, Self::Number(number)) => {
                within(number, least, most).map(Value::Millionths)
            }
            (Kind::Moment, Self::Text(text)) => {
                Moment::parse(text).map(|moment| Value::Moment(moment.seconds()))
            }
            (Kind::Choice(_), Self::Text(text)) => kind.choice(text),
            (Kind::Text { .. }, Self::Text(text)) => kind.text(text),
            (Kind::Flag, Self::Flag(on)) => Some(Value::Flag(*on)),
            (Kind::Amounts { .. }, Self::Text(text)) => {
                text.parse().ok().and_then(|amounts| kind.amounts(amounts))
            }
            _ => None,
        };
        value.ok_or_else(|| sentence(kind))
    }
}

fn sentence(kind: Kind) -> String {
    match kind {
        Kind::Whole { least, most }
        | Kind::Span { least, most }
        | Kind::Millionths { least, most } => {
            format!("must be a whole number from {least} to {most}, in digits")
        }
        Kind::Moment => Moment::RULE.to_owned(),
        Kind::Choice(names) => format!("must be one of {}", names.join(", ")),
        Kind::Flag => "must be true or false".to_owned(),
        Kind::Text { most } => {
            format!("must be 1 to {most} characters without control characters")
        }
        Kind::Amounts { most } => format!("must be at most {most} of NAME=AMOUNT, with commas"),
    }
}

/// The value of a rule, as in an override.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum OverrideValue {
    /// A count, or a time in milliseconds.
    Number(u64),
    /// On or off.
    Flag(bool),
    /// A name, a text or a time.
    Text(String),
}

/// A value as it is shown; `None` for a moment that RFC 3339 cannot write.
pub fn shown(value: Value) -> Option<OverrideValue> {
    Some(match value {
        Value::Whole(number) | Value::Millionths(number) => OverrideValue::Number(number),
        Value::Span(time) => OverrideValue::Number(millis(time)),
        Value::Moment(seconds) => OverrideValue::Text(moment(seconds)?),
        Value::Choice(name, _) => OverrideValue::Text(name.to_owned()),
        Value::Flag(on) => OverrideValue::Flag(on),
        Value::Text(text) => OverrideValue::Text(text),
        Value::Amounts(amounts) => OverrideValue::Text(amounts.to_string()),
    })
}

/// The rule of the reason that visitors read.
pub fn reason_rule() -> &'static Rule {
    RULES.iter().find(|rule| rule.name == "reason").expect("a row of the table")
}

/// Checks a text against that rule. An error is the rest of the sentence "reason …".
pub fn check_reason(text: &str) -> Result<(), String> {
    Given::Text(text.to_owned()).value(reason_rule().kind).map(drop)
}

/// What the OpenAPI document says of a value of the rule; `or_null` where it may be null.
pub fn schema(rule: &Rule, or_null: bool) -> ObjectBuilder {
    let of = |only: Type| match or_null {
        true => SchemaType::Array(vec![only, Type::Null]),
        false => SchemaType::Type(only),
    };
    let object = Object::builder().description(Some(description(rule)));
    let int64 = Some(SchemaFormat::KnownFormat(KnownFormat::Int64));
    match rule.kind {
        Kind::Whole { least, most }
        | Kind::Span { least, most }
        | Kind::Millionths { least, most } => {
            let object = object.schema_type(of(Type::Integer)).format(int64);
            object.minimum(Some(least as f64)).maximum(Some(most as f64))
        }
        Kind::Moment => object
            .schema_type(of(Type::String))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .examples([json!("2027-01-15T20:00:00+09:00")]),
        Kind::Choice(names) => object
            .schema_type(of(Type::String))
            .pattern(Some(format!("^({})$", names.join("|"))))
            // The first is the default: no operator needs to set it.
            .examples([json!(names[1])]),
        Kind::Flag => object.schema_type(of(Type::Boolean)),
        Kind::Text { most } => object
            .schema_type(of(Type::String))
            .min_length(Some(1))
            .max_length(Some(most))
            .pattern(Some(r"^[^\u0000-\u001f\u007f-\u009f]+$")),
        Kind::Amounts { .. } => object.schema_type(of(Type::String)),
    }
}

/// The table's sentence, in which rules have their names here, and the unit.
pub fn description(rule: &Rule) -> String {
    let words = rule.doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let doc = RULES.iter().fold(words, |doc, other| {
        doc.replace(&format!("`{}`", other.name), &format!("`{}`", name(other)))
    });
    match rule.kind {
        Kind::Span { .. } => format!("{doc} In milliseconds."),
        Kind::Millionths { .. } => format!("{doc} In millionths."),
        Kind::Moment => format!("{doc} As RFC 3339."),
        _ => doc,
    }
}
