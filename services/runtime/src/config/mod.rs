//! The configuration of all services: typed, strict, and documented by `default.toml`.
//!
//! Every value is checked where it is read; what is refused is told in one line with the key, the
//! value and the rule ([`ConfigError`]). Secrets come from the environment or from files, and are
//! never printed.

mod adaptive;
mod admission;
mod breaker;
mod cookie_domain;
mod document;
mod endpoint;
mod environment;
mod error;
mod event;
mod issuer;
mod keys;
mod limit;
mod load;
mod log;
mod moment;
mod networks;
mod origin;
mod parse;
mod pool;
mod published;
mod queue;
mod read;
pub mod reload;
mod scheduler;
mod secrets;
mod section;
mod store;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;

pub use adaptive::AdaptiveConfig;
pub use admission::AdmissionConfig;
pub use breaker::BreakerConfig;
pub use endpoint::{Endpoint, EndpointError, Guard};
pub use error::ConfigError;
pub use event::EventConfig;
pub use issuer::IssuerConfig;
pub use keys::{Digest, KeyConfig, Role, Scope};
pub use limit::{LimitConfig, LimitWithoutStore};
pub use load::Loader;
pub use log::{Level, LogConfig, LogFormat};
pub use moment::Moment;
pub use origin::{AllowedOrigin, Origin};
pub use pool::PoolConfig;
pub use queue::{OnStoreError, PublicUrl, QueueConfig, Rate, WithoutStore};
pub use scheduler::SchedulerConfig;
pub use store::{Address, StoreConfig, StoreMode};

pub(crate) use error::Fault;
use section::Tables;

use crate::Service;

/// The defaults, which are also the documentation of every key.
pub const DEFAULT_TOML: &str = include_str!("default.toml");

/// The whole configuration, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the store is.
    pub store: StoreConfig,
    /// What is logged.
    pub log: LogConfig,
    /// Who may call the service port, by name.
    pub keys: BTreeMap<String, KeyConfig>,
    /// The HTTP face.
    pub admission: AdmissionConfig,
    /// The ticks.
    pub scheduler: SchedulerConfig,
    /// The job processor.
    pub issuer: IssuerConfig,
    /// The waiting rooms, by name.
    pub queues: BTreeMap<String, QueueConfig>,
    /// The limits, by name.
    pub limits: BTreeMap<String, LimitConfig>,
    /// The success-rate windows, by name.
    pub targets: BTreeMap<String, BreakerConfig>,
    /// The events, by name.
    pub events: BTreeMap<String, EventConfig>,
    /// The pools, by name.
    pub pools: BTreeMap<String, PoolConfig>,
}

/// The same as it stands in the merged layers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sections {
    store: StoreConfig,
    log: LogConfig,
    #[serde(default)]
    keys: BTreeMap<String, KeyConfig>,
    admission: AdmissionConfig,
    scheduler: SchedulerConfig,
    issuer: IssuerConfig,
    queues: Tables,
    limits: Tables,
    targets: Tables,
    events: Tables,
    pools: Tables,
}

impl Sections {
    /// Each entity over the defaults of its kind.
    fn typed(self) -> Result<Config, Fault> {
        Ok(Config {
            store: self.store,
            log: self.log,
            keys: self.keys,
            admission: self.admission,
            scheduler: self.scheduler,
            issuer: self.issuer,
            queues: section::read(self.queues)?,
            limits: section::read(self.limits)?,
            targets: section::read(self.targets)?,
            events: section::read(self.events)?,
            pools: section::read(self.pools)?,
        })
    }
}

impl Config {
    /// Defaults, then the file, then the environment of this process; all secret files are read
    /// and everything is checked, for every service.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        Loader::new(file).process_environment()?.load()
    }

    /// The store, in the words of `anteroom_core`.
    pub fn store(&self) -> anteroom_core::store::Config {
        self.store.to_core()
    }

    /// What is allowed, but not for production, as seen by a service: one line each.
    pub fn warnings(&self, service: Service) -> Vec<String> {
        let mut warnings = Vec::new();
        if service == Service::Admission {
            warnings.extend(self.admission.warnings(!self.keys.is_empty()));
            warnings.extend(queue::warning(&self.queues, self.admission.listen));
        }
        if service == Service::Issuer {
            for (name, event) in &self.events {
                let key = format!("events.{name}.secret_file");
                warnings.extend(secrets::weak(&event.secrets, &key));
            }
        }
        if service == Service::Issuer && self.events.is_empty() {
            warnings.push("no [events.*] are declared: there is nothing to issue".to_owned());
        }
        if service != Service::Issuer && self.declares_nothing() {
            warnings.push("no [queues.*] are declared: there is nothing to wait for".to_owned());
        }
        warnings
    }

    /// Whether nothing is declared: no queue, limit, target, event or pool.
    pub fn declares_nothing(&self) -> bool {
        self.queues.is_empty()
            && self.limits.is_empty()
            && self.targets.is_empty()
            && self.events.is_empty()
            && self.pools.is_empty()
    }

    /// Keys that differ from `running` and take effect only after a restart of the service.
    pub fn needs_restart(&self, running: &Self, service: Service) -> Vec<&'static str> {
        let mut keys = Vec::new();
        keys.extend((!self.store.same(&running.store)).then_some("store"));
        keys.extend((self.log != running.log).then_some("log"));
        match service {
            Service::Admission => keys.extend(self.admission.needs_restart(&running.admission)),
            Service::Scheduler => keys.extend(self.scheduler.needs_restart(&running.scheduler)),
            Service::Issuer => keys.extend(self.issuer.needs_restart(&running.issuer)),
        }
        keys
    }

    /// The files that hold secrets for a service; for all of them when none is named.
    fn secret_files(&self, service: Option<Service>) -> Vec<PathBuf> {
        let mut files = vec![&self.store.password_file];
        if service.is_none_or(|service| service == Service::Admission) {
            files.push(&self.admission.token_secrets_file);
            files.push(&self.admission.identity_secrets_file);
        }
        if service.is_none_or(|service| service == Service::Issuer) {
            files.extend(self.events.values().map(|event| &event.secret_file));
        }
        files.into_iter().flatten().cloned().collect()
    }

    /// The rules between keys and between sections.
    fn check(&self, service: Option<Service>) -> Result<(), Fault> {
        self.store.check()?;
        keys::check(self.keys.iter())?;
        for name in self.keys.keys() {
            check_name(name, "keys")?;
        }
        queue::check_targets(&self.queues, &self.targets)?;
        self.admission.check()?;
        if service.is_none_or(|service| service == Service::Admission) {
            self.admission.check_serving(!self.keys.is_empty())?;
        }
        Ok(())
    }
}

/// Whether a name is `[a-z0-9-]{1,40}`.
pub fn is_name(name: &str) -> bool {
    (1..=40).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

fn check_name(name: &str, section: &str) -> Result<(), Fault> {
    let rule = "the name must be 1 to 40 characters of a-z, 0-9 and -";
    Fault::unless(is_name(name), &format!("{section}.{name}"), rule)
}
