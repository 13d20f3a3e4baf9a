//! `/openapi.json`: the document of a port, compressed once at the start.

use std::io::Write as _;
use std::sync::Arc;

use axum::body::Bytes;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, VARY};
use utoipa::openapi::OpenApi;

use super::document;
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
    let head = [(CONTENT_TYPE, "application/json"), (VARY, "accept-encoding")];
    match gzip.filter(|_| takes_gzip(headers)) {
        Some(gzip) => (head, [(CONTENT_ENCODING, "gzip")], gzip.clone()).into_response(),
        None => (head, json.clone()).into_response(),
    }
}

/// Nothing if it fails, which a write into memory does not.
fn gzip(json: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(json).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

/// Whether the client takes gzip (RFC 9110, 12.5.3): named, or else by `*`, with a weight above 0.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let (mut named, mut any) = (None, None);
    for coding in lines.flat_map(|line| line.split(',')) {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        // What is no number is no wish for it.
        let wanted = weight.is_none_or(|weight| weight.parse().is_ok_and(|q: f32| q > 0.0));
        match name.as_str() {
            "gzip" | "x-gzip" => named = Some(wanted),
            "*" => any = Some(wanted),
            _ => {}
        }
    }
    named.or(any).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_for_clients_that_name_it() {
        let takes = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(ACCEPT_ENCODING, http::HeaderValue::from_static(line));
            }
            takes_gzip(&headers)
        };
        for yes in [
            &["gzip"][..],
            &["gzip, deflate, br, zstd"],
            &["br", "GZIP"],
            &["br;q=1.0, gzip;q=0.8, *;q=0.1"],
            &["x-gzip"],
            &["*"],
            &["gzip ; q=0.001, *;q=0"],
        ] {
            assert!(takes(yes), "{yes:?}");
        }
        for no in [
            &[][..],
            &[""],
            &["br"],
            &["identity"],
            &["gzip;q=0"],
            &["gzip;q=0.000, *"],
            &["*;q=0"],
            &["gzip;q=-1"],
            &["gzip;q=x"],
            &["gzipped"],
        ] {
            assert!(!takes(no), "{no:?}");
        }
    }
}
