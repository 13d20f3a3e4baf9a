//! The configuration in force as TOML, with the origin of each value, for `--print-config`.

use std::fmt::Write as _;

use anteroom_core::store::redacted;
use config::{Value, ValueKind};

use crate::{
    default::{DocumentedKey, documented},
    layers::Layers,
    secrets,
};

/// What is in the place of a secret.
const HIDDEN: &str = "[hidden]";
/// The column of the origins, if the values are short.
const ORIGIN: usize = 40;

/// All values, in the order of the defaults file. Unset keys are left out.
pub(crate) fn of(layers: &Layers) -> String {
    let documented: Vec<_> = documented().collect();
    let sections = documented.chunk_by(|one, next| one.section == next.section);
    sections.map(|keys| of_section(layers, keys)).collect()
}

/// A section, or the same section of each entity: `[queues."*".adaptive]` is documented once.
fn of_section(layers: &Layers, keys: &[DocumentedKey]) -> String {
    let documented = keys.first().map_or("", |key| key.section);
    let mut parts = documented.split('.');
    let (section, is_named) = (parts.next().unwrap_or_default(), parts.next().is_some());
    if !is_named {
        return of_table(layers, section, keys);
    }
    let rest: String = parts.map(|part| format!(".{part}")).collect();
    let names = layers.names(section).into_iter();
    names.map(|name| of_table(layers, &format!("{section}.{name}{rest}"), keys)).collect()
}

fn of_table(layers: &Layers, table: &str, keys: &[DocumentedKey]) -> String {
    let mut lines = String::new();
    for DocumentedKey { key, .. } in keys {
        let path = format!("{table}.{key}");
        let (Some(value), source) = layers.find(&path) else { continue };
        let shown = if secrets::is_secret(&path, Some(value)) {
            toml::Value::from(HIDDEN)
        } else {
            toml(value)
        };
        // Writing to a text cannot fail.
        let _ = writeln!(lines, "{:ORIGIN$} # {source}", format!("{key} = {shown}"));
    }
    if lines.is_empty() { lines } else { format!("\n[{table}]\n{lines}") }
}

fn toml(value: &Value) -> toml::Value {
    match &value.kind {
        ValueKind::Boolean(flag) => (*flag).into(),
        ValueKind::I64(number) => (*number).into(),
        ValueKind::Float(number) => (*number).into(),
        ValueKind::Array(values) => values.iter().map(toml).collect::<Vec<_>>().into(),
        ValueKind::Table(table) => {
            let entries = table.iter().map(|(key, value)| (key.clone(), toml(value)));
            entries.collect::<toml::Table>().into()
        }
        ValueKind::String(text) => shown(text).into(),
        other => other.to_string().into(),
    }
}

/// A text without the password and the query of an address: a webhook's query may be its key.
fn shown(text: &str) -> String {
    match (redacted(text), text.split_once('?')) {
        (None, _) => HIDDEN.to_owned(),
        (Some(_), Some((address, _))) if address.contains("://") => format!("{address}?{HIDDEN}"),
        (Some(text), _) => text,
    }
}
