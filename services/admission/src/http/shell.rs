//! What every request on both ports goes through: one lean layer around the router.
//!
//! It gives the request an id, bounds how many run at once and for how long, turns a panic into a
//! problem, marks every answer `no-store`, and times it by route template. It logs templates, ids
//! and what went wrong on our side: never path parameters, queries, headers or bodies.

use std::any::Any;
use std::convert::Infallible;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::HeaderMap;
use http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use tower::{Layer, Service};
use tracing::{Instrument as _, Span};

use super::gate;
use super::problem::{Cause, Code, Problem, RETRY_SOON};
use crate::app::App;
use crate::metrics::{HttpMetrics, RouteMetrics};
use crate::origin::Cors;

/// The header that names a request in answers and logs.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The limits and the metrics of one port.
pub struct Shell {
    app: Arc<App>,
    /// Whether visitors reach this port.
    is_public: bool,
    metrics: HttpMetrics,
    max_concurrent_requests: usize,
    request_timeout: Duration,
    under_way: AtomicUsize,
}

impl Shell {
    /// The shell of a port, with the bounds of the configuration at the start.
    pub fn new(app: Arc<App>, is_public: bool, metrics: HttpMetrics) -> Self {
        let config = app.live().config.clone();
        Self {
            app,
            is_public,
            metrics,
            max_concurrent_requests: config.admission.max_concurrent_requests,
            request_timeout: config.admission.request_timeout,
            under_way: AtomicUsize::new(0),
        }
    }

    /// What lines of the log say of their request. On the public port, where requests are many and
    /// the lines few, it is made for the level `debug` only: a failure names its request itself.
    fn span(&self, route: &RouteMetrics, id: &HeaderValue, headers: &HeaderMap) -> Span {
        macro_rules! span {
            ($level:ident) => {
                tracing::$level!(
                    "request",
                    route = route.template(),
                    request_id = id.to_str().unwrap_or_default(),
                    trace_id = trace_id(headers),
                )
            };
        }
        if self.is_public { span!(debug_span) } else { span!(info_span) }
    }

    fn enter(self: &Arc<Self>) -> Option<UnderWay> {
        let guard = UnderWay(self.clone());
        let before = self.under_way.fetch_add(1, Ordering::Relaxed);
        (before < self.max_concurrent_requests).then_some(guard)
    }
}

/// Counts one request for as long as it lives.
struct UnderWay(Arc<Shell>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Puts a [`Shell`] around a router.
#[derive(Clone)]
pub struct ShellLayer(pub Arc<Shell>);

impl<S> Layer<S> for ShellLayer {
    type Service = ShellService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ShellService { inner, shell: self.0.clone() }
    }
}

/// A route with its [`Shell`] around it.
#[derive(Clone)]
pub struct ShellService<S> {
    inner: S,
    shell: Arc<Shell>,
}

impl<S> Service<Request> for ShellService<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let started = Instant::now();
        let shell = self.shell.clone();
        let template = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        let route = shell.metrics.route(template);
        let id = request_id(request.headers_mut());
        let span = shell.span(&route, &id, request.headers());
        // The trace id is needed after the request is gone only if something fails.
        let traceparent = request.headers().get(TRACEPARENT).cloned();
        let cors = self.cors(&route, &request);
        let preflight = cors.as_ref().and_then(Cors::preflight);
        let under_way = shell.enter();
        let goes_on = under_way.is_some() && preflight.is_none();
        // Whoever is turned away at the gate for want of room is sent to the waiting page.
        let room = (!goes_on && route.is_gate())
            .then(|| gate::room_of(&shell.app, request.uri().path()))
            .flatten();
        let answer = goes_on.then(|| AssertUnwindSafe(self.inner.call(request)));
        Box::pin(
            async move {
                let answer = match (answer, preflight) {
                    (Some(answer), _) => within(shell.request_timeout, answer.catch_unwind()).await,
                    (None, Some(preflight)) => Ok(preflight),
                    (None, None) => Err(Problem::new(Code::Overloaded).retry_after(RETRY_SOON)),
                };
                drop(under_way);
                let mut response = answer.unwrap_or_else(|problem| refusal(&route, problem, room));
                let headers = response.headers_mut();
                headers.insert(CACHE_CONTROL, NO_STORE);
                if let Some(cors) = cors {
                    cors.mark(headers);
                }
                let code = response.extensions().get::<Code>().copied();
                let ours = code.is_some_and(Code::is_our_fault);
                shell.app.operations.record(!ours);
                if ours {
                    report(&route, &response, &id, traceparent.as_ref());
                }
                response.headers_mut().insert(REQUEST_ID, id);
                route.observe(response.status(), started.elapsed());
                Ok(response)
            }
            .instrument(span),
        )
    }
}

