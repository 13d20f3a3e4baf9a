//! A check of Envoy as the gateway check reads it.

use std::net::{IpAddr, Ipv4Addr};

use anteroom_authorize::queue::gate::GateRequest;
use envoy_types::pb::envoy::config::core::v3::address::Address;
use envoy_types::pb::envoy::service::auth::v3::CheckRequest;
use envoy_types::pb::envoy::service::auth::v3::attribute_context::{HttpRequest, Peer};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

/// The request of a visitor, and what Envoy's route says of it.
#[derive(Debug)]
pub struct VisitorRequest {
    /// The name of the queue, which only the route sets.
    pub queue: String,
    /// The words of `x-anteroom-gate`, which only the route sets.
    options: String,
    method: Method,
    path: String,
    pub headers: HeaderMap,
    /// The other end of Envoy's connection. `X-Forwarded-For` counts as in admission.
    pub peer: IpAddr,
}

impl VisitorRequest {
    /// Reads a check. What is missing is empty: then the visitor has no token, or the route no
    /// queue.
    pub fn of(check: CheckRequest) -> Self {
        let attributes = check.attributes.unwrap_or_default();
        let mut extensions = attributes.context_extensions;
        let http = attributes.request.and_then(|request| request.http).unwrap_or_default();
        let method = Method::from_bytes(http.method.as_bytes());
        Self {
            queue: extensions.remove("queue").unwrap_or_default(),
            options: extensions.remove("gate").unwrap_or_default(),
            // An invalid method counts as CONNECT: it opens no page, so the visitor does not join.
            method: method.unwrap_or(Method::CONNECT),
            peer: attributes.source.and_then(address).unwrap_or(Ipv4Addr::UNSPECIFIED.into()),
            headers: headers(&http),
            path: http.path,
        }
    }

    /// The question for the gateway check.
    pub fn question(&self) -> GateRequest<'_> {
        let Self { method, path, headers, options, .. } = self;
        GateRequest::Fields { method, path, headers, options }
    }
}

/// Envoy sends the lines of a header joined in `headers`, or with `encode_raw_headers` each by
/// itself in `header_map`.
fn headers(http: &HttpRequest) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, value: &[u8]| {
        // White space around a value is no part of it, but arrives with HTTP/2.
        let value = HeaderValue::from_bytes(value.trim_ascii());
        // Pseudo-headers begin with a colon, and are no header names.
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), value) {
            // More than a map can take, Envoy refuses itself.
            let _ = headers.try_append(name, value);
        }
    };
    for (name, value) in &http.headers {
        add(name, value.as_bytes());
    }
    for line in http.header_map.iter().flat_map(|map| &map.headers) {
        let raw = if line.raw_value.is_empty() { line.value.as_bytes() } else { &line.raw_value };
        add(&line.key, raw);
    }
    headers
}

fn address(peer: Peer) -> Option<IpAddr> {
    match peer.address?.address? {
        Address::SocketAddress(socket) => socket.address.parse().ok(),
        _ => None,
    }
}
