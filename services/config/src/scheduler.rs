//! `[scheduler]`: how often the ticks come.

use std::{net::SocketAddr, time::Duration};

use serde::Deserialize;

use crate::{parse, section::differing};

/// The section `[scheduler]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct SchedulerConfig {
    /// Where the metrics port listens.
    #[serde(deserialize_with = "parse::parsed")]
    pub metrics_listen: SocketAddr,
    /// How often places are promoted. A slice of an even pace lasts 100 ms and counts at most twice
    /// that time, so with longer ticks than these a part of the batch would be lost.
    #[serde(deserialize_with = "parse::span::<_, _, 10, 150>")]
    pub tick: Duration,
    /// How often ends are swept.
    #[serde(deserialize_with = "parse::span::<_, _, 100, 60_000>")]
    pub sweep_tick: Duration,
    /// How often the gauges are read.
    #[serde(deserialize_with = "parse::span::<_, _, 100, 5_000>")]
    pub snapshot_tick: Duration,
}

impl SchedulerConfig {
    /// Keys that take effect only after a restart, and differ from those that are in force.
    pub(crate) fn needs_restart(&self, running: &Self) -> impl Iterator<Item = &'static str> {
        differing!("scheduler", self, running, [metrics_listen])
    }
}
