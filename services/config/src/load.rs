//! Defaults → file → environment, merged and read into types.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use crate::{
    environment,
    error::{ConfigError, Fault},
    layers::Layers,
    listing,
    published::{self, Accepted},
    sections::Config,
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

    /// The files that a configuration came from: its own, then those that it names.
    pub fn files(&self, config: &Config) -> Vec<PathBuf> {
        self.file.iter().cloned().chain(config.named_files(self.service)).collect()
    }

    /// Reads everything and checks it.
    pub fn load(&self) -> Result<Config, ConfigError> {
        self.read().map(|(config, _)| config)
    }

    /// Each value in force with its origin, as TOML. Secrets are hidden.
    ///
    /// # Errors
    ///
    /// Those of [`Self::load`].
    pub fn list(&self) -> Result<String, ConfigError> {
        self.read().map(|(_, layers)| listing::of(&layers))
    }

    fn read(&self) -> Result<(Config, Layers), ConfigError> {
        let layers = Layers::read(self.file.as_deref(), &self.environment)?;
        let config = layers.typed().and_then(|config| self.finish(config));
        config.map_err(|fault| layers.report(&fault)).map(|config| (config, layers))
    }

    fn finish(&self, mut config: Config) -> Result<Config, Fault> {
        config.store.read_secrets()?;
        if self.service.is_none_or(Service::signs_tokens) {
            config.admission.read_secrets()?;
        }
        if self.service.is_none_or(|service| service == Service::Admission) {
            for (name, queue) in &mut config.queues {
                queue.page.read_pictures(&format!("queues.{name}.page"))?;
            }
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
