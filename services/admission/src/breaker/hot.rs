//! The targets' calls that stand beside each call to a downstream, answered without the router.

use http::Method;

use super::backend;
use crate::http::fast_path::HotRoute;

/// Those of backends.
pub const SERVICE: &[HotRoute] = &[
    HotRoute {
        method: Some(Method::POST),
        template: "/v1/targets/{target}/outcomes",
        handler: |call| call.for_backend(backend::record),
    },
    HotRoute {
        method: Some(Method::POST),
        template: "/v1/targets/{target}/permits",
        handler: |call| call.for_backend(backend::permit),
    },
];
