//! What names a request in answers and in the log.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

/// The header that names a request in answers and logs.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Takes over a sane id from the caller, else makes one.
pub fn request_id(headers: &HeaderMap) -> HeaderValue {
    match headers.get(REQUEST_ID) {
        Some(given) if is_sane_id(given.as_bytes()) => given.clone(),
        _ => new_id(),
    }
}

/// 64 random bits of this process and the number of the request: no two are alike, and making one
/// asks neither the clock nor the random generator.
pub fn new_id() -> HeaderValue {
    static PROCESS: LazyLock<[u8; 16]> = LazyLock::new(|| hex(rand::random()));
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let mut id = [b'-'; 33];
    id[..16].copy_from_slice(&*PROCESS);
    id[17..].copy_from_slice(&hex(COUNT.fetch_add(1, Ordering::Relaxed)));
    HeaderValue::from_bytes(&id).unwrap_or(HeaderValue::from_static("unknown"))
}

fn hex(mut number: u64) -> [u8; 16] {
    let mut digits = [0; 16];
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number & 15) as usize];
        number >>= 4;
    }
    digits
}

/// An id from outside goes into the log: short, and of characters that break no format.
fn is_sane_id(id: &[u8]) -> bool {
    (1..=64).contains(&id.len())
        && id.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// The W3C `traceparent` of a request.
pub fn traceparent(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get(TRACEPARENT)
}

/// The trace id in a `traceparent`, empty when there is none.
pub fn trace_id(traceparent: Option<&HeaderValue>) -> &str {
    traceparent.and_then(parse_trace_id).unwrap_or_default()
}

fn parse_trace_id(traceparent: &HeaderValue) -> Option<&str> {
    let mut parts = traceparent.to_str().ok()?.split('-');
    let (_version, trace) = (parts.next()?, parts.next()?);
    (trace.len() == 32 && trace.bytes().all(|b| b.is_ascii_hexdigit())).then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sane_id_is_kept_and_any_other_replaced() {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, HeaderValue::from_static("abc-123_4.5"));
        assert_eq!(request_id(&headers), "abc-123_4.5");

        for bad in ["", "a b", "a\"b", "{}", &"x".repeat(65)] {
            headers.insert(REQUEST_ID, HeaderValue::from_str(bad).expect("a header value"));
            let made = request_id(&headers);
            assert!(is_sane_id(made.as_bytes()) && made.len() == 33, "{bad:?}: {made:?}");
            assert_ne!(made, request_id(&headers), "no two are alike");
        }
    }

    #[test]
    fn the_trace_id_is_taken_from_a_well_formed_traceparent_only() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let value = HeaderValue::from_static(good);
        assert_eq!(parse_trace_id(&value), Some("4bf92f3577b34da6a3ce929d0e0e4736"));
        for bad in ["", "00", "00-xyz-1-1", "00-4bf9-1-01"] {
            assert_eq!(parse_trace_id(&HeaderValue::from_str(bad).expect("a value")), None);
        }
    }
}
