//! `[store]`: where the store is, and its time budgets.

use std::{path::PathBuf, time::Duration};

use anteroom_core::store;
pub use anteroom_core::store::Address;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::{
    error::Fault,
    parse::{self, FromText},
    secrets,
};

/// The section `[store]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct StoreConfig {
    /// The one address, when `nodes` is empty.
    #[serde(deserialize_with = "parse::parsed")]
    pub url: Address,
    /// What the addresses are.
    #[serde(deserialize_with = "parse::parsed")]
    pub mode: StoreMode,
    /// Addresses of Sentinels or of cluster nodes.
    #[serde(deserialize_with = "parse::list::<_, _, 64>")]
    pub nodes: Vec<Address>,
    /// The name under which the Sentinels watch the primary.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub sentinel_master: Option<String>,
    /// ACL user.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub username: Option<String>,
    /// Password, from the environment or from `password_file`.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub password: Option<SecretString>,
    /// The file that holds the password.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub password_file: Option<PathBuf>,
    /// PEM file of the authorities that may sign the server's certificate.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub ca_file: Option<PathBuf>,
    /// How long one attempt to connect may take.
    #[serde(deserialize_with = "parse::span::<_, _, 10, 60_000>")]
    pub connect_timeout: Duration,
    /// How long one command may take.
    #[serde(deserialize_with = "parse::span::<_, _, 5, 30_000>")]
    pub command_timeout: Duration,
    /// How long one operation may take, with its repeat.
    #[serde(deserialize_with = "parse::span::<_, _, 5, 60_000>")]
    pub request_timeout: Duration,
}

/// What the addresses of the store are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMode {
    /// One server, or one address that always leads to the primary.
    Single,
    /// Sentinels.
    Sentinel,
    /// Nodes of a Redis Cluster.
    Cluster,
}

parse::words!(StoreMode { "single" => Single, "sentinel" => Sentinel, "cluster" => Cluster, });

impl FromText for Address {
    const RULE: &'static str = Self::RULE;

    fn from_text(text: &str) -> Option<Self> {
        Self::parse(text)
    }
}

impl StoreConfig {
    /// The addresses in use: `nodes`, or the one `url`.
    pub fn addresses(&self) -> &[Address] {
        if self.nodes.is_empty() { std::slice::from_ref(&self.url) } else { &self.nodes }
    }

    /// The same, in the words of the store.
    pub(crate) fn to_core(&self) -> store::Config {
        store::Config {
            urls: self.addresses().iter().map(|address| address.as_str().to_owned()).collect(),
            mode: match self.mode {
                StoreMode::Single => store::Mode::Single,
                StoreMode::Sentinel => store::Mode::Sentinel {
                    // `check` has made sure that there is one.
                    master: self.sentinel_master.clone().unwrap_or_default(),
                },
                StoreMode::Cluster => store::Mode::Cluster,
            },
            username: self.username.clone(),
            password: self.password.clone(),
            ca_file: self.ca_file.clone(),
            connect_timeout: self.connect_timeout,
            command_timeout: self.command_timeout,
            request_timeout: self.request_timeout,
        }
    }

    /// Reads the password from its file, if one is named.
    pub(crate) fn read_secrets(&mut self) -> Result<(), Fault> {
        if let Some(file) = &self.password_file {
            let rule = "must be absent while store.password_file is set";
            Fault::unless(self.password.is_none(), "store.password", rule)?;
            let lines = secrets::lines(file, "store.password_file")?;
            let rule = "must name a file with the password in its first line";
            let first = lines.into_iter().next();
            self.password = Some(first.ok_or_else(|| Fault::new("store.password_file", rule))?);
        }
        Ok(())
    }

    /// The rules between the keys of this section; the store checks its own.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let sentinel = self.mode == StoreMode::Sentinel;
        Fault::unless(
            self.mode != StoreMode::Single || self.nodes.is_empty(),
            "store.nodes",
            "must be empty while store.mode is single",
        )?;
        Fault::unless(
            sentinel == self.sentinel_master.is_some(),
            "store.sentinel_master",
            if sentinel { "is required in sentinel mode" } else { "is for sentinel mode only" },
        )?;
        let fault = |store::ConfigError { key, rule, .. }| match key {
            "store.url" if !self.nodes.is_empty() => Fault::new("store.nodes", rule),
            key => Fault::new(key, rule),
        };
        self.to_core().check().map(drop).map_err(fault)
    }

    /// Whether both lead to the same store in the same way.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let password = |config: &Self| {
            config.password.as_ref().map(|secret| secret.expose_secret().to_owned())
        };
        self.addresses() == other.addresses()
            && self.mode == other.mode
            && self.sentinel_master == other.sentinel_master
            && self.username == other.username
            && password(self) == password(other)
            && self.ca_file == other.ca_file
            && self.connect_timeout == other.connect_timeout
            && self.command_timeout == other.command_timeout
            && self.request_timeout == other.request_timeout
    }
}
