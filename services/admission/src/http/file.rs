//! Files that never change under their address: it has their digest.

use axum::body::Bytes;
use axum::response::{IntoResponse as _, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, X_CONTENT_TYPE_OPTIONS,
};

use super::encoding::{encoded, gzip};

/// The content of a file, and what it is.
#[derive(Debug)]
pub struct File {
    pub kind: &'static str,
    pub plain: Bytes,
    /// Absent where it would be longer, as for a PNG.
    pub gzip: Option<Bytes>,
}

impl File {
    /// Compresses it once.
    pub fn new(kind: &'static str, plain: Bytes) -> Self {
        let gzip = gzip(&plain).filter(|gzip| gzip.len() < plain.len());
        Self { kind, plain, gzip }
    }

    /// The answer, which browsers keep for ever. Opened alone a file is no page: no script in it
    /// runs.
    pub fn response(&self, headers: &HeaderMap) -> Response {
        let head = [
            (CACHE_CONTROL, "public, max-age=31536000, immutable"),
            (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        ];
        (head, self.content(headers)).into_response()
    }

    /// The content with its type, as the client takes it.
    pub fn content(&self, headers: &HeaderMap) -> Response {
        let head = [(CONTENT_TYPE, self.kind), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
        (head, encoded(headers, &self.plain, self.gzip.as_ref())).into_response()
    }
}
