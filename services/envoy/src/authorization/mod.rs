//! The external authorization service (ext_authz v3): the gateway check for Envoy.
//!
//! A decision is always an answer, OK or denied with 401, 403 or 302. An error of gRPC would leave
//! the decision to `failure_mode_allow`.

mod foreign;
mod request;
mod response;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anteroom_authorize::problem::Cause;
use anteroom_authorize::queue::gate::{self, Begun};
use anteroom_authorize::queue::visitor::Visitor;
use anteroom_authorize::{Code, Problem};
use bytes::Bytes;
use envoy_types::pb::envoy::service::auth::v3::authorization_server;
use envoy_types::pb::envoy::service::auth::v3::{CheckRequest, CheckResponse};
use futures_util::FutureExt as _;
use tonic::{Request, Response, Status};

use self::request::VisitorRequest;
use crate::app::App;

/// The least time between two log lines about routes without a known queue.
const WARN_EVERY: Duration = Duration::from_secs(10);

/// The service.
pub struct Authorization {
    app: Arc<App>,
    started: Instant,
    /// When the next warning is due, in milliseconds after `started`.
    next_warning: AtomicU64,
}

impl Authorization {
    pub fn new(app: Arc<App>) -> Self {
        Self { app, started: Instant::now(), next_warning: AtomicU64::new(0) }
    }

    /// The answer of the check, as HTTP has it.
    async fn answer(&self, request: &VisitorRequest, time: Duration) -> http::Response<Bytes> {
        let Some(queue) = self.app.queue(&request.queue) else {
            self.warn_of_unknown_queue(&request.queue);
            return gate::refusal(Problem::new(Code::UNKNOWN_QUEUE), None);
        };
        let process = &self.app.process;
        let visitor = Visitor::at_gate(process, queue, &request.headers, request.peer);
        let open = match gate::begin(process, &visitor, request.question()) {
            Begun::Answered(answer) => return answer,
            Begun::NeedsStore(open) => open,
        };
        let answer = gate::finish_within(time, process, &visitor, request.question(), open);
        answer.await.unwrap_or_else(|| {
            let retry_after = self.app.retries.schedule_default();
            let problem = Problem::new(Code::REQUEST_TIMEOUT).retry_after(retry_after);
            gate::refusal(problem, Some(&visitor.queue))
        })
    }

    fn warn_of_unknown_queue(&self, name: &str) {
        let since = self.started.elapsed();
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (due, next) = (self.next_warning.load(Relaxed), millis(since + WARN_EVERY));
        // Of several calls that find it due, one warns.
        if millis(since) >= due
            && self.next_warning.compare_exchange(due, next, Relaxed, Relaxed).is_ok()
        {
            tracing::warn!(
                queue = name,
                "a check names no configured queue, so it is denied: set context_extensions.queue \
                 in Envoy's route to the name of a queue",
            );
        }
    }
}

#[tonic::async_trait]
impl authorization_server::Authorization for Authorization {
    async fn check(
        &self,
        request: Request<CheckRequest>,
    ) -> Result<Response<CheckResponse>, Status> {
        let started = Instant::now();
        let time = self.app.time_for(request.metadata());
        let request = VisitorRequest::of(request.into_inner());
        let answer = AssertUnwindSafe(self.answer(&request, time)).catch_unwind().await;
        let answer = answer.unwrap_or_else(|panic| gate::refusal(Problem::panicked(&*panic), None));
        let ours = answer.extensions().get::<Code>().is_some_and(|code| code.is_our_fault());
        if ours {
            report(&answer);
        }
        self.app.operations.record(!ours);
        self.app.metrics.checked(answer.status().is_success(), started.elapsed());
        Ok(Response::new(response::of(answer, &request)))
    }
}

/// Logs a failure on our side.
fn report(answer: &http::Response<Bytes>) {
    let Some(code) = answer.extensions().get::<Code>() else { return };
    let cause = answer.extensions().get::<Cause>().map_or("-", |cause| cause.0.as_str());
    let name = code.name();
    if code.is_reported_elsewhere() {
        tracing::debug!(code = name, cause, "check failed");
    } else {
        tracing::error!(code = name, cause, "check failed");
    }
}
