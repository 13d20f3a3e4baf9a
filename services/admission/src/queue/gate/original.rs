//! The visitor's own request to the gateway, as far as the gateway shows it: the method and the
//! path.
//!
//! They serve to come back later (`return_to`, which is checked) and to distinguish a navigation
//! from a script: a client that lies misleads only itself. Whether the request is a preflight,
//! which passes with `pass_preflight`, is believed only if no header names another method.

use http::Method;
use http::header::{HeaderMap, HeaderName};
use http::request::Parts;

/// NGINX (by our examples), ingress-nginx, Caddy, Traefik.
const METHODS: [HeaderName; 2] =
    [HeaderName::from_static("x-forwarded-method"), HeaderName::from_static("x-original-method")];
const URIS: [HeaderName; 3] = [
    HeaderName::from_static("x-forwarded-uri"),
    HeaderName::from_static("x-original-uri"),
    HeaderName::from_static("x-original-url"),
];

/// The visitor's own request.
#[derive(Debug, PartialEq, Eq)]
pub struct Original<'a> {
    /// Its method.
    pub method: Method,
    /// Its path with its query, unchecked; absent when the gateway does not say.
    pub path: Option<&'a str>,
}

impl<'a> Original<'a> {
    /// Reads what the gateway says: its headers, else the path behind `…/authorize`.
    pub fn of(parts: &'a Parts) -> Self {
        Self { method: Self::method_of(parts), path: path_of(parts) }
    }

    /// Whether the method is OPTIONS by every account: each header that a gateway may have set, or
    /// the request's own where there is none or the gateway calls with the original path behind
    /// ours (then the method is the original one, and headers are the client's).
    pub fn is_options(parts: &Parts) -> bool {
        let named: Vec<_> =
            METHODS.into_iter().flat_map(|name| parts.headers.get_all(name)).collect();
        if named.is_empty() || behind(parts).is_some() {
            return parts.method == Method::OPTIONS;
        }
        named.into_iter().all(|method| method == "OPTIONS")
    }

    /// The method alone.
    pub fn method_of(parts: &Parts) -> Method {
        first(&parts.headers, &METHODS)
            .and_then(|method| Method::from_bytes(method.as_bytes()).ok())
            .unwrap_or_else(|| parts.method.clone())
    }
}

/// The original path and query where the gateway puts them behind ours, as Envoy does.
pub fn behind(parts: &Parts) -> Option<&str> {
    let rest = parts.uri.path_and_query()?.as_str().strip_prefix("/v1/queues/")?;
    let (_queue, rest) = rest.split_once('/')?;
    rest.strip_prefix("authorize").filter(|rest| rest.starts_with('/'))
}

fn path_of(parts: &Parts) -> Option<&str> {
    match first(&parts.headers, &URIS) {
        Some(uri) => Some(path_in(uri)),
        None => behind(parts),
    }
}

/// The path of an address: ingress-nginx sends the whole one; the host in it is the client's word
/// only.
fn path_in(uri: &str) -> &str {
    // URLs inside a query string are data: ignore them.
    let Some((_, rest)) = uri.split_once("://").filter(|(scheme, _)| !scheme.contains(['/', '?']))
    else {
        return uri;
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    if rest[end..].starts_with('/') { &rest[end..] } else { "/" }
}

fn first<'a>(headers: &'a HeaderMap, names: &[HeaderName]) -> Option<&'a str> {
    names.iter().find_map(|name| headers.get(name)?.to_str().ok()).filter(|text| !text.is_empty())
}

#[cfg(test)]
pub(super) mod tests {
    use http::Request;

    use super::*;

    /// The head of a request.
    pub fn head(method: &str, uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    fn original(uri: &str, headers: &[(&str, &str)]) -> (Method, Option<String>) {
        let parts = head("GET", uri, headers);
        let original = Original::of(&parts);
        (original.method, original.path.map(str::to_owned))
    }

    #[test]
    fn each_gateway_says_it_in_its_way() {
        let plain = "/v1/queues/q/authorize";
        let get = |path: &str| (Method::GET, Some(path.to_owned()));
        assert_eq!(original(plain, &[]), (Method::GET, None));
        assert_eq!(original(plain, &[("x-original-uri", "/a?b=c")]), get("/a?b=c"));
        assert_eq!(
            original(plain, &[("x-forwarded-uri", "/a"), ("x-forwarded-method", "POST")]),
            (Method::POST, Some("/a".into()))
        );
        assert_eq!(original(plain, &[("x-original-url", "https://h.example/a?b")]), get("/a?b"));
        assert_eq!(original(plain, &[("x-original-url", "https://h.example")]), get("/"));
        assert_eq!(original(plain, &[("x-original-url", "https://h.example?next=/x")]), get("/"));
        let next = "/seats?next=https://e.example/x";
        assert_eq!(original(plain, &[("x-forwarded-uri", next)]), get(next));
        assert_eq!(original(&format!("{plain}{next}"), &[]), get(next));
        assert_eq!(original("/v1/queues/authorize/authorize/a", &[]), get("/a"));
        assert_eq!(original("/v1/queues/authorize/authorize", &[]), (Method::GET, None));
        assert_eq!(original("/v1/queues/q/authorize/a/b?c=1", &[]), get("/a/b?c=1"));
        assert_eq!(original("/v1/queues/q/authorize/authorize", &[]), get("/authorize"));
        assert_eq!(original("/v1/queues/q/authorize?join=1", &[]), (Method::GET, None));
        assert_eq!(original(plain, &[("x-original-method", "not a method")]).0, Method::GET);
    }

    #[test]
    fn no_header_of_a_client_makes_a_preflight() {
        let is_options = |method: &str, uri: &str, headers: &[(&str, &str)]| {
            Original::is_options(&head(method, uri, headers))
        };
        let (plain, behind) = ("/v1/queues/q/authorize", "/v1/queues/q/authorize/shop");
        assert!(is_options("OPTIONS", plain, &[]));
        assert!(is_options("OPTIONS", behind, &[]));
        assert!(is_options("GET", plain, &[("x-forwarded-method", "OPTIONS")]));
        // The gateway has set one of them, the client the other.
        let both = [("x-forwarded-method", "OPTIONS"), ("x-original-method", "GET")];
        assert!(!is_options("GET", plain, &both));
        let twice = [("x-forwarded-method", "OPTIONS"), ("x-forwarded-method", "GET")];
        assert!(!is_options("GET", plain, &twice));
        // Behind the path the method is the original one, and headers are the client's.
        assert!(!is_options("GET", behind, &[("x-forwarded-method", "OPTIONS")]));
    }
}
