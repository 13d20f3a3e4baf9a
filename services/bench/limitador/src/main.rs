//! The crate limitador with Redis, behind Envoy's rate limit service. limitador-server, which is
//! not on crates.io, makes the same calls of the crate for each request, and its own metrics
//! besides.
//!
//! `anteroom-bench-limitador REDIS_URL`

use std::{collections::HashMap, io::Write as _};

use envoy_types::pb::envoy::service::ratelimit::v3::{
    RateLimitRequest, RateLimitResponse,
    rate_limit_response::Code,
    rate_limit_service_server::{RateLimitService, RateLimitServiceServer},
};
use limitador::{
    AsyncRateLimiter,
    limit::{Context, Limit, Namespace},
    storage::redis::AsyncRedisStorage,
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

struct Limits(AsyncRateLimiter);

#[tonic::async_trait]
impl RateLimitService for Limits {
    async fn should_rate_limit(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let request = request.into_inner();
        let descriptors = request.descriptors.into_iter().map(|descriptor| {
            let entries = descriptor.entries.into_iter().map(|entry| (entry.key, entry.value));
            entries.collect::<HashMap<_, _>>()
        });
        let mut context = Context::default();
        context.list_binding("descriptors".to_owned(), descriptors.collect());
        let (namespace, cost) = (Namespace::from(request.domain), request.hits_addend.max(1));
        let checked = self.0.check_rate_limited_and_update(&namespace, &context, cost.into());
        let checked = checked.await.map_err(|error| Status::unavailable(error.to_string()))?;
        let code = if checked.limited { Code::OverLimit } else { Code::Ok };
        Ok(Response::new(RateLimitResponse { overall_code: code.into(), ..Default::default() }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: anteroom-bench-limitador REDIS_URL")?;
    let storage = AsyncRedisStorage::new(&url).await?;
    let limiter = AsyncRateLimiter::new_with_storage(Box::new(storage));
    let variable = "descriptors[0].remote_address".try_into()?;
    limiter.add_limit(Limit::new("bench", 100_000_000, 3_600, [], [variable]));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    writeln!(std::io::stdout(), "address {}", listener.local_addr()?)?;
    let service = RateLimitServiceServer::new(Limits(limiter));
    let incoming = TcpListenerStream::new(listener);
    Ok(Server::builder()
        .tcp_nodelay(true)
        .add_service(service)
        .serve_with_incoming(incoming)
        .await?)
}
