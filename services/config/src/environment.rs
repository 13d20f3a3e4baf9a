//! The variables `ANTEROOM_<SECTION>__<KEY>`.
//!
//! The `config` crate collects them. What it cannot do is done here: it takes any name, so each is
//! checked first, and the error proposes the name that was meant. And its `try_parsing` would turn
//! the password "007" into 7, so a text becomes a number only if the defaults file shows one there.

use std::collections::BTreeMap;

use config::{Environment, Map, Source as _, Value, ValueKind};
use strsim::levenshtein;

use crate::{
    default::{DocumentedKey, documented},
    error::ConfigError,
    parse,
};

/// What all our variables start with.
const PREFIX: &str = "ANTEROOM_";
/// What is between section, name and key.
const SEPARATOR: &str = "__";

/// The variables as a layer, by key. Empty ones count as not set.
///
/// # Errors
///
/// When a name is no key, or looks like one that is written in another way.
pub(crate) fn layer(
    environment: &BTreeMap<String, String>,
) -> Result<Map<String, Value>, ConfigError> {
    environment.keys().try_for_each(|name| check(name))?;
    let keys = environment.iter().filter(|(name, _)| name.contains(SEPARATOR));
    let keys = keys.map(|(name, text)| (name.clone(), text.clone())).collect();
    let variables = Environment::with_prefix(PREFIX)
        .prefix_separator("")
        .separator(SEPARATOR)
        .ignore_empty(true)
        .source(Some(keys))
        .collect()
        .map_err(|error| ConfigError::new(error.to_string()))?;
    let typed = |(key, value): (String, Value)| {
        let text = value.into_string().unwrap_or_default();
        let kind = typed(&key, &text);
        (key, Value::new(None, kind))
    };
    Ok(variables.into_iter().map(typed).collect())
}

/// A variable is text: where the defaults file shows a number or a flag, it is read as one. What is
/// none stays text, and the rule of the key refuses it. So "007" is a password here and the number
/// 7 there.
fn typed(key: &str, text: &str) -> ValueKind {
    let (section, name) = (key.split('.').next(), key.rsplit('.').next());
    let is_key = |found: &DocumentedKey| {
        found.section.split('.').next() == section && Some(found.key) == name
    };
    let shown = documented().find(is_key).map_or("", |found| found.value);
    let read = match shown.bytes().next() {
        Some(b'0'..=b'9') if shown.contains('.') => text.parse().ok().map(ValueKind::Float),
        Some(b'0'..=b'9') => parse::integer(text).map(ValueKind::I64),
        Some(b't' | b'f') => text.parse().ok().map(ValueKind::Boolean),
        _ => None,
    };
    read.unwrap_or_else(|| ValueKind::String(text.to_owned()))
}

/// Whether a variable starts like ours.
pub(crate) fn is_ours(name: &str) -> bool {
    name.to_ascii_uppercase().starts_with(PREFIX)
}

/// Refuses a name that is no key. All keys are in a section, so they have the separator. Without it
/// it may be `ANTEROOM_CONFIG`, or a variable that Kubernetes makes for a Service of our name, such
/// as `ANTEROOM_ADMISSION_PORT`, unless it is a key but for the separator.
fn check(name: &str) -> Result<(), ConfigError> {
    let rest = name[PREFIX.len()..].to_ascii_lowercase();
    let Some((section, key)) = rest.split_once(SEPARATOR) else {
        let meant = documented().find(|it| rest == format!("{}_{}", it.section, it.key));
        return meant.map_or(Ok(()), |it| {
            let variable = variable(&format!("{}.{}", it.section, it.key));
            Err(ConfigError::new(format!("{name}: is not read; write {variable}")))
        });
    };
    let is_part = |part: &str| {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        !part.is_empty() && part.bytes().all(good)
    };
    let parts = rest.split(SEPARATOR);
    if !parts.clone().all(is_part) || parts.count() > 3 {
        let rule = "must be ANTEROOM_<SECTION>__<KEY> or ANTEROOM_<SECTION>__<NAME>__<KEY>";
        return Err(ConfigError::new(format!("{name}: {rule}")));
    }
    let mut sections: Vec<&str> =
        documented().filter_map(|it| it.section.split('.').next()).collect();
    sections.dedup();
    if sections.contains(&section) {
        return Ok(());
    }
    // The loader would name the section only, which no one can find in a file.
    let meant = sections.iter().map(|known| (levenshtein(section, known), known)).min();
    let hint = match meant {
        Some((steps, known)) if steps <= 2 && 2 * steps < section.len() => {
            format!(": write {}", variable(&format!("{known}.{key}")))
        }
        _ => format!(", only {}", sections.join(", ")),
    };
    Err(ConfigError::new(format!("{name}: there is no section \"{section}\"{hint}")))
}

/// The name of the variable for a key.
pub(crate) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', SEPARATOR).to_ascii_uppercase())
}
