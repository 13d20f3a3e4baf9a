//! Values of the rules that the store keeps, read according to the kind of each.

use anteroom_core::rules::{Amounts, Kind, MAX_AMOUNT, Value};
use config::ValueKind;
use serde::de::Deserializer as _;

use crate::{
    moment::Moment,
    parse::{Scalar, grouped},
};

/// A value of a rule of this kind.
pub(crate) fn read(kind: Kind, value: config::Value) -> Result<Value, String> {
    if matches!(kind, Kind::Amounts { .. }) {
        return amounts(kind, value);
    }
    let given = value.deserialize_any(Scalar).map_err(|error| error.to_string())?;
    match kind {
        Kind::Whole { least, most } => given.whole(least, most).map(Value::Whole),
        Kind::Span { least, most } => given.span(least, most).map(Value::Span),
        Kind::Millionths { least, most } => given.millionths(least, most).map(Value::Millionths),
        Kind::Flag => given.flag().map(Value::Flag),
        Kind::Moment => given.text(Moment::RULE, |text| {
            Moment::parse(text).map(|moment| Value::Moment(moment.seconds()))
        }),
        Kind::Choice(names) => {
            given.text(&format!("must be one of {}", names.join(", ")), |text| kind.choice(text))
        }
        Kind::Text { most } => given
            .text(&format!("must be 1 to {most} characters without control characters"), |text| {
                kind.text(text)
            }),
        // Read above, since it is no single value.
        Kind::Amounts { .. } => Err("must be a table".to_owned()),
    }
}

/// A table of names with their amounts; the environment has it as text, `small=1,large=20`.
fn amounts(kind: Kind, value: config::Value) -> Result<Value, String> {
    let Kind::Amounts { most } = kind else { return Err("must be a table".to_owned()) };
    let rule = || {
        let largest = grouped(MAX_AMOUNT);
        format!(
            "must be a table of at most {most} names of a-z, 0-9 and -, each with a whole number \
             from 1 to {largest}"
        )
    };
    let table = match value.kind {
        ValueKind::Table(table) => table,
        ValueKind::String(text) => {
            let amounts = text.parse().ok().and_then(|amounts| kind.amounts(amounts));
            return amounts.ok_or_else(rule);
        }
        _ => return Err(rule()),
    };
    let pairs = table.into_iter().map(|(name, amount)| {
        let wrong = format!("{}; {name:?} is none", rule());
        let given = amount.deserialize_any(Scalar).ok();
        let amount = given.and_then(|given| given.whole(1, MAX_AMOUNT).ok());
        let pair = amount.map(|amount| (name, amount));
        pair.filter(|pair| Amounts::new(vec![pair.clone()]).is_ok()).ok_or(wrong)
    });
    let pairs = pairs.collect::<Result<Vec<_>, String>>()?;
    Amounts::new(pairs).ok().and_then(|amounts| kind.amounts(amounts)).ok_or_else(rule)
}
