//! The whole configuration: its sections, read from the merged layers, and the rules between them.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf};

use anteroom_core::Kind;
use serde::Deserialize;

use crate::{
    admission::AdmissionConfig,
    envoy::EnvoyConfig,
    error::Fault,
    issuer::IssuerConfig,
    keys::{self, KeyConfig},
    log::LogConfig,
    name::check_name,
    queue,
    scheduler::SchedulerConfig,
    secrets,
    section::{self, Tables},
    service::Service,
    store::StoreConfig,
};

/// The types of the sections: those that are there once, and one for each kind.
macro_rules! sections {
    (; $(($module:ident $handle:ident $name:ident $section:ident))+) => {
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
            /// The gRPC service for Envoy.
            pub envoy: EnvoyConfig,
            $(
                #[doc = concat!("`[", stringify!($section), ".NAME]`, by name.")]
                pub $section: BTreeMap<String, <anteroom_core::$module::$handle as Section>::Table>,
            )+
        }

        /// The same as it is in the merged layers.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct Sections {
            store: StoreConfig,
            log: LogConfig,
            #[serde(default)]
            keys: BTreeMap<String, KeyConfig>,
            admission: AdmissionConfig,
            scheduler: SchedulerConfig,
            issuer: IssuerConfig,
            envoy: EnvoyConfig,
            $($section: Tables,)+
        }

        impl Sections {
            /// Each entity over the defaults of its kind.
            pub fn typed(self) -> Result<Config, Fault> {
                let Self { store, log, keys, admission, scheduler, issuer, envoy, $($section),+ } = self;
                $(let $section = section::read(stringify!($section), $section)?;)+
                Ok(Config { store, log, keys, admission, scheduler, issuer, envoy, $($section),+ })
            }
        }

        impl Config {
            /// Whether nothing is declared: no queue, limit, target, event or pool.
            pub fn declares_nothing(&self) -> bool {
                $(self.$section.is_empty())&&+
            }
        }

        $(impl Declared for anteroom_core::$module::$handle {
            fn declared(config: &Config) -> &BTreeMap<String, Self::Table> {
                &config.$section
            }
        })+
    };
}

anteroom_core::kinds!(sections! {});

/// A kind, and what the configuration has for each of its entities.
pub trait Section: Kind {
    /// One table, `[SECTION.NAME]`.
    type Table: Clone + Send + Sync + 'static;
}

/// The entities that the configuration declares. All kinds have this by core's list of them.
pub trait Declared: Section {
    /// Their tables, by name.
    fn declared(config: &Config) -> &BTreeMap<String, Self::Table>;
}

impl Config {
    /// The store, in the words of `anteroom_core`.
    pub fn store(&self) -> anteroom_core::store::Config {
        self.store.to_core()
    }

    /// Where the metrics port of a service listens.
    pub fn metrics_listen(&self, service: Service) -> SocketAddr {
        match service {
            Service::Admission => self.admission.metrics_listen,
            Service::Scheduler => self.scheduler.metrics_listen,
            Service::Issuer => self.issuer.metrics_listen,
            Service::Envoy => self.envoy.metrics_listen,
        }
    }

    /// What is allowed, but not for production, as seen by a service: one line each.
    pub fn warnings(&self, service: Service) -> Vec<String> {
        let mut warnings = Vec::new();
        if service == Service::Admission {
            warnings.extend(self.admission.warnings(!self.keys.is_empty()));
            warnings.extend(queue::warning(&self.queues, self.admission.listen));
        }
        if service == Service::Envoy {
            warnings
                .extend(secrets::weak(&self.admission.token_secrets, "admission.token_secrets"));
        }
        if service == Service::Issuer {
            for (name, event) in &self.events {
                let key = format!("events.{name}.secret_file");
                warnings.extend(secrets::weak(&event.secrets, &key));
            }
        }
        if service == Service::Issuer && self.events.is_empty() {
            warnings.push("no [events.*] are declared: the issuer has nothing to do".to_owned());
        }
        if service != Service::Issuer && self.declares_nothing() {
            warnings.push("no [queues.*] are declared: there is no waiting room".to_owned());
        }
        warnings
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
            Service::Envoy => keys.extend(self.envoy.needs_restart(&running.envoy)),
        }
        keys
    }

    /// The files with secrets and pictures for a service; for all of them when none is named.
    pub(crate) fn named_files(&self, service: Option<Service>) -> Vec<PathBuf> {
        let mut files = vec![&self.store.password_file];
        if service.is_none_or(Service::signs_tokens) {
            files.push(&self.admission.token_secrets_file);
            files.push(&self.admission.identity_secrets_file);
        }
        let mut pictures = Vec::new();
        if service.is_none_or(|service| service == Service::Admission) {
            pictures.extend(self.queues.values().flat_map(|queue| queue.page.files()).cloned());
        }
        if service.is_none_or(|service| service == Service::Issuer) {
            files.extend(self.events.values().map(|event| &event.secret_file));
        }
        files.into_iter().flatten().cloned().chain(pictures).collect()
    }

    /// The rules between keys and between sections.
    pub(crate) fn check(&self, service: Option<Service>) -> Result<(), Fault> {
        self.store.check()?;
        keys::check(self.keys.iter())?;
        for name in self.keys.keys() {
            check_name(name, "keys")?;
        }
        queue::check_targets(&self.queues, &self.targets)?;
        self.admission.check()?;
        self.envoy.check(&self.limits)?;
        if service.is_none_or(|service| service == Service::Admission) {
            self.admission.check_serving(!self.keys.is_empty())?;
        }
        if service == Some(Service::Envoy) {
            Fault::unless(
                self.queues.is_empty() || !self.admission.token_secrets.is_empty(),
                "admission.token_secrets",
                "must not be empty while [queues.*] are declared: anteroom-envoy verifies the \
                 tokens that admission signs. Make a secret with \"head -c 33 /dev/urandom | \
                 base64\", and give it to both in ANTEROOM_ADMISSION__TOKEN_SECRETS or with \
                 token_secrets_file",
            )?;
        }
        Ok(())
    }
}
