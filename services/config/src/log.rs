//! `[log]`: what is logged, and in which form.

use serde::Deserialize;
use tracing_subscriber::EnvFilter;

use crate::parse::{self, FromText};

/// The section `[log]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct LogConfig {
    /// The form of a line.
    #[serde(deserialize_with = "parse::parsed")]
    pub format: LogFormat,
    /// What is logged, in the syntax of `RUST_LOG`.
    #[serde(deserialize_with = "parse::parsed")]
    pub level: Level,
}

/// The form of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, else JSON.
    Auto,
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

parse::words!(LogFormat { "auto" => Auto, "json" => Json, "text" => Text, });

/// Directives that `tracing_subscriber::EnvFilter` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level(String);

impl Level {
    /// The directives as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromText for Level {
    const RULE: &'static str = "must be log directives such as \"info\" or \
        \"info,anteroom_core=debug\"";

    fn from_text(text: &str) -> Option<Self> {
        EnvFilter::try_new(text).is_ok().then(|| Self(text.to_owned()))
    }
}
