//! The limits' call that is nearly all of theirs, answered without the router.

use axum::extract::State;
use http::Method;

use super::backend;
use crate::http::fast_path::HotRoute;

/// Those of backends.
pub const SERVICE: &[HotRoute] = &[HotRoute {
    method: Some(Method::POST),
    template: "/v1/limits/{limit}/check",
    handler: |call| {
        let app = State(call.app().clone());
        call.for_backend(|backend, body| backend::check(app, backend, body))
    },
}];
