//! Dashboards, alerts and the contract of metrics, and what they are held to.
//!
//! [`contract`] reads the page of metrics, [`dashboard`] the files of `grafana/dashboards`, and
//! [`promql`] what their expressions and those of the alerts name. A [`Scene`] is the real services
//! under load, scraped by a real [`Prometheus`], and [`picture`] draws a dashboard from what that
//! answers.

pub mod contract;
pub mod dashboard;
pub mod picture;
pub mod prometheus;
pub mod promql;
pub mod scene;

use std::path::{Path, PathBuf};

pub use prometheus::Prometheus;
pub use scene::Scene;

/// The folder of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a file of the repository.
///
/// # Panics
/// When it is not there.
pub fn read(path: &str) -> String {
    let path = repository().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
