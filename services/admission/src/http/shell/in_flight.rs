//! How many requests of a port are in flight. Only guards count, so no way out of a request leaves
//! it counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntGaugeVec, Opts, Registry};

/// The requests in flight on one port; clones share the count. It is briefly negative when a call
/// that outlives its client is in a pause: the client's guard is dropped first.
#[derive(Clone, Debug, Default)]
pub struct InFlight(Arc<AtomicIsize>);

/// One request that is in flight, or, made by [`InFlight::pause`], one that is not for a while.
#[derive(Debug)]
pub struct InFlightGuard {
    in_flight: InFlight,
    is_pause: bool,
}

impl InFlight {
    /// Counts a request until the guard is dropped; absent if `most` are counted already.
    pub fn enter(&self, most: usize) -> Option<InFlightGuard> {
        let before = self.0.fetch_add(1, Relaxed);
        let guard = InFlightGuard { in_flight: self.clone(), is_pause: false };
        // A negative count is none.
        let before = usize::try_from(before).unwrap_or(0);
        (before < most).then_some(guard)
    }

    /// Takes a request that is counted out of the count until the guard is dropped.
    pub fn pause(&self) -> InFlightGuard {
        self.0.fetch_sub(1, Relaxed);
        InFlightGuard { in_flight: self.clone(), is_pause: true }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        usize::try_from(self.0.load(Relaxed)).unwrap_or(0)
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let Self { in_flight: InFlight(count), is_pause } = self;
        if *is_pause {
            count.fetch_add(1, Relaxed)
        } else {
            count.fetch_sub(1, Relaxed)
        };
    }
}

/// `anteroom_http_requests_in_flight`, read at each scrape.
struct InFlightGauge {
    gauge: IntGaugeVec,
    ports: Vec<(&'static str, InFlight)>,
}

/// Shows the requests in flight on these ports, each under its name.
///
/// # Errors
///
/// When the name of the metric is taken.
pub fn show_in_flight(
    registry: &Registry,
    ports: Vec<(&'static str, InFlight)>,
) -> prometheus::Result<()> {
    let help = "Requests in progress, from the head of a request to the head of its answer. Not \
                included: requests that wait for a slow body, and event streams.";
    let opts = Opts::new("anteroom_http_requests_in_flight", help);
    let gauge = IntGaugeVec::new(opts, &["port"])?;
    registry.register(Box::new(InFlightGauge { gauge, ports }))
}

impl Collector for InFlightGauge {
    fn desc(&self) -> Vec<&Desc> {
        self.gauge.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        for (port, in_flight) in &self.ports {
            // There are never more than `max_concurrent_requests`.
            let count = i64::try_from(in_flight.count()).unwrap_or(i64::MAX);
            self.gauge.with_label_values(&[port]).set(count);
        }
        self.gauge.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_flight_is_shown_by_port() {
        let (registry, public) = (Registry::new(), InFlight::default());
        let ports = vec![("public", public.clone()), ("service", InFlight::default())];
        show_in_flight(&registry, ports).expect("a fresh name");
        let shown = || -> Vec<_> {
            let families = registry.gather();
            let metrics = families.iter().flat_map(MetricFamily::get_metric);
            metrics.map(|it| it.get_gauge().get_value()).collect()
        };
        let guard = public.enter(1);
        assert_eq!(shown(), [1.0, 0.0]);
        drop(guard);
        assert_eq!(shown(), [0.0, 0.0]);
    }

    #[test]
    fn guards_count_and_give_back() {
        let in_flight = InFlight::default();
        let first = in_flight.enter(2);
        let second = in_flight.enter(2);
        assert!(first.is_some() && second.is_some() && in_flight.enter(2).is_none());
        let paused = in_flight.pause();
        assert_eq!(in_flight.count(), 1);
        let third = in_flight.enter(2);
        assert!(third.is_some(), "the one that pauses leaves room");
        drop(paused);
        assert_eq!(in_flight.count(), 3, "and goes on although there is none");
        drop((first, second, third));
        assert_eq!(in_flight.count(), 0);
    }

    #[test]
    fn a_pause_that_outlives_its_request_refuses_no_other() {
        let in_flight = InFlight::default();
        let request = in_flight.enter(1);
        let pause = in_flight.pause();
        drop(request);
        assert_eq!(in_flight.count(), 0);
        let another = in_flight.enter(1);
        assert!(another.is_some(), "nothing else is in flight");
        drop(pause);
        assert_eq!(in_flight.count(), 1);
        assert!(in_flight.enter(1).is_none());
        drop(another);
        assert_eq!(in_flight.count(), 0);
    }
}
