//! The configuration of all services: typed, strict, and documented by `default.toml`.
//!
//! Every value is checked where it is read; what is refused is told in one line with the key, the
//! value and the rule ([`ConfigError`]). Secrets come from the environment or from files, and are
//! never printed.

mod admission;
mod document;
mod environment;
mod error;
mod keys;
mod load;
mod log;
mod moment;
mod parse;
mod queue;
pub mod reload;
mod scheduler;
mod secrets;
mod store;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

pub use admission::{AdmissionConfig, Origin};
pub use error::ConfigError;
pub use keys::{Digest, KeyConfig, Role, Scope};
pub use load::Loader;
pub use log::{Level, LogConfig, LogFormat};
pub use moment::Moment;
pub use queue::{OnStoreError, PublicUrl, QueueConfig, Rate, WithoutStore};
pub use scheduler::SchedulerConfig;
pub use store::{Address, StoreConfig, StoreMode};

pub(crate) use error::Fault;

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
    /// The waiting rooms, by name.
    pub queues: BTreeMap<String, QueueConfig>,
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
            let admission = &self.admission;
            if admission.token_secrets.is_empty() {
                warnings.push(
                    "admission.token_secrets is empty: tokens end with this process and no other \
                     replica knows them; allowed on a loopback address only"
                        .to_owned(),
                );
            }
            if self.keys.is_empty() {
                warnings.push(
                    "no [keys.*] are declared: whoever reaches the service port may do everything; \
                     allowed on a loopback address only"
                        .to_owned(),
                );
            }
            if !admission.secure_cookies {
                warnings.push(
                    "admission.secure_cookies is false: cookies go over plain HTTP".to_owned(),
                );
            }
            let is_local = |queue: &QueueConfig| match queue.public_url.url().host() {
                Some(url::Host::Domain(name)) => name == "localhost",
                Some(url::Host::Ipv4(address)) => address.is_loopback(),
                Some(url::Host::Ipv6(address)) => address.is_loopback(),
                None => false,
            };
            let local = self.queues.iter().find(|(_, queue)| is_local(queue));
            if let Some((name, _)) = local.filter(|_| !admission.listen.ip().is_loopback()) {
                warnings.push(format!(
                    "queues.{name}.public_url is a loopback address: visitors from elsewhere \
                     cannot reach the waiting page there"
                ));
            }
        }
        if self.queues.is_empty() {
            warnings.push("no [queues.*] are declared: there is nothing to wait for".to_owned());
        }
        warnings
    }

    /// Keys that differ from `running` and take effect only after a restart of the service.
    pub fn needs_restart(&self, running: &Self, service: Service) -> Vec<&'static str> {
        let (new, old) = (&self.admission, &running.admission);
        let admission = service == Service::Admission;
        let scheduler = service == Service::Scheduler;
        let metrics_listen = self.scheduler.metrics_listen == running.scheduler.metrics_listen;
        [
            ("store", self.store.same(&running.store)),
            ("log", self.log == running.log),
            ("admission.listen", !admission || new.listen == old.listen),
            ("admission.service_listen", !admission || new.service_listen == old.service_listen),
            ("admission.metrics_listen", !admission || new.metrics_listen == old.metrics_listen),
            ("admission.max_connections", !admission || new.max_connections == old.max_connections),
            (
                "admission.max_concurrent_requests",
                !admission || new.max_concurrent_requests == old.max_concurrent_requests,
            ),
            (
                "admission.first_byte_timeout",
                !admission || new.first_byte_timeout == old.first_byte_timeout,
            ),
            ("admission.header_timeout", !admission || new.header_timeout == old.header_timeout),
            ("admission.request_timeout", !admission || new.request_timeout == old.request_timeout),
            ("admission.write_timeout", !admission || new.write_timeout == old.write_timeout),
            ("admission.lane_bound", !admission || new.lane_bound == old.lane_bound),
            ("scheduler.metrics_listen", !scheduler || metrics_listen),
        ]
        .into_iter()
        .filter_map(|(key, same)| (!same).then_some(key))
        .collect()
    }

    /// The files that hold secrets for a service; for all of them when none is named.
    fn secret_files(&self, service: Option<Service>) -> Vec<PathBuf> {
        let mut files = vec![&self.store.password_file];
        if service.is_none_or(|service| service == Service::Admission) {
            files.push(&self.admission.token_secrets_file);
            files.push(&self.admission.identity_secrets_file);
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
        self.admission.check()?;
        for (name, queue) in &self.queues {
            check_name(name, "queues")?;
            queue.check().map_err(|fault| fault.within(&format!("queues.{name}")))?;
        }
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
