//! The process metrics under their standard names, as the prometheus crate collects them, except
//! for the processor time: the crate cuts it to whole seconds, and any rate of that has steps.

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike as _,
};
use prometheus::{
    core::{Collector, Desc},
    process_collector::ProcessCollector,
    proto::{Counter, MetricFamily},
};

const CPU: &str = "process_cpu_seconds_total";

/// Reads all values at each scrape.
pub(crate) struct ProcessMetrics(ProcessCollector);

impl ProcessMetrics {
    pub(crate) fn new() -> Self {
        Self(ProcessCollector::for_self())
    }
}

impl Collector for ProcessMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.0.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut families = self.0.collect();
        let Some(seconds) = cpu_seconds() else { return families };
        for family in families.iter_mut().filter(|family| family.name() == CPU) {
            for metric in family.mut_metric() {
                let mut exact = Counter::default();
                exact.set_value(seconds);
                metric.set_counter(exact);
            }
        }
        families
    }
}

/// The processor time of all threads, user and system.
fn cpu_seconds() -> Option<f64> {
    let used = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let microseconds = (used.user_time() + used.system_time()).num_microseconds();
    Some(microseconds as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use prometheus::Registry;

    use super::*;

    #[test]
    fn processor_time_shows_in_parts_of_a_second() {
        let registry = Registry::new();
        registry.register(Box::new(ProcessMetrics::new())).expect("fresh names");
        let value = |name: &str| {
            let text = prometheus::TextEncoder::new().encode_to_string(&registry.gather());
            let text = text.expect("text");
            let found = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
            found.unwrap_or_else(|| panic!("no {name} in\n{text}"))
        };
        let cpu = || -> f64 { value(CPU) };
        let (before, began) = (cpu(), Instant::now());
        // Work until it shows: long before a whole second of it.
        while cpu() == before {
            assert!(began.elapsed() < Duration::from_secs(60), "no processor time in a minute");
        }
        let worked = cpu() - before;
        assert!(worked > 0.0 && worked < 0.5, "{worked} s at once");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64();
        let started: f64 = value("process_start_time_seconds");
        assert!((0.0..3_600.0).contains(&(now - started + 1.0)), "{started} of {now}");
        let resident: f64 = value("process_resident_memory_bytes");
        assert!(resident > 1e6 && value("process_virtual_memory_bytes") >= resident);
        assert!(value("process_open_fds") >= 3.0 && value("process_threads") >= 1.0);
        assert!(value("process_max_fds") > value("process_open_fds"));
    }
}
