//! The shell around a router, as a layer.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use futures_util::FutureExt as _;
use futures_util::future::Map;
use tower::{Layer, Service};

use super::{Handled, ResponseFuture, Shell};

/// Puts a [`Shell`] around each route of a router, which then knows the template. Not by
/// `axum::middleware::from_fn`: gateways that put the original path behind ours come this way, and
/// it would cost each request another box.
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
    type Future = Map<ResponseFuture, fn(Response) -> Result<Response, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let template = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        let route = self.shell.route(template);
        let routed =
            |request| Handled::Pending(self.inner.call(request).map(|Ok(response)| response));
        self.shell.answer(&route, false, request, routed).map(Ok)
    }
}
