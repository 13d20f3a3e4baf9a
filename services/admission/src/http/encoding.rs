//! Bodies that never change are compressed once.

use std::io::Write as _;

use axum::body::{Body, Bytes};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use http::{HeaderMap, HeaderValue};

/// Nothing if it fails, which a write into memory does not.
pub fn gzip(content: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

/// An answer with one of these bodies: the compressed one if there is one and the client takes it.
pub fn encoded(headers: &HeaderMap, plain: &Bytes, gzip: Option<&Bytes>) -> Response {
    let gzip = gzip.filter(|_| takes_gzip(headers));
    let mut response = Response::new(Body::from(gzip.unwrap_or(plain).clone()));
    let head = response.headers_mut();
    head.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if gzip.is_some() {
        head.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
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
                headers.append(ACCEPT_ENCODING, HeaderValue::from_static(line));
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
