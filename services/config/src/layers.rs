//! The layers of the configuration: the defaults, the file and the environment, apart (to show
//! where a value comes from) and merged.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use anteroom_core::store::redacted;
use config::{Map, Value, ValueKind};

use crate::{
    default::DEFAULT_TOML,
    document::{Document, find},
    environment,
    error::{ConfigError, Fault},
    read::read_as,
    secrets, section,
    sections::{Config, Sections},
};

/// Where a value comes from.
pub(crate) enum Source<'a> {
    Default,
    File(&'a Path),
    /// The table `[SECTION."*"]` of the file.
    DefaultsInFile(&'a Path, String),
    Variable(String),
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File(file) => file.display().fmt(formatter),
            Self::DefaultsInFile(file, section) => {
                write!(formatter, "{}, [{section}.\"*\"]", file.display())
            }
            Self::Variable(name) => formatter.write_str(name),
        }
    }
}

pub(crate) struct Layers {
    file: Option<(PathBuf, Value)>,
    environment: Map<String, Value>,
    merged: Value,
}

impl Layers {
    pub fn read(
        file: Option<&Path>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, ConfigError> {
        // The text is part of the program, and a test loads it.
        let mut builder = config::Config::builder()
            .add_source(Document::parse(DEFAULT_TOML).map_err(ConfigError::new)?);
        let mut in_file = None;
        if let Some(path) = file {
            let document = Document::read(path)?;
            let root = document.root();
            secrets::refuse_in_file(path, &root)?;
            builder = builder.add_source(document);
            in_file = Some((path.to_owned(), root));
        }
        let failed = |error: config::ConfigError| ConfigError::new(error.to_string());
        let environment = environment::layer(environment)?;
        for (key, value) in &environment {
            builder = builder.set_override(key, value.clone()).map_err(failed)?;
        }
        let merged = builder.build().map_err(failed)?.cache;
        Ok(Self { file: in_file, environment, merged })
    }

    /// The values, each under its own rule.
    pub fn typed(&self) -> Result<Config, Fault> {
        read_as::<Sections>(self.merged.clone(), "")?.typed()
    }

    /// The names in a section such as `queues`, without that of the defaults.
    pub fn names(&self, section: &str) -> Vec<&str> {
        let Some(ValueKind::Table(tables)) = find(&self.merged, section).map(|it| &it.kind) else {
            return Vec::new();
        };
        let mut names: Vec<_> =
            tables.keys().map(String::as_str).filter(|name| *name != section::EVERY).collect();
        names.sort_unstable();
        names
    }

    /// The value in force of a key, with its source. A key that an entity does not set has the
    /// value and the source of its default.
    pub fn find(&self, key: &str) -> (Option<&Value>, Source<'_>) {
        let (own, default) = (find(&self.merged, key), section::default_of(key));
        match default {
            Some(default) if own.is_none() && !self.replaces_table(key) => {
                let source = match self.source(&default) {
                    Source::File(file) => {
                        let section = default.split('.').next().unwrap_or_default();
                        Source::DefaultsInFile(file, section.to_owned())
                    }
                    source => source,
                };
                (find(&self.merged, &default), source)
            }
            _ => (own, self.source(key)),
        }
    }

    /// Whether the key is in a table of the entity, such as `adaptive`. It is taken as a whole.
    fn replaces_table(&self, key: &str) -> bool {
        let parent = key.rsplit_once('.').map_or("", |(parent, _)| parent);
        parent.matches('.').count() > 1 && find(&self.merged, parent).is_some()
    }

    fn source(&self, path: &str) -> Source<'_> {
        if self.environment.contains_key(path) {
            return Source::Variable(environment::variable(path));
        }
        let file = self.file.as_ref().filter(|(_, root)| find(root, path).is_some());
        file.map_or(Source::Default, |(file, _)| Source::File(file))
    }

    /// The fault in one line: the key, its value, where it came from, the rule.
    pub fn report(&self, fault: &Fault) -> ConfigError {
        let key = &fault.key;
        let (value, source) = self.find(key);
        let source = match source {
            Source::Default => String::new(),
            source => format!(" ({source})"),
        };
        let value = match value {
            _ if !fault.shows_value => String::new(),
            value if secrets::is_secret(key, value) => " = [hidden]".to_owned(),
            Some(value) => shown(value).map(|value| format!(" = {value}")).unwrap_or_default(),
            None => String::new(),
        };
        // An empty name would not be seen.
        let key = if key.trim().is_empty() { "\"\"" } else { key };
        ConfigError::new(format!("{key}{value}{source}: {}", fault.rule))
    }
}

/// A value as it may stand in an error: short, on one line, without a password.
fn shown(value: &Value) -> Option<String> {
    let text = match &value.kind {
        ValueKind::Nil | ValueKind::Table(_) => return None,
        ValueKind::String(text) => {
            redacted(text).map_or_else(|| "[hidden]".to_owned(), |text| format!("{text:?}"))
        }
        ValueKind::Float(number) => format!("{number:?}"),
        ValueKind::Array(values) => {
            let values: Vec<String> = values.iter().filter_map(shown).collect();
            format!("[{}]", values.join(", "))
        }
        other => other.to_string(),
    };
    if text.chars().count() <= 120 {
        return Some(text);
    }
    Some(text.chars().take(117).chain("...".chars()).collect())
}
