//! Defaults → file → environment, merged and read into types.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use config::{Map, Value, ValueKind};

use crate::{
    default::DEFAULT_TOML,
    document::{Document, find},
    environment,
    error::{ConfigError, Fault},
    published::{self, Accepted},
    read::read_as,
    secrets, section,
    sections::{Config, Sections},
    service::Service,
};

/// Where a configuration comes from; loads it again and again in the same way.
#[derive(Clone, Default)]
pub struct Loader {
    file: Option<PathBuf>,
    environment: BTreeMap<String, String>,
    service: Option<Service>,
    published: Accepted,
}

/// Without the values of the variables, for some are secrets.
impl fmt::Debug for Loader {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter
            .debug_struct("Loader")
            .field("file", &self.file)
            .field("environment", &self.environment.keys())
            .field("service", &self.service)
            .finish()
    }
}

impl Loader {
    /// The defaults and this file, without any environment.
    pub fn new(file: Option<&Path>) -> Self {
        Self { file: file.map(Path::to_owned), ..Self::default() }
    }

    /// Adds these variables; those that are not ours are ignored.
    pub fn environment<N: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.environment.extend(variables.filter(|(name, _)| environment::is_ours(name)));
        self
    }

    /// Adds the environment of this process, as it is now.
    pub fn process_environment(mut self) -> Result<Self, ConfigError> {
        for (name, value) in std::env::vars_os() {
            let Some(name) = name.to_str().filter(|name| environment::is_ours(name)) else {
                continue;
            };
            let value = value
                .into_string()
                .map_err(|_| ConfigError::new(format!("{name}: must be valid UTF-8")))?;
            self.environment.insert(name.to_owned(), value);
        }
        Ok(self)
    }

    /// Reads and checks only what this service needs: a scheduler has no token secrets.
    pub fn service(mut self, service: Service) -> Self {
        self.service = Some(service);
        self
    }

    /// Refuses published secrets even if the ports are loopback addresses: the configuration may be
    /// for another machine, whose environment sets them.
    pub fn for_any_machine(self) -> Self {
        Self { published: Accepted::ForDevelopment, ..self }
    }

    /// Loads for a process that runs with this configuration: what takes effect only after a
    /// restart decides as it was at the start.
    pub fn after_start(mut self, running: &Config) -> Self {
        self.published = self.published.at_start(running, self.service);
        self
    }

    /// The service that this is for, if it is for one only.
    pub fn for_service(&self) -> Option<Service> {
        self.service
    }

    /// The files that a configuration came from: its own, then those with secrets.
    pub fn files(&self, config: &Config) -> Vec<PathBuf> {
        self.file.iter().cloned().chain(config.secret_files(self.service)).collect()
    }

    /// Reads everything and checks it.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let layers = Layers::read(self)?;
        layers.typed().and_then(|config| self.finish(config)).map_err(|fault| layers.report(&fault))
    }

    fn finish(&self, mut config: Config) -> Result<Config, Fault> {
        config.store.read_secrets()?;
        if self.service.is_none_or(|service| service == Service::Admission) {
            config.admission.read_secrets()?;
        }
        if self.service.is_none_or(|service| service == Service::Issuer) {
            for (name, event) in &mut config.events {
                event.read_secrets(&format!("events.{name}.secret"))?;
            }
        }
        config.check(self.service)?;
        published::check(&config, self.service, self.published)?;
        Ok(config)
    }
}

impl Config {
    /// Defaults, then the file, then the environment of this process; all secret files are read
    /// and everything is checked, for every service.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        Loader::new(file).process_environment()?.load()
    }
}

/// The layers, apart (to show where a value came from) and merged.
struct Layers {
    file: Option<(PathBuf, Value)>,
    environment: Map<String, Value>,
    merged: Value,
}

impl Layers {
    fn read(loader: &Loader) -> Result<Self, ConfigError> {
        // The text is part of the program, and a test loads it.
        let mut builder = config::Config::builder()
            .add_source(Document::parse(DEFAULT_TOML).map_err(ConfigError::new)?);
        let mut file = None;
        if let Some(path) = &loader.file {
            let document = Document::read(path)?;
            let root = document.root();
            secrets::refuse_in_file(path, &root)?;
            builder = builder.add_source(document);
            file = Some((path.clone(), root));
        }
        let failed = |error: config::ConfigError| ConfigError::new(error.to_string());
        let environment = environment::layer(&loader.environment)?;
        for (key, value) in &environment {
            builder = builder.set_override(key, value.clone()).map_err(failed)?;
        }
        let merged = builder.build().map_err(failed)?.cache;
        Ok(Self { file, environment, merged })
    }

    /// The values, each under its own rule.
    fn typed(&self) -> Result<Config, Fault> {
        read_as::<Sections>(self.merged.clone(), "")?.typed()
    }

    /// The fault in one line: the key, its value, where it came from, the rule.
    fn report(&self, fault: &Fault) -> ConfigError {
        let key = &fault.key;
        let mut path = key.clone();
        let mut value = find(&self.merged, &path);
        if let (None, Some(default)) = (value, section::default_of(key)) {
            value = find(&self.merged, &default);
            path = default;
        }
        let origin = if self.environment.contains_key(&path) {
            format!(" ({})", environment::variable(&path))
        } else {
            let file = self.file.as_ref().filter(|(_, root)| find(root, &path).is_some());
            file.map(|(file, _)| format!(" ({})", file.display())).unwrap_or_default()
        };
        let value = match value {
            _ if !fault.shows_value => String::new(),
            value if secrets::is_secret(key, value) => " = [hidden]".to_owned(),
            Some(value) => shown(value).map(|value| format!(" = {value}")).unwrap_or_default(),
            None => String::new(),
        };
        // An empty name would not be seen.
        let key = if key.trim().is_empty() { "\"\"" } else { key };
        ConfigError::new(format!("{key}{value}{origin}: {}", fault.rule))
    }
}

/// A value as it may stand in an error: short, on one line, without a password.
fn shown(value: &Value) -> Option<String> {
    let text = match &value.kind {
        ValueKind::Nil | ValueKind::Table(_) => return None,
        ValueKind::String(text) => secrets::without_password(text),
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
