//! Where the store is and how long it may take.

use std::time::Duration;

use secrecy::SecretString;

/// How the addresses of the store are to be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One server, or one address that always leads to the primary.
    Single,
    /// The addresses are Sentinels; they are asked for the primary of this name.
    Sentinel {
        /// The name under which the Sentinels watch the primary.
        master: String,
    },
    /// The addresses are nodes of a Redis Cluster.
    Cluster,
}

/// The address of the store, its credentials and its time budgets.
#[derive(Clone, Debug)]
pub struct Config {
    /// `redis://`, `rediss://` or `unix://` addresses; more than one only for Sentinel and Cluster.
    pub urls: Vec<String>,
    /// What the addresses are.
    pub mode: Mode,
    /// ACL user; overrides the one in the address.
    pub username: Option<String>,
    /// Password; overrides the one in the address.
    pub password: Option<SecretString>,
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// How long one command may take before its effect counts as unknown.
    pub command_timeout: Duration,
    /// How long one operation may take, with its repeat.
    pub request_timeout: Duration,
}
