//! A limits file of limitador (<https://github.com/Kuadrant/limitador>).
//!
//! A limit there applies to each request whose first descriptor meets its conditions and has its
//! variables, whatever else that descriptor has. Here the entries are exactly those of the
//! conditions and the variables, in their order.

use std::collections::BTreeMap;
use std::time::Duration;

use anteroom_config::EntryConfig;
use serde::Deserialize;
use serde_json::Value;

use super::{Imported, Rule, out_of_bounds, overlap, read_as, shown};

#[derive(Deserialize)]
struct Limit {
    namespace: String,
    max_value: u64,
    seconds: u64,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    conditions: Option<Vec<String>>,
    #[serde(default)]
    variables: Option<Vec<String>>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// Reads it.
///
/// # Errors
///
/// When it has another form.
pub fn read(text: &str) -> Result<Imported, String> {
    let limits: Vec<Limit> = read_as(text, "a limits file of limitador")?;
    let mut imported = Imported::default();
    for (at, limit) in limits.into_iter().enumerate() {
        let rules = &imported.rules;
        let is_earlier = |rule: &Rule| {
            let mut same = rules.iter().filter(|other| other.domain == rule.domain);
            same.any(|other| overlap(&other.entries, &rule.entries))
        };
        match rule(limit) {
            Ok(rule) if is_earlier(&rule) => imported.left_out.push(limit_at(
                at,
                &format!(
                    "an earlier limit has the same entries ({}); only one counts here",
                    shown(&rule.entries)
                ),
            )),
            Ok(rule) => {
                imported.differs.extend(counts_more(&rule, rules).map(|why| limit_at(at, &why)));
                imported.rules.push(rule);
            }
            Err(why) => imported.left_out.push(limit_at(at, &why)),
        }
    }
    Ok(imported)
}

fn limit_at(at: usize, why: &str) -> String {
    format!("limit {}: {why}", at + 1)
}

/// Whether a limit and an earlier one count the same request there: one has all keys of the other.
/// Descriptors with these keys then come, and here one rule matches each of them.
fn counts_more(rule: &Rule, earlier: &[Rule]) -> Option<String> {
    let keys = |rule: &Rule| rule.entries.iter().map(|it| it.key.clone()).collect::<Vec<_>>();
    let own = keys(rule);
    let mut others = earlier.iter().filter(|other| other.domain == rule.domain);
    let other = others.find(|other| {
        let other = keys(other);
        let [in_other, in_own] = [(&own, &other), (&other, &own)]
            .map(|(some, all)| some.iter().all(|key| all.contains(key)));
        own != other && (in_other || in_own)
    })?;
    Some(format!(
        "a request can also have the entries of an earlier limit ({}). limitador counts it in both limits. \
         Anteroom counts it only in the limit that has exactly its entries, in the same order",
        shown(&other.entries)
    ))
}

fn rule(limit: Limit) -> Result<Rule, String> {
    let Limit { namespace, max_value, seconds, name, conditions, variables, others } = limit;
    if let Some(key) = others.keys().find(|key| *key != "id") {
        return Err(format!("Anteroom has nothing like `{key}`"));
    }
    let mut entries = Vec::new();
    for condition in conditions.unwrap_or_default() {
        let entry = equality(&condition);
        entries.push(
            entry.ok_or(format!(
                "the condition `{condition}` is not of the form `entry == 'value'`"
            ))?,
        );
    }
    for variable in variables.unwrap_or_default() {
        let key = entry_key(&variable);
        let key =
            key.ok_or(format!("the variable `{variable}` is not an entry of the descriptor"))?;
        entries.push(EntryConfig { key, value: None, prefix: None });
    }
    if entries.is_empty() {
        return Err("without conditions and variables it applies to every request; a descriptor \
                    needs an entry"
            .to_owned());
    }
    let window = Duration::from_secs(seconds);
    match out_of_bounds(max_value, window) {
        Some(why) => Err(why),
        None => {
            Ok(Rule { name, domain: namespace, entries, limit: max_value, window, shadow: false })
        }
    }
}

/// `descriptors[0]['method'] == 'GET'`, `descriptors[0].method == "GET"` or `method == 'GET'`.
fn equality(condition: &str) -> Option<EntryConfig> {
    let (left, right) = condition.split_once("==")?;
    let value = quoted(right.trim())?;
    let key = entry_key(left.trim())?;
    Some(EntryConfig { key, value: Some(value.to_owned()), prefix: None })
}

/// `descriptors[0]['user']`, `descriptors[0].user` or `user`.
fn entry_key(text: &str) -> Option<String> {
    let text = text.trim();
    let key = match text.strip_prefix("descriptors[0]") {
        Some(rest) => match rest.strip_prefix('.') {
            Some(field) => field,
            None => quoted(rest.strip_prefix('[')?.strip_suffix(']')?.trim())?,
        },
        None => text,
    };
    let is_key = |char: char| char.is_ascii_alphanumeric() || "_-.:".contains(char);
    (!key.is_empty() && key.chars().all(is_key)).then(|| key.to_owned())
}

fn quoted(text: &str) -> Option<&str> {
    let inside = ['\'', '"'].iter().find_map(|quote| {
        let inside = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inside.contains(*quote) && !inside.contains('\\')).then_some(inside)
    });
    inside.filter(|inside| !inside.is_empty())
}
