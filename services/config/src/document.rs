//! A TOML file as a layer of the configuration.
//!
//! The `config` crate reads TOML too. But it reports a number that is too large without its key,
//! quotes the line of a syntax error, which may contain a secret, and reads a file of any size. So
//! the file is read here: such a number becomes a float, which the rule of its key then refuses.

use std::path::Path;

use config::{Map, Source, Value, ValueKind};
use toml::de::{DeTable, DeValue};

use crate::{error::ConfigError, read::bounded};

/// The most that the file may hold, so that a wrong path cannot fill the memory.
pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The values of a TOML text.
#[derive(Clone, Debug)]
pub(crate) struct Document(Map<String, Value>);

impl Document {
    /// Reads a file; an error names it.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let refused = |rule: String| ConfigError::new(format!("{}: {rule}", path.display()));
        let text = bounded(path, MAX_FILE_BYTES).map_err(refused)?;
        let text =
            text.ok_or_else(|| refused(format!("must be at most {MAX_FILE_BYTES} bytes")))?;
        Self::parse(&text).map_err(refused)
    }

    /// Reads a text; the error says where and why, without the line itself.
    pub fn parse(text: &str) -> Result<Self, String> {
        let root = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start.min(text.len()));
            let before = text.get(..at).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let key = error.span().and_then(|span| text.get(span)).filter(|key| is_bare(key));
            let key = key.filter(|_| error.message() == "duplicate key");
            let key = key.map(|key| format!(" {key}")).unwrap_or_default();
            format!("line {line}: not valid TOML: {}{key}", error.message())
        })?;
        Ok(Self(table(root.into_inner())))
    }

    /// The same as one value.
    pub fn root(&self) -> Value {
        Value::new(None, ValueKind::Table(self.0.clone()))
    }
}

impl Source for Document {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        Ok(self.0.clone())
    }
}

/// The value at a path such as `admission.trusted_proxies[1]`.
pub(crate) fn find<'a>(root: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(root, |value, step| {
        let (key, index) = match step.split_once('[') {
            Some((key, index)) => (key, index.trim_end_matches(']').parse::<usize>().ok()),
            None => (step, None),
        };
        let ValueKind::Table(table) = &value.kind else { return None };
        let value = table.get(key)?;
        match (index, &value.kind) {
            (Some(index), ValueKind::Array(values)) => values.get(index),
            _ => Some(value),
        }
    })
}

/// Whether it is a key that TOML allows without quotes. A key of a section is no secret.
fn is_bare(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=40).contains(&text.len()) && text.bytes().all(is_plain)
}

fn table(table: DeTable<'_>) -> Map<String, Value> {
    let values = table.into_iter();
    values.map(|(key, it)| (key.into_inner().into_owned(), value(it.into_inner()))).collect()
}

fn value(given: DeValue<'_>) -> Value {
    let float = |text: &str| text.parse().unwrap_or(f64::NAN);
    let kind = match given {
        DeValue::String(text) => ValueKind::String(text.into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(whole) => ValueKind::I64(whole),
            Err(_) => ValueKind::Float(float(number.as_str())),
        },
        DeValue::Float(number) => ValueKind::Float(float(number.as_str())),
        DeValue::Boolean(flag) => ValueKind::Boolean(flag),
        DeValue::Datetime(moment) => ValueKind::String(moment.to_string()),
        DeValue::Array(values) => {
            ValueKind::Array(values.into_iter().map(|it| value(it.into_inner())).collect())
        }
        DeValue::Table(values) => ValueKind::Table(table(values)),
    };
    Value::new(None, kind)
}