impl<S> ShellService<S> {
    /// What CORS has to do with the request: pages elsewhere read what visitors call, and nothing
    /// of the service port. At the gate a preflight is for the service behind it.
    fn cors(&self, route: &RouteMetrics, request: &Request) -> Option<Cors> {
        let visitors = self.shell.is_public && !route.is_gate();
        if !visitors {
            return None;
        }
        self.shell.app.live().origins.cors(request.method(), request.headers())
    }
}

/// Waits for the answer, but not for ever, and not through a panic.
async fn within(
    limit: Duration,
    answer: impl Future<Output = Result<Result<Response, Infallible>, Box<dyn Any + Send>>>,
) -> Result<Response, Problem> {
    match tokio::time::timeout(limit, answer).await {
        Err(_) => Err(Problem::new(Code::RequestTimeout).retry_after(RETRY_SOON)),
        Ok(Err(panic)) => Err(Problem::new(Code::Internal).cause(panic_message(&*panic))),
        Ok(Ok(Ok(response))) => Ok(response),
    }
}

/// A refusal by the shell itself, in the form that the route's callers understand.
fn refusal(route: &RouteMetrics, problem: Problem, room: Option<HeaderValue>) -> Response {
    if route.is_gate() { gate::refusal(problem, room) } else { problem.into_response() }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let message = panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panic: {}", message.unwrap_or("without a message"))
}

/// Takes over a sane id from the caller, else makes one; the request carries it from here on.
fn request_id(headers: &mut HeaderMap) -> HeaderValue {
    if let Some(given) = headers.get(REQUEST_ID)
        && is_sane_id(given.as_bytes())
    {
        return given.clone();
    }
    let mut buffer = uuid::Uuid::encode_buffer();
    let id = uuid::Uuid::now_v7().hyphenated().encode_lower(&mut buffer);
    let id = HeaderValue::from_str(id).unwrap_or(HeaderValue::from_static("unknown"));
    headers.insert(REQUEST_ID, id.clone());
    id
}

/// An id from outside goes into the log: short, and of characters that break no format.
fn is_sane_id(id: &[u8]) -> bool {
    (1..=64).contains(&id.len())
        && id.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// The trace id of a W3C `traceparent`, empty when there is none.
fn trace_id(headers: &HeaderMap) -> &str {
    headers.get(TRACEPARENT).and_then(parse_trace_id).unwrap_or_default()
}

fn parse_trace_id(traceparent: &HeaderValue) -> Option<&str> {
    let mut parts = traceparent.to_str().ok()?.split('-');
    let (_version, trace) = (parts.next()?, parts.next()?);
    (trace.len() == 32 && trace.bytes().all(|b| b.is_ascii_hexdigit())).then_some(trace)
}

/// Logs what failed on our side, once. A store that fails is logged by the store when it goes and
/// when it comes back, and an overload is counted: a line for each request would bury the rest.
fn report(
    route: &RouteMetrics,
    response: &Response,
    id: &HeaderValue,
    traceparent: Option<&HeaderValue>,
) {
    let Some(code) = response.extensions().get::<Code>() else { return };
    let cause = response.extensions().get::<Cause>().map(|cause| cause.0.as_str()).unwrap_or("-");
    let trace_id = traceparent.and_then(parse_trace_id).unwrap_or_default();
    let (route, request_id) = (route.template(), id.to_str().unwrap_or_default());
    let (status, name) = (response.status().as_u16(), code.name());
    if matches!(code, Code::StoreUnavailable | Code::EffectUnknown | Code::Overloaded) {
        tracing::debug!(route, request_id, trace_id, status, code = name, cause, "request failed");
    } else {
        tracing::error!(route, request_id, trace_id, status, code = name, cause, "request failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sane_id_is_kept_and_any_other_replaced() {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, HeaderValue::from_static("abc-123_4.5"));
        assert_eq!(request_id(&mut headers), "abc-123_4.5");

        for bad in ["", "a b", "a\"b", "{}", &"x".repeat(65)] {
            headers.insert(REQUEST_ID, HeaderValue::from_str(bad).expect("a header value"));
            let made = request_id(&mut headers);
            assert_eq!(made.len(), 36, "{bad:?}");
            assert_eq!(headers[REQUEST_ID], made);
        }
    }

    #[test]
    fn the_trace_id_is_taken_from_a_well_formed_traceparent_only() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let value = HeaderValue::from_static(good);
        assert_eq!(parse_trace_id(&value), Some("4bf92f3577b34da6a3ce929d0e0e4736"));
        for bad in ["", "00", "00-xyz-1-1", "00-4bf9-1-01"] {
            assert_eq!(parse_trace_id(&HeaderValue::from_str(bad).expect("a value")), None);
        }
    }
}
