//! The variables `ANTEROOM_<SECTION>__<KEY>`.

use std::collections::BTreeMap;

use config::{Map, Value, ValueKind};

use crate::{
    default::{DocumentedKey, documented},
    error::ConfigError,
    parse,
};

/// What all our variables start with.
const PREFIX: &str = "ANTEROOM_";
/// What stands between section, name and key.
const SEPARATOR: &str = "__";

/// The variables as a layer, by key. Empty ones count as not set.
pub(crate) fn values(
    environment: &BTreeMap<String, String>,
) -> Result<Map<String, Value>, ConfigError> {
    let keys = keys_of(environment)?.into_iter().filter(|(_, text)| !text.is_empty());
    Ok(keys.map(|(key, text)| (key.clone(), Value::new(None, typed(&key, text)))).collect())
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

/// Takes the variables that are keys. All keys stand in a section, so they have the separator;
/// without it it may be `ANTEROOM_CONFIG`, or one of those that Kubernetes makes up for a Service
/// of our name, such as `ANTEROOM_ADMISSION_PORT`; unless it looks like a key but for the
/// separator.
fn keys_of(environment: &BTreeMap<String, String>) -> Result<BTreeMap<String, &str>, ConfigError> {
    let mut keys = BTreeMap::new();
    for (name, value) in environment {
        let rest = &name[PREFIX.len()..];
        if !rest.contains(SEPARATOR) {
            let key = rest.to_ascii_lowercase();
            if let Some(meant) = documented().find(|it| key == format!("{}_{}", it.section, it.key))
            {
                let variable = variable(&format!("{}.{}", meant.section, meant.key));
                return Err(ConfigError::new(format!("{name}: is not read; write {variable}")));
            }
            continue;
        }
        let parts = rest.split(SEPARATOR);
        let is_key = |part: &str| {
            let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            !part.is_empty() && part.bytes().all(good)
        };
        if !parts.clone().all(is_key) || parts.count() > 3 {
            let rule = "must be ANTEROOM_<SECTION>__<KEY> or ANTEROOM_<SECTION>__<NAME>__<KEY>";
            return Err(ConfigError::new(format!("{name}: {rule}")));
        }
        known_section(name)?;
        keys.insert(rest.to_ascii_lowercase().replace(SEPARATOR, "."), value.as_str());
    }
    Ok(keys)
}

/// Refuses a variable of a section that there is not. The loader would name the section only, and
/// nobody finds that in a file.
fn known_section(name: &str) -> Result<(), ConfigError> {
    let (section, key) = name[PREFIX.len()..].split_once(SEPARATOR).unwrap_or_default();
    let section = section.to_ascii_lowercase();
    let mut sections: Vec<&str> = Vec::new();
    for DocumentedKey { section: known, .. } in documented() {
        let known = known.split('.').next().unwrap_or(known);
        if !sections.contains(&known) {
            sections.push(known);
        }
    }
    if sections.contains(&section.as_str()) {
        return Ok(());
    }
    let meant = sections.iter().map(|known| (distance(&section, known), known)).min();
    let hint = match meant {
        Some((steps, known)) if steps <= 2 && 2 * steps < section.len() => {
            format!(": write {}", variable(&format!("{known}.{key}")))
        }
        _ => format!(", only {}", sections.join(", ")),
    };
    Err(ConfigError::new(format!("{name}: there is no section \"{section}\"{hint}")))
}

/// How many characters must be put in, left out or changed to make one of the other (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, left) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (at, right) in other.bytes().enumerate() {
            let changed = diagonal + usize::from(left != right);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}

/// The name of the variable for a key.
pub(crate) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', SEPARATOR).to_ascii_uppercase())
}
