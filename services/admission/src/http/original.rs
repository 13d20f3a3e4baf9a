//! What the visitor asked of the gateway, as far as the gateway says: the method and the path.
//!
//! Only used to come back later (`return_to`, which is checked) and to tell a navigation from a
//! script: a client that lies here misleads nobody but itself.

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
const AUTHORIZE: &str = "/authorize";

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

    /// The method alone.
    pub fn method_of(parts: &Parts) -> Method {
        first(&parts.headers, &METHODS)
            .and_then(|method| Method::from_bytes(method.as_bytes()).ok())
            .unwrap_or_else(|| parts.method.clone())
    }
}

fn path_of(parts: &Parts) -> Option<&str> {
    if let Some(uri) = first(&parts.headers, &URIS) {
        // ingress-nginx sends the whole address; the host in it is the client's word only.
        let path = match uri.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("/", |slash| &rest[slash..]),
            None => uri,
        };
        return Some(path);
    }
    // Envoy puts the original path and query behind ours.
    let path_and_query = parts.uri.path_and_query()?.as_str();
    let (_, rest) = path_and_query.split_once(AUTHORIZE)?;
    rest.starts_with('/').then_some(rest)
}

fn first<'a>(headers: &'a HeaderMap, names: &[HeaderName]) -> Option<&'a str> {
    names.iter().find_map(|name| headers.get(name)?.to_str().ok()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn original(uri: &str, headers: &[(&str, &str)]) -> (Method, Option<String>) {
        let mut request = Request::get(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
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
        assert_eq!(original("/v1/queues/q/authorize/a/b?c=1", &[]), get("/a/b?c=1"));
        assert_eq!(original("/v1/queues/q/authorize/authorize", &[]), get("/authorize"));
        assert_eq!(original("/v1/queues/q/authorize?join=1", &[]), (Method::GET, None));
        assert_eq!(original(plain, &[("x-original-method", "not a method")]).0, Method::GET);
    }
}
