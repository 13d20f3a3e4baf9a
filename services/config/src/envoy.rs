//! `[envoy]`: the gRPC service for Envoy, and which rate limit a descriptor means.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use serde::Deserialize;

use crate::{error::Fault, limit::LimitConfig, parse, section::differing};

/// The section `[envoy]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct EnvoyConfig {
    /// Where the gRPC port listens.
    #[serde(deserialize_with = "parse::parsed")]
    pub listen: SocketAddr,
    /// Where the metrics port listens.
    #[serde(deserialize_with = "parse::parsed")]
    pub metrics_listen: SocketAddr,
    /// The largest message that a caller may send, in bytes.
    #[serde(deserialize_with = "parse::whole::<_, _, 4_096, 4_194_304>")]
    pub max_message_bytes: usize,
    /// The longest time for a call.
    #[serde(deserialize_with = "parse::span::<_, _, 10, 30_000>")]
    pub request_timeout: Duration,
    /// How long the port goes on taking connections after SIGTERM.
    #[serde(deserialize_with = "parse::span::<_, _, 0, 120_000>")]
    pub drain_delay: Duration,
    /// How long calls under way may take to end after that.
    #[serde(deserialize_with = "parse::span::<_, _, 0, 600_000>")]
    pub drain_timeout: Duration,
    /// Which limit each descriptor means; the first that matches counts.
    pub descriptors: Vec<DescriptorConfig>,
}

/// One `[[envoy.descriptors]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct DescriptorConfig {
    /// The domain that Envoy sends.
    pub domain: String,
    /// The entries of the descriptor, in their order.
    pub entries: Vec<EntryConfig>,
    /// The name of the limit.
    pub limit: String,
    /// The entry whose value is the key of the limit. Absent: all values.
    pub key: Option<String>,
    /// The entry whose value is the group of the limit. Absent: as `key`.
    pub group: Option<String>,
}

/// One entry of a descriptor. Without a value and a prefix it matches any value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct EntryConfig {
    /// The key of the entry.
    pub key: String,
    /// Its only value.
    pub value: Option<String>,
    /// What its value begins with.
    pub prefix: Option<String>,
}

impl EnvoyConfig {
    /// Keys that take effect only after a restart, and differ from those that are in force.
    pub(crate) fn needs_restart(&self, running: &Self) -> impl Iterator<Item = &'static str> {
        differing!("envoy", self, running, [listen, metrics_listen, max_message_bytes])
    }

    /// The rules between its keys, and that each limit is configured.
    pub(crate) fn check(&self, limits: &BTreeMap<String, LimitConfig>) -> Result<(), Fault> {
        Fault::unless(
            self.listen != self.metrics_listen || self.listen.port() == 0,
            "envoy.metrics_listen",
            "must be another port than envoy.listen",
        )?;
        for (at, descriptor) in self.descriptors.iter().enumerate() {
            let check = descriptor.check(limits);
            check.map_err(|fault| fault.within(&format!("envoy.descriptors[{at}]")))?;
        }
        Ok(())
    }
}

impl DescriptorConfig {
    fn check(&self, limits: &BTreeMap<String, LimitConfig>) -> Result<(), Fault> {
        Fault::unless(!self.domain.is_empty(), "domain", "must not be empty")?;
        Fault::unless(!self.entries.is_empty(), "entries", "must name at least one entry")?;
        for (at, entry) in self.entries.iter().enumerate() {
            let key = format!("entries[{at}]");
            Fault::unless(!entry.key.is_empty(), &format!("{key}.key"), "must not be empty")?;
            Fault::unless(
                entry.value.is_none() || entry.prefix.is_none(),
                &key,
                "must have a value or a prefix, not both",
            )?;
        }
        Fault::unless(
            limits.contains_key(&self.limit),
            "limit",
            "must be the name of a configured limit: add [limits.NAME], or correct the name",
        )?;
        for (name, of) in [("key", &self.key), ("group", &self.group)] {
            let is_known = |key: &String| self.entries.iter().any(|entry| entry.key == *key);
            let rule = "must be the key of one of the entries";
            Fault::unless(of.as_ref().is_none_or(is_known), name, rule)?;
        }
        Ok(())
    }
}
