//! What a gateway asks: the visitor's own request, as far as the gateway shows it, and the
//! gateway's own options.
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

/// The question of a gateway.
#[derive(Clone, Copy, Debug)]
pub enum GateRequest<'a> {
    /// Over HTTP: headers show the visitor's request, or the path behind `…/authorize` does.
    Http(&'a Parts),
    /// With fields that only the gateway writes.
    Fields {
        /// The method of the visitor's request.
        method: &'a Method,
        /// Its path with its query.
        path: &'a str,
        /// Its headers.
        headers: &'a HeaderMap,
        /// The words of `x-anteroom-gate`, with commas between.
        options: &'a str,
    },
}

impl<'a> GateRequest<'a> {
    /// The headers of the visitor's request.
    pub fn headers(self) -> &'a HeaderMap {
        match self {
            Self::Http(parts) => &parts.headers,
            Self::Fields { headers, .. } => headers,
        }
    }

    /// The method of the visitor's request.
    pub fn method(self) -> Method {
        match self {
            Self::Http(parts) => first(&parts.headers, &METHODS)
                .and_then(|method| Method::from_bytes(method.as_bytes()).ok())
                .unwrap_or_else(|| parts.method.clone()),
            Self::Fields { method, .. } => method.clone(),
        }
    }

    /// Whether the method is OPTIONS by every account: each header that a gateway may have set, or
    /// the request's own where there is none or the gateway calls with the original path behind
    /// ours (then the method is the original one, and headers are the client's).
    pub fn is_options(self) -> bool {
        let parts = match self {
            Self::Http(parts) => parts,
            Self::Fields { method, .. } => return method == Method::OPTIONS,
        };
        let named: Vec<_> =
            METHODS.into_iter().flat_map(|name| parts.headers.get_all(name)).collect();
        if named.is_empty() || behind(parts).is_some() {
            return parts.method == Method::OPTIONS;
        }
        named.into_iter().all(|method| method == "OPTIONS")
    }

    /// The path of the visitor's request with its query, unchecked; absent when the gateway does
    /// not show it.
    pub fn path(self) -> Option<&'a str> {
        match self {
            Self::Http(parts) => match first(&parts.headers, &URIS) {
                Some(uri) => Some(path_in(uri)),
                None => behind(parts),
            },
            Self::Fields { path, .. } => Some(path),
        }
    }
}

/// The original path and query where the gateway puts them behind ours, as Envoy does.
pub fn behind(parts: &Parts) -> Option<&str> {
    let rest = parts.uri.path_and_query()?.as_str().strip_prefix("/v1/queues/")?;
    let (_queue, rest) = rest.split_once('/')?;
    rest.strip_prefix("authorize").filter(|rest| rest.starts_with('/'))
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
        let request = GateRequest::Http(&parts);
        (request.method(), request.path().map(str::to_owned))
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
            GateRequest::Http(&head(method, uri, headers)).is_options()
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
