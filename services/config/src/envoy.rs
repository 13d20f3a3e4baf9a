//! `[envoy]`: the gRPC service for Envoy, and which rate limit a descriptor means.

use std::{collections::BTreeMap, fmt, net::SocketAddr, time::Duration};

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

use crate::{error::Fault, limit::LimitConfig, parse, section::differing};

/// The section `[envoy]`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
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
    /// Which limit each descriptor of Envoy maps to; the first that matches is used.
    #[serde(default, deserialize_with = "tables")]
    pub descriptors: Vec<DescriptorConfig>,
}

/// One `[[envoy.descriptors]]`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct DescriptorConfig {
    /// The domain that Envoy sends.
    #[serde(deserialize_with = "parse::text")]
    pub domain: String,
    /// The entries of the descriptor, in their order.
    pub entries: Vec<EntryConfig>,
    /// The name of the limit.
    #[serde(deserialize_with = "parse::text")]
    pub limit: String,
    /// The entry whose value is the key of the limit. Absent: all values.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub key: Option<String>,
    /// The entry whose value is the group of the limit. Absent: as `key`.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub group: Option<String>,
}

/// One entry of a descriptor. Without a value and a prefix it matches any value.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct EntryConfig {
    /// The key of the entry.
    #[serde(deserialize_with = "parse::text")]
    pub key: String,
    /// Its only value.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub value: Option<String>,
    /// What its value begins with.
    #[serde(default, deserialize_with = "parse::some_text")]
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
            let key = format!("envoy.descriptors[{at}]");
            check.map_err(|fault| fault.within(&key))?;
            let covers = |earlier: &DescriptorConfig| earlier.covers(descriptor);
            if let Some(earlier) = self.descriptors[..at].iter().position(covers) {
                let rule = format!("can never match: descriptors[{earlier}] matches first");
                return Err(Fault::new(key, rule).without_value());
            }
        }
        Ok(())
    }
}

impl DescriptorConfig {
    /// Whether it matches each descriptor that another one matches.
    fn covers(&self, other: &Self) -> bool {
        self.domain == other.domain
            && self.entries.len() == other.entries.len()
            && self.entries.iter().zip(&other.entries).all(|(entry, other)| entry.covers(other))
    }

    fn check(&self, limits: &BTreeMap<String, LimitConfig>) -> Result<(), Fault> {
        Fault::unless(!self.entries.is_empty(), "entries", "must name at least one entry")?;
        for (at, entry) in self.entries.iter().enumerate() {
            if entry.value.is_some() && entry.prefix.is_some() {
                let rule = "must have a value or a prefix, not both";
                return Err(Fault::new(format!("entries[{at}]"), rule).without_value());
            }
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

impl EntryConfig {
    fn covers(&self, other: &Self) -> bool {
        let begins = |prefix: &String| {
            let text = other.value.as_ref().or(other.prefix.as_ref());
            text.is_some_and(|text| text.starts_with(prefix))
        };
        self.key == other.key
            && match (&self.value, &self.prefix) {
                (Some(value), _) => other.value.as_ref() == Some(value),
                (None, Some(prefix)) => begins(prefix),
                (None, None) => true,
            }
    }
}

/// A list of tables. One table is not taken for a list of one.
fn tables<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<DescriptorConfig>, D::Error> {
    struct Tables;
    impl<'de> Visitor<'de> for Tables {
        type Value = Vec<DescriptorConfig>;
        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("a list of tables: write [[envoy.descriptors]]")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(seq))
        }
    }
    deserializer.deserialize_any(Tables)
}
