//! The registry of a service, with what every service has in it.

use anteroom_config::Service;
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry, core::Collector};

use crate::{
    operations::{OperationMetrics, Operations},
    process_metrics::ProcessMetrics,
};

/// The metrics of one kind of entity.
pub trait Families: Sized {
    /// Registers everything.
    ///
    /// # Errors
    ///
    /// When a name is taken.
    fn register(registry: &Registry) -> prometheus::Result<Self>;

    /// Shows nothing more of an entity that is no longer configured; its counters stay.
    fn forget(&self, _name: &str) {}
}

/// A kind without metrics.
impl Families for () {
    fn register(_: &Registry) -> prometheus::Result<Self> {
        Ok(())
    }
}

/// A registry with the process metrics, `anteroom_build_info`, `anteroom_success_ratio` and
/// `anteroom_service_operations_total`.
pub(crate) fn registry(service: Service, operations: &Operations) -> prometheus::Result<Registry> {
    let registry = Registry::new();
    registry.register(Box::new(ProcessMetrics::new()))?;
    let build =
        Opts::new("anteroom_build_info", "Always 1. The labels show the service and its version.");
    registered(&registry, IntGaugeVec::new(build, &["version", "service"])?)?
        .with_label_values(&[env!("CARGO_PKG_VERSION"), service.name()])
        .set(1);
    registry.register(Box::new(OperationMetrics::new(service, operations.clone())?))?;
    Ok(registry)
}

/// Registers a metric, and returns it.
///
/// # Errors
///
/// When its name is taken.
pub fn registered<M: Collector + Clone + 'static>(
    registry: &Registry,
    metric: M,
) -> prometheus::Result<M> {
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// Registers counters by these labels, and returns them.
///
/// # Errors
///
/// When the name is taken.
pub fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> prometheus::Result<IntCounterVec> {
    registered(registry, IntCounterVec::new(Opts::new(name, help), labels)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_has_these() {
        let operations = Operations::new();
        let registry = registry(Service::Scheduler, &operations).expect("names are unique");
        operations.record(true);
        operations.record(false);
        let service_operations = |outcome, n| {
            let labels = format!("outcome=\"{outcome}\",service=\"scheduler\"");
            format!("anteroom_service_operations_total{{{labels}}} {n}")
        };
        // What is counted twice is the same as once.
        registry.gather();
        let text = prometheus::TextEncoder::new()
            .encode_to_string(&registry.gather())
            .expect("the registry is not empty");
        let version = env!("CARGO_PKG_VERSION");
        for line in [
            format!("anteroom_build_info{{service=\"scheduler\",version=\"{version}\"}} 1"),
            "anteroom_success_ratio{service=\"scheduler\"} 0.5".to_owned(),
            service_operations("ok", 1),
            service_operations("failed", 1),
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is missing in\n{text}");
        }
        assert!(text.contains("process_resident_memory_bytes"), "{text}");
    }
}
