//! Which pages may call: the guard of changing calls that a cookie authenticates, and CORS.
//!
//! A browser sends the cookie with requests that other sites start. So a changing call that is
//! authenticated by cookie must say that it comes from the same origin (`Sec-Fetch-Site`, which no
//! page can set), or from an origin in `allowed_origins`; or from no browser at all, which is when
//! it carries neither header. Calls with a token in a header need no such proof: no other site
//! knows the token.
//!
//! `allowed_origins` is also who may read our answers (CORS), by name. Any page may read what is
//! the same for all visitors.

use http::Method;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::single::single;

/// From where a browser sends a request, which no page can set.
pub const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
const REQUEST_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, idempotency-key, x-anteroom-application, x-anteroom-position, \
     x-anteroom-token",
);
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("retry-after, x-request-id");
const PREFLIGHT_SECONDS: HeaderValue = HeaderValue::from_static("600");

/// The origins of `allowed_origins`.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    allowed: Vec<HeaderValue>,
}

impl Origins {
    /// Takes the configured origins, in the form in which browsers send them.
    pub fn new<'a>(allowed: impl IntoIterator<Item = &'a str>) -> Self {
        // A checked origin is ASCII, so none is lost here.
        let allowed = allowed.into_iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
        Self { allowed: allowed.collect() }
    }

    /// Whether a changing call that its cookie authenticates may go on: one with this
    /// `Sec-Fetch-Site` and this `Origin`. Not if another site may have started it.
    ///
    /// `public_url` is where the queue's own page lives: browsers too old for `Sec-Fetch-Site`
    /// still name their origin, and that one is the same origin.
    pub fn allow_change(
        &self,
        site: Option<&HeaderValue>,
        origin: Option<&HeaderValue>,
        public_url: &url::Url,
    ) -> bool {
        match (site.map(HeaderValue::as_bytes), origin) {
            (Some(b"same-origin"), _) => true,
            // No page sent it: the client is no browser, or the user typed the address.
            (None | Some(b"none"), None) => true,
            (None, Some(origin)) => self.allows(origin) || is_origin_of(public_url, origin),
            (Some(_), Some(origin)) => self.allows(origin),
            (Some(_), None) => false,
        }
    }

    fn allows(&self, origin: &HeaderValue) -> bool {
        self.allowed.contains(origin)
    }

    /// What CORS has to do with a request to a visitors' route; nothing while no origin is allowed.
    /// (Not with the gate's: there OPTIONS is the service's.)
    pub fn cors(&self, method: &Method, request: &HeaderMap) -> Option<Cors> {
        if self.allowed.is_empty() {
            return None;
        }
        let mut headers = HeaderMap::new();
        let origin = single(request, &header::ORIGIN).unwrap_or_default();
        if let Some(origin) = origin.filter(|origin| self.allows(origin)) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            let yes = HeaderValue::from_static("true");
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, yes);
        }
        let is_preflight = method == Method::OPTIONS
            && request.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
            && !headers.is_empty();
        if is_preflight {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS);
        } else if !headers.is_empty() {
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        }
        Some(Cors { headers, is_preflight, varies: true })
    }
}

/// What CORS adds to an answer.
#[derive(Debug)]
pub struct Cors {
    headers: HeaderMap,
    /// Whether the request is the preflight of an allowed origin. Its whole answer is 204.
    pub is_preflight: bool,
    /// Whether it depends on the origin.
    varies: bool,
}

