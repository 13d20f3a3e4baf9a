//! What admission counts and times. Labels are route templates, statuses, the names of configured
//! queues and fixed words: nothing that a caller can fill.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anteroom_runtime::registered;
use http::{Method, StatusCode};
use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, IntGauge, Registry};

use crate::entities::KindMetrics;
use crate::http::route::RouteInfo;

/// Where routes without a template are counted.
const UNMATCHED: &str = "unmatched";

/// Upper bounds in seconds: half a millisecond to the longest usual request time-out.
const HTTP_BUCKETS: [f64; 13] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// The methods that requests are counted by; any other is counted as `other`.
const METHODS: [&str; 9] =
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "other"];

/// Every status that admission answers; any other is counted as `other`, the 0 at the end.
const STATUSES: [u16; 23] = [
    200, 201, 202, 204, 302, 303, 400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 422, 429, 500,
    502, 503, 504, 0,
];

/// All of admission's own metrics, and its part of those that all services share.
#[derive(Debug)]
pub struct AdmissionMetrics {
    http: HistogramVec,
    /// Those of the queues, limits, targets, events and pools.
    pub kinds: KindMetrics,
    /// Event streams of visitors open at the moment.
    pub streams: IntGauge,
    /// Live streams of operators open at the moment.
    pub live_streams: IntGauge,
    /// Connections closed while they waited for their client, because others came, both ports.
    pub connections_closed: IntCounter,
    /// Connections refused because `max_connections` were being served, both ports.
    pub connections_refused: IntCounter,
    /// Requests whose forwarding header is not believed.
    pub forwarding_ignored: IntCounter,
}

impl AdmissionMetrics {
    /// Registers everything.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let counter = |name, help| registered(registry, IntCounter::new(name, help)?);
        let forwarding_ignored = counter(
            "anteroom_forwarding_ignored_total",
            "Requests whose forwarding header (`X-Forwarded-For`, `Forwarded`) was ignored: the \
             peer is not in `trusted_proxies`. The log names the peer.",
        )?;
        let times = HistogramOpts::new(
            "anteroom_http_request_seconds",
            "Duration from the head of a request to the head of its answer. `port` is `public` or \
             `service`. An unknown method or status is `other`, an unknown route `unmatched`.",
        );
        let labels = ["port", "method", "route", "status"];
        let times = HistogramVec::new(times.buckets(HTTP_BUCKETS.to_vec()), &labels)?;
        let gauge = |name, help| registered(registry, IntGauge::new(name, help)?);
        Ok(Self {
            forwarding_ignored,
            http: registered(registry, times)?,
            kinds: KindMetrics::register(registry)?,
            streams: gauge("anteroom_streams", "Open event streams (SSE) of visitors.")?,
            live_streams: gauge(
                "anteroom_live_streams",
                "Open event streams (SSE) of `GET /v1/admin/live`, at most 32.",
            )?,
            connections_closed: counter(
                "anteroom_connections_closed_total",
                "Connections that admission closed at the connection limit to accept new ones, \
                 because their client kept it waiting the longest.",
            )?,
            connections_refused: counter(
                "anteroom_connections_refused_total",
                "Connections that were refused, because `max_connections` were in use.",
            )?,
        })
    }

    /// The routes of a port (public, service) with their metrics; of two with one template the last
    /// counts.
    pub fn http<'a>(
        &self,
        port: &'static str,
        routes: impl Iterator<Item = (&'a str, RouteInfo)>,
    ) -> HttpMetrics {
        let route = |template, info| Arc::new(RouteMetrics::new(&self.http, port, template, info));
        let unmatched = route(UNMATCHED, RouteInfo::default());
        let routes = routes.map(|(template, info)| (template.to_owned(), route(template, info)));
        HttpMetrics { routes: routes.collect(), unmatched }
    }
}

/// The routes of one port, each with its children made once.
#[derive(Debug)]
pub struct HttpMetrics {
    routes: HashMap<String, Arc<RouteMetrics>>,
    unmatched: Arc<RouteMetrics>,
}

impl HttpMetrics {
    /// The metrics of a route template; unmatched paths share one bucket.
    pub fn route(&self, template: Option<&str>) -> Arc<RouteMetrics> {
        template.and_then(|template| self.routes.get(template)).unwrap_or(&self.unmatched).clone()
    }
}

/// One route's times, by method and status, each made with the first of its kind.
#[derive(Debug)]
pub struct RouteMetrics {
    port: &'static str,
    template: String,
    /// What the shell must know of it.
    pub info: RouteInfo,
    all: HistogramVec,
    times: [[OnceLock<Histogram>; STATUSES.len()]; METHODS.len()],
}

impl RouteMetrics {
    fn new(all: &HistogramVec, port: &'static str, template: &str, info: RouteInfo) -> Self {
        Self {
            port,
            template: template.to_owned(),
            info,
            all: all.clone(),
            times: [const { [const { OnceLock::new() }; STATUSES.len()] }; METHODS.len()],
        }
    }

    /// The template, such as `/v1/queues/{queue}/token`.
    pub fn template(&self) -> &str {
        &self.template
    }

    /// Notes one answer.
    pub fn observe(&self, method: MethodLabel, status: StatusCode, took: Duration) {
        let code = status.as_u16();
        let other = STATUSES.len() - 1;
        let known = STATUSES.iter().position(|known| *known == code).unwrap_or(other);
        let MethodLabel(method) = method;
        self.times[method][known]
            .get_or_init(|| {
                let label = if known == other { "other" } else { status.as_str() };
                self.all.with_label_values(&[self.port, METHODS[method], self.template(), label])
            })
            .observe(took.as_secs_f64());
    }
}

/// The method of a request as it is counted, kept beyond the request itself.
#[derive(Clone, Copy, Debug)]
pub struct MethodLabel(usize);

impl MethodLabel {
    pub fn of(method: &Method) -> Self {
        let name = method.as_str();
        Self(METHODS.iter().position(|known| *known == name).unwrap_or(METHODS.len() - 1))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    #[test]
    fn unknown_methods_routes_and_statuses_share_one_label() {
        let metrics = AdmissionMetrics::register(&Registry::new()).expect("fresh names");
        let known = [("/known", RouteInfo::default())];
        let public = metrics.http("public", known.into_iter());
        let service = metrics.http("service", known.into_iter());
        let [get, brew, other] = ["GET", "BREW", "other"]
            .map(|name| MethodLabel::of(&Method::from_bytes(name.as_bytes()).expect("a method")));
        let (ok, teapot, took) =
            (StatusCode::OK, StatusCode::IM_A_TEAPOT, Duration::from_millis(1));
        public.route(Some("/known")).observe(get, ok, took);
        service.route(Some("/known")).observe(get, ok, took);
        service.route(Some("/known")).observe(get, ok, took);
        public.route(Some("/made-up")).observe(brew, teapot, took);
        public.route(None).observe(other, teapot, took);
        let times = |labels: [&str; 4]| metrics.http.with_label_values(&labels).get_sample_count();
        assert_eq!(times(["public", "GET", "/known", "200"]), 1);
        assert_eq!(times(["service", "GET", "/known", "200"]), 2);
        assert_eq!(times(["public", "other", "unmatched", "other"]), 2);
    }
}
