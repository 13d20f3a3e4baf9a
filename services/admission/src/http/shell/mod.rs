//! The shell around every request on both ports, by the router or by the fast path.
//!
//! It gives the request an id, bounds how many run at once and how long each may take, turns a
//! panic into a problem, marks every answer `no-store` that is not a file, and times it by route
//! template. It logs templates, ids and what went wrong on our side: never path parameters,
//! queries, headers or bodies.

mod ids;
mod in_flight;
mod layer;
mod refusals;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use anteroom_authorize::callers::origin::Cors;
use anteroom_authorize::problem::{Cause, Code, Problem};
use axum::extract::Request;
use axum::response::Response;
use futures_util::future::{Either, Ready, ready};
use http::Method;
use http::header::{CACHE_CONTROL, HeaderMap, HeaderValue};
use hyper::body::Body as _;
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tracing::{Instrument as _, Span};

pub use self::ids::{REQUEST_ID, new_id};
pub use self::in_flight::{InFlight, InFlightGuard, show_in_flight};
pub use self::layer::ShellLayer;
use self::refusals::refusal;
use crate::app::App;
use crate::http::route::RouteStyle;
use crate::metrics::{HttpMetrics, MethodLabel, RouteMetrics};

/// So many calls of Redis a hot request makes at most: a token's place, a join, the check after it.
const HOT_STORE_CALLS: u32 = 3;

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The limits and the metrics of one port.
pub struct Shell {
    app: Arc<App>,
    /// Whether visitors reach this port.
    is_public: bool,
    metrics: HttpMetrics,
    max_concurrent_requests: usize,
    request_timeout: Duration,
    /// Whether a hot call gets a timer too, which costs 1-2 % of its time. It waits for its body
    /// and for Redis only: both have time-outs of their own.
    times_hot_calls: bool,
    /// How long a body may take to come, besides.
    body_timeout: Duration,
    /// Requests in flight.
    pub in_flight: InFlight,
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
            times_hot_calls: HOT_STORE_CALLS * config.store.request_timeout
                > config.admission.request_timeout,
            body_timeout: config.admission.body_timeout(),
            in_flight: InFlight::default(),
        }
    }

    /// What is shared by all handlers.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// The metrics of a route template.
    pub fn route(&self, template: Option<&str>) -> Arc<RouteMetrics> {
        self.metrics.route(template)
    }

    /// The answer of `handler` to a request of this route; `is_hot`: to one of very many.
    pub fn answer<F: Future<Output = Response> + Send + 'static>(
        self: &Arc<Self>,
        route: &Arc<RouteMetrics>,
        is_hot: bool,
        request: Request,
        handler: impl FnOnce(Request) -> Handled<F>,
    ) -> ResponseFuture {
        let context = self.enter(route.clone(), request.method(), request.headers());
        if let Some(refused) = context.refused(&request) {
            return Either::Left(ready(context.mark(refused)));
        }
        // A client that is slow to send its body uses up its own time, not ours.
        let has_body = !request.body().is_end_stream();
        let limit = route.info.timeout.unwrap_or(self.request_timeout);
        let limit = if has_body { limit + self.body_timeout } else { limit };
        let limit = (!is_hot || self.times_hot_calls).then_some(limit);
        match catch_unwind(AssertUnwindSafe(|| handler(request))) {
            Ok(Handled::Ready(response)) => Either::Left(ready(context.mark(response))),
            Ok(Handled::Pending(answer)) => {
                let span = context.span(is_hot);
                let limit = limit.map(sleep);
                let answering = Answering { answer, limit, context: Some(context) };
                Either::Right(if span.is_disabled() {
                    Box::pin(answering)
                } else {
                    Box::pin(answering.instrument(span))
                })
            }
            Err(panic) => {
                let answer = refusal(&context.route, Problem::panicked(&*panic), None);
                Either::Left(ready(context.mark(answer)))
            }
        }
    }

    /// Takes a request in.
    fn enter(
        self: &Arc<Self>,
        route: Arc<RouteMetrics>,
        method: &Method,
        headers: &HeaderMap,
    ) -> RequestContext {
        let started = Instant::now();
        let cors = self.cors(&route, method, headers);
        RequestContext {
            started,
            method: MethodLabel::of(method),
            // A cache returns the answer to others too, so it has no id of one client.
            id: if route.info.style == RouteStyle::Shared {
                new_id()
            } else {
                ids::request_id(headers)
            },
            // Needed after the request is gone only if something fails.
            traceparent: ids::traceparent(headers).cloned(),
            cors,
            in_flight: self.in_flight.enter(self.max_concurrent_requests),
            route,
            shell: self.clone(),
        }
    }

    /// What CORS has to do with the request: pages elsewhere read what visitors call, and nothing
    /// of the service port. At the gate a preflight is for the service behind it.
    fn cors(&self, route: &RouteMetrics, method: &Method, headers: &HeaderMap) -> Option<Cors> {
        let visitors = self.is_public && !route.info.is_gate();
        if !visitors {
            return None;
        }
        if route.info.style == RouteStyle::Shared {
            return Some(Cors::any());
        }
        self.app.process.settings().origins.cors(method, headers)
    }
}

