//! An answer that goes on: Server-Sent Events.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use futures_util::{Stream, StreamExt as _};
use http::header::{CONTENT_TYPE, HeaderName};

/// The answer with these events, each as it is sent.
pub fn response(events: impl Stream<Item = String> + Send + 'static) -> Response {
    let head = [
        (CONTENT_TYPE, "text/event-stream"),
        // NGINX would otherwise collect the events.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let bytes = events.map(|event| Ok::<_, Infallible>(Bytes::from(event)));
    (head, Body::from_stream(bytes)).into_response()
}
