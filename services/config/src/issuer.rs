//! `[issuer]`: how much it does at a time.

use std::{net::SocketAddr, time::Duration};

use serde::Deserialize;

use crate::{parse, section::differing};

/// The section `[issuer]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct IssuerConfig {
    /// Where the metrics port listens.
    #[serde(deserialize_with = "parse::parsed")]
    pub metrics_listen: SocketAddr,
    /// Applications of an event that are being issued at a time.
    #[serde(deserialize_with = "parse::whole::<_, _, 1, 10_000>")]
    pub concurrency: usize,
    /// How long what is being issued gets to end at the end of the service.
    #[serde(deserialize_with = "parse::span::<_, _, 0, 600_000>")]
    pub drain_timeout: Duration,
}

impl IssuerConfig {
    /// Keys that take effect only after a restart, and differ from those that are in force.
    pub(crate) fn needs_restart(&self, running: &Self) -> impl Iterator<Item = &'static str> {
        differing!("issuer", self, running, [metrics_listen])
    }
}
