//! The options of the gateway, and the facts of the visitor's own request that the answer needs.

use super::request::{self, GateRequest};
use crate::callers::single::single;
use http::Method;
use http::header::{
    ACCEPT, ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderName, HeaderValue, ORIGIN,
};

/// What a gateway that calls with the original path behind ours asks for, with commas between.
pub const GATE: HeaderName = HeaderName::from_static("x-anteroom-gate");
const DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
/// The first is the standard's; the others are those of older browsers.
const PURPOSES: [HeaderName; 4] = [
    HeaderName::from_static("sec-purpose"),
    HeaderName::from_static("purpose"),
    HeaderName::from_static("x-purpose"),
    HeaderName::from_static("x-moz"),
];
/// A page that is fetched before a visitor asks for it.
const EARLY: [&str; 3] = ["prefetch", "prerender", "preview"];

/// What the gateway's configuration asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateOptions {
    /// A visitor without a place who opens a page gets one.
    pub join: bool,
    /// A refused navigation is redirected to the waiting page.
    pub redirect: bool,
}

impl GateOptions {
    /// Reads the query of a gateway over HTTP. Behind a path that is the visitor's own, and the
    /// gateway's header counts.
    pub fn of(request: GateRequest<'_>) -> Self {
        let mut options = match request {
            GateRequest::Fields { options, .. } => Self::of_words(options),
            GateRequest::Http(parts) if request::behind(parts).is_some() => {
                Self::of_words(gateway_says(&parts.headers))
            }
            GateRequest::Http(parts) => Self::of_query(parts.uri.query().unwrap_or_default()),
        };
        // A join takes a slot: another site's picture, a script or a page fetched in advance gets
        // none.
        options.join = options.join && is_visit(request);
        options
    }

    fn of_words(words: &str) -> Self {
        let mut options = Self::default();
        for word in words.split(',') {
            match word.trim() {
                "join" => options.join = true,
                "redirect" => options.redirect = true,
                _ => {}
            }
        }
        options
    }

    fn of_query(query: &str) -> Self {
        let mut options = Self::default();
        for pair in query.split('&') {
            match pair {
                "join=1" => options.join = true,
                "on_refusal=redirect" => options.redirect = true,
                _ => {}
            }
        }
        options
    }
}

/// The header that gateways overwrite. If it comes twice, one is a client's own, and neither
/// counts.
fn gateway_says(headers: &HeaderMap) -> &str {
    let mut values = headers.get_all(GATE).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().unwrap_or_default(),
        _ => "",
    }
}

/// Whether a visitor opens a page, as far as the request shows: an API client sends no such header.
fn is_visit(request: GateRequest<'_>) -> bool {
    let headers = request.headers();
    let early = |value: &HeaderValue| {
        let value = value.to_str().unwrap_or_default().to_ascii_lowercase();
        EARLY.iter().any(|purpose| value.contains(purpose))
    };
    let method = request.method();
    (method == Method::GET || method == Method::HEAD)
        && headers.get_all(DEST).iter().all(|dest| dest == "document")
        && !PURPOSES.iter().flat_map(|name| headers.get_all(name)).any(early)
}

/// A CORS preflight, which browsers send without cookies.
pub fn is_preflight(request: GateRequest<'_>) -> bool {
    request.is_options()
        && single(request.headers(), &ORIGIN).is_ok_and(|origin| origin.is_some())
        && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Whether the request opens a page, so that a redirect leads to another; for a script or an API
/// client it does not.
pub fn is_navigation(method: &Method, headers: &HeaderMap) -> bool {
    if !(method == Method::GET || method == Method::HEAD) {
        return false;
    }
    match headers.get("sec-fetch-mode") {
        Some(mode) => mode == "navigate",
        None => headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|accept| accept.to_str().ok())
            .any(|accept| accept.contains("text/html")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::tests::head;
    use super::*;

    fn options(method: &str, rest: &str, headers: &[(&str, &str)]) -> (bool, bool) {
        let uri = format!("/v1/queues/q/authorize{rest}");
        let options = GateOptions::of(GateRequest::Http(&head(method, &uri, headers)));
        (options.join, options.redirect)
    }

    #[test]
    fn the_query_counts_only_where_it_is_the_gateway_s() {
        assert_eq!(options("GET", "?join=1&on_refusal=redirect", &[]), (true, true));
        assert_eq!(options("GET", "?join=2&on_refusal=no&JOIN=1", &[]), (false, false));
        for path in ["/", "/seats", "/..%2ftoken", "/authorize"] {
            let query = format!("{path}?join=1&on_refusal=redirect");
            assert_eq!(options("GET", &query, &[]), (false, false), "{path}");
            let says = |text| options("GET", path, &[("x-anteroom-gate", text)]);
            assert_eq!(says("join"), (true, false));
            assert_eq!(says("redirect"), (false, true));
            assert_eq!(says(" redirect ,join"), (true, true));
            assert_eq!(says("joins, "), (false, false));
        }
        // Here the query is the gateway's, and the header the client's.
        assert_eq!(options("GET", "", &[("x-anteroom-gate", "join, redirect")]), (false, false));
        let both = [("x-anteroom-gate", "join"), ("x-anteroom-gate", "redirect")];
        assert_eq!(options("GET", "/seats", &both), (false, false), "one is a client's own");
    }

    #[test]
    fn only_who_comes_to_look_at_a_page_joins() {
        let joins = |method, headers: &[_]| {
            let gate = [headers, &[("x-anteroom-gate", "join")]].concat();
            let behind = options(method, "/seats", &gate).0;
            assert_eq!(behind, options(method, "?join=1", headers).0, "{method} {headers:?}");
            behind
        };
        assert!(joins("GET", &[]));
        assert!(joins("HEAD", &[("sec-fetch-dest", "document"), ("sec-fetch-site", "cross-site")]));
        for method in ["POST", "OPTIONS", "DELETE", "BREW"] {
            assert!(!joins(method, &[("sec-fetch-dest", "document")]), "{method}");
        }
        for dest in ["image", "iframe", "frame", "embed", "object", "empty", "script", ""] {
            assert!(!joins("GET", &[("sec-fetch-dest", dest)]), "{dest}");
        }
        let document = ("sec-fetch-dest", "document");
        for (name, value) in [
            ("sec-purpose", "prefetch"),
            ("sec-purpose", "prefetch;prerender"),
            ("sec-purpose", "prefetch;anonymous-client-ip"),
            ("purpose", "Prefetch"),
            ("purpose", "prerender"),
            ("purpose", "preview"),
            ("x-purpose", "preview"),
            ("x-purpose", "Preview"),
            ("x-moz", "prefetch"),
        ] {
            assert!(!joins("GET", &[document, (name, value)]), "{name}: {value}");
        }
    }

    #[test]
    fn the_visitor_s_method_is_the_one_that_the_gateway_says() {
        assert!(!options("GET", "?join=1", &[("x-forwarded-method", "POST")]).0);
        assert!(options("POST", "?join=1", &[("x-forwarded-method", "GET")]).0);
    }
}