impl Cors {
    /// Each page may read the answer, without credentials: it is not of one visitor.
    pub fn any() -> Self {
        let any = (header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        Self { headers: HeaderMap::from_iter([any]), is_preflight: false, varies: false }
    }

    /// Says who may read the answer.
    pub fn mark(self, answer: &mut HeaderMap) {
        answer.extend(self.headers);
        if self.varies {
            // Also without an Origin: a cache must not mix them up.
            answer.append(header::VARY, HeaderValue::from_static("origin"));
        }
    }
}

fn is_origin_of(url: &url::Url, origin: &HeaderValue) -> bool {
    url.origin().is_tuple() && origin.as_bytes() == url.origin().ascii_serialization().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callers::headers;

    const OTHER: &str = "https://other.example";

    fn check(pairs: &[(&'static str, &'static str)]) -> bool {
        let public_url = "https://shop.example/room".parse().expect("a URL");
        let origins = Origins::new(["https://app.example"]);
        let headers = headers(pairs);
        let (site, origin) = (headers.get(SEC_FETCH_SITE), headers.get(header::ORIGIN));
        origins.allow_change(site, origin, &public_url)
    }

    #[test]
    fn the_same_origin_and_allowed_ones_may_change() {
        assert!(check(&[("sec-fetch-site", "same-origin")]));
        assert!(check(&[("sec-fetch-site", "same-origin"), ("origin", "https://shop.example")]));
        assert!(check(&[("sec-fetch-site", "cross-site"), ("origin", "https://app.example")]));
        assert!(check(&[("origin", "https://app.example")]));
        assert!(check(&[]), "curl");
        assert!(check(&[("sec-fetch-site", "none")]), "typed by the user");
        assert!(check(&[("origin", "https://shop.example")]), "a browser without Sec-Fetch-Site");
    }

    #[test]
    fn promise_6_other_sites_may_not_change() {
        for site in ["cross-site", "same-site", "none", "Same-Origin", ""] {
            assert!(!check(&[("sec-fetch-site", site), ("origin", OTHER)]), "{site}");
        }
        for site in ["cross-site", "same-site", "Same-Origin", ""] {
            assert!(!check(&[("sec-fetch-site", site)]), "{site}");
        }
        for origin in [OTHER, "null", "http://shop.example", "https://shop.example:8443", "*", ""] {
            assert!(!check(&[("origin", origin)]), "{origin}");
        }
    }

    fn answer(method: Method, pairs: &[(&'static str, &'static str)]) -> (bool, HeaderMap) {
        let origins = Origins::new(["https://app.example"]);
        let cors = origins.cors(&method, &headers(pairs)).expect("an origin is allowed");
        let is_preflight = cors.is_preflight;
        let mut answer = HeaderMap::new();
        if !is_preflight {
            answer.insert(header::VARY, HeaderValue::from_static("accept"));
        }
        cors.mark(&mut answer);
        (is_preflight, answer)
    }

    #[test]
    fn without_allowed_origins_there_is_no_cors() {
        let asks = [("origin", OTHER), ("access-control-request-method", "POST")];
        assert!(Origins::default().cors(&Method::OPTIONS, &headers(&asks)).is_none());
    }

    #[test]
    fn an_allowed_origin_is_named_and_no_other() {
        let (_, allowed) = answer(Method::POST, &[("origin", "https://app.example")]);
        assert_eq!(allowed["access-control-allow-origin"], "https://app.example");
        assert_eq!(allowed["access-control-allow-credentials"], "true");
        let vary: Vec<_> = allowed.get_all("vary").iter().collect();
        assert_eq!(vary, ["accept", "origin"]);

        for pairs in
            [&[("origin", OTHER)][..], &[("origin", "https://app.example"), ("origin", OTHER)]]
        {
            let (_, other) = answer(Method::POST, pairs);
            assert!(!other.contains_key("access-control-allow-origin"), "{pairs:?}");
        }
        let (_, other) = answer(Method::POST, &[("origin", OTHER)]);
        assert!(other.get_all("vary").iter().any(|vary| vary == "origin"));
    }

    #[test]
    fn a_preflight_is_answered_for_allowed_origins_only() {
        let asks = ("access-control-request-method", "DELETE");
        let (is_preflight, allowed) =
            answer(Method::OPTIONS, &[("origin", "https://app.example"), asks]);
        assert!(is_preflight);
        assert_eq!(allowed["access-control-allow-methods"], METHODS);
        assert_eq!(allowed["access-control-allow-headers"], REQUEST_HEADERS);

        for pairs in [&[("origin", OTHER), asks][..], &[("origin", "https://app.example")], &[asks]]
        {
            let (is_preflight, refused) = answer(Method::OPTIONS, pairs);
            assert!(!is_preflight);
            assert!(!refused.contains_key("access-control-allow-methods"));
        }
    }
}
