//! The rate limit service (RLS v3): descriptors of Envoy as checks of Anteroom's limits.
//!
//! Descriptors of one group are checked in one call, all or none. Groups are checked in their
//! order up to the first refusal: those before it stay counted.

mod calls;
mod descriptors;
mod response;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_server;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use futures_util::FutureExt as _;
use tonic::{Request, Response, Status};

use self::calls::Checks;
use crate::app::App;

/// The service.
pub struct RateLimitService(pub Arc<App>);

#[tonic::async_trait]
impl rate_limit_service_server::RateLimitService for RateLimitService {
    /// A failure of this process is an error of gRPC: `failure_mode_deny` of Envoy decides then, as
    /// it does while this process is down.
    async fn should_rate_limit(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let started = Instant::now();
        let app = &*self.0;
        let deadline = tokio::time::Instant::now() + app.time_for(request.metadata());
        let checks = Checks::of(app, request.into_inner());
        let answer = AssertUnwindSafe(checks.run(app, deadline)).catch_unwind().await;
        let answer = answer.unwrap_or_else(|_| Err("panic".to_owned()));
        app.operations.record(answer.as_ref().is_ok_and(|results| !results.failed));
        match answer {
            Ok(results) => {
                app.metrics.limited(results.allowed, started.elapsed());
                Ok(Response::new(response::of(&results)))
            }
            Err(cause) => {
                tracing::error!(cause, "rate limit request failed");
                app.metrics.limited(false, started.elapsed());
                Err(Status::internal("Anteroom failed. Its log has the cause."))
            }
        }
    }
}
