//! `/openapi.json`: the document of a port, compressed once at the start.

use std::sync::Arc;

use axum::body::Bytes;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use http::header::{CONTENT_TYPE, HeaderMap};
use utoipa::openapi::OpenApi;

use super::document;
use super::encoding::{encoded, gzip};
use crate::app::App;

/// Where it is.
pub const PATH: &str = "/openapi.json";

pub use __path_route as Documented;

/// Get this OpenAPI document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "documentation", operation_id = "openapi",
    responses(
        (status = 200, description = "this document", body = Object,
            content_type = "application/json"),
        document::ShellProblems,
    ),
)]
pub fn route(document: &OpenApi) -> MethodRouter<Arc<App>> {
    // A document of our own types always has a JSON form; if not, an empty one says so.
    let json = Bytes::from(document.to_pretty_json().unwrap_or_default());
    let gzip = gzip(&json);
    get(async move |headers: HeaderMap| answer(&headers, &json, gzip.as_ref()))
}

fn answer(headers: &HeaderMap, json: &Bytes, gzip: Option<&Bytes>) -> Response {
    ([(CONTENT_TYPE, "application/json")], encoded(headers, json, gzip)).into_response()
}