/// The result of a handler.
pub enum Handled<F> {
    /// The answer, without a wait.
    Ready(Response),
    /// The future of the answer.
    Pending(F),
}

/// The facts of a request until it is answered.
struct RequestContext {
    shell: Arc<Shell>,
    route: Arc<RouteMetrics>,
    method: MethodLabel,
    started: Instant,
    id: HeaderValue,
    traceparent: Option<HeaderValue>,
    cors: Option<Cors>,
    /// Absent when there were too many.
    in_flight: Option<InFlightGuard>,
}

/// An answer: there already, or still being made.
pub type ResponseFuture = Either<Ready<Response>, Pin<Box<dyn Future<Output = Response> + Send>>>;

pin_project! {
    /// An answer that is being made, within `limit`; a panic in it is a problem.
    //
    // By hand, because combinators and async blocks move the largest of these futures, a kilobyte,
    // up to six times, and an async block has room for it twice.
    struct Answering<F> {
        #[pin]
        answer: F,
        #[pin]
        limit: Option<Sleep>,
        // Until it is answered.
        context: Option<RequestContext>,
    }
}

impl<F: Future<Output = Response>> Future for Answering<F> {
    type Output = Response;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Response> {
        let this = self.project();
        let polled = catch_unwind(AssertUnwindSafe(|| this.answer.poll(task)));
        if let Ok(Poll::Pending) = polled
            && this.limit.as_pin_mut().is_none_or(|limit| limit.poll(task).is_pending())
        {
            return Poll::Pending;
        }
        let Some(context) = this.context.take() else { return Poll::Pending };
        let problem = match polled {
            Ok(Poll::Ready(response)) => return Poll::Ready(context.mark(response)),
            Ok(Poll::Pending) => {
                let retry_after = context.shell.app.retries.schedule_default();
                Problem::new(Code::REQUEST_TIMEOUT).retry_after(retry_after)
            }
            Err(panic) => Problem::panicked(&*panic),
        };
        let answer = refusal(&context.route, problem, None);
        Poll::Ready(context.mark(answer))
    }
}

impl RequestContext {
    /// Adds the headers of every answer, and counts it.
    fn mark(self, mut response: Response) -> Response {
        let Self { shell, route, method, started, id, traceparent, cors, in_flight } = self;
        drop(in_flight);
        let headers = response.headers_mut();
        headers.entry(CACHE_CONTROL).or_insert(NO_STORE);
        if let Some(cors) = cors {
            cors.mark(headers);
        }
        let ours = response.extensions().get::<Code>().is_some_and(|code| code.is_our_fault());
        let now = Instant::now();
        shell.app.operations.record_at(!ours, now);
        if ours {
            report(&route, &response, &id, traceparent.as_ref());
        }
        response.headers_mut().insert(REQUEST_ID, id);
        route.observe(method, response.status(), now.saturating_duration_since(started));
        response
    }

    /// The fields of a request in log lines. On the public port and for hot calls, with many
    /// requests and few lines, the span exists at the level `debug` only: a failure names its
    /// request itself.
    fn span(&self, is_hot: bool) -> Span {
        macro_rules! span {
            ($level:ident) => {
                tracing::$level!(
                    "request",
                    route = self.route.template(),
                    request_id = self.id.to_str().unwrap_or_default(),
                    trace_id = ids::trace_id(self.traceparent.as_ref()),
                )
            };
        }
        if is_hot || self.shell.is_public { span!(debug_span) } else { span!(info_span) }
    }
}

/// Logs a failure on our side, once.
fn report(
    route: &RouteMetrics,
    response: &Response,
    id: &HeaderValue,
    traceparent: Option<&HeaderValue>,
) {
    let Some(code) = response.extensions().get::<Code>() else { return };
    let cause = response.extensions().get::<Cause>().map(|cause| cause.0.as_str()).unwrap_or("-");
    let trace_id = ids::trace_id(traceparent);
    let (route, request_id) = (route.template(), id.to_str().unwrap_or_default());
    let (status, name) = (response.status().as_u16(), code.name());
    if code.is_reported_elsewhere() {
        tracing::debug!(route, request_id, trace_id, status, code = name, cause, "request failed");
    } else {
        tracing::error!(route, request_id, trace_id, status, code = name, cause, "request failed");
    }
}
