//! The sender of a request: a program, or a browser, and for which page.
//!
//! Browsers add `Sec-Fetch-Site` to requests to an `https` or a loopback address. No page can set
//! it itself. In a browser, only the console's own page can use this port without a key in the
//! request. Any other page could act with the permissions of its visitor.

use anteroom_authorize::callers::origin::SEC_FETCH_SITE;
use anteroom_authorize::callers::single::single;
use anteroom_authorize::problem::{Code, Problem};
use http::header::ORIGIN;

use super::RequestHead;

/// The sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// A program that is not a browser.
    Program,
    /// A page of this port.
    OwnPage,
    /// The user of a browser, who typed the address or opened a bookmark.
    User,
    /// Another page, or one whose origin is unclear.
    OtherPage,
    /// A page of this port by `Sec-Fetch-Site`, but not by `Origin`. A proxy can have changed
    /// `Host`.
    OtherHost,
}

impl Sender {
    /// The sender of a request with this head.
    pub fn of(head: &RequestHead<'_>) -> Self {
        let (Ok(site), Ok(origin)) =
            (single(head.headers, &SEC_FETCH_SITE), single(head.headers, &ORIGIN))
        else {
            return Self::OtherPage;
        };
        let site = site.map(|site| site.as_bytes());
        match (site, origin.map(|origin| origin.as_bytes())) {
            (None, None) => Self::Program,
            (Some(b"none"), None) => Self::User,
            // Browsers name the origin in each call that can change something.
            (Some(b"same-origin"), None) if head.method.is_safe() => Self::OwnPage,
            (Some(b"same-origin"), Some(origin)) if is_of_host(origin, head.host()) => {
                Self::OwnPage
            }
            (Some(b"same-origin"), _) => Self::OtherHost,
            _ => Self::OtherPage,
        }
    }
}

/// The refusal for a page that is not the console.
pub fn other_page() -> Problem {
    Problem::new(Code::ORIGIN_REFUSED).detail(
        "this port refuses all web pages except its own console. In a request of the console, \
         `Origin` equals `Host`: a proxy in front must pass `Host`",
    )
}

/// Whether an origin has this host. The scheme can be either, because a proxy can terminate TLS.
fn is_of_host(origin: &[u8], host: Option<&str>) -> bool {
    let Some(host) = host.filter(|host| !host.is_empty()) else { return false };
    let named = origin.strip_prefix(b"https://").or_else(|| origin.strip_prefix(b"http://"));
    named.is_some_and(|named| named.eq_ignore_ascii_case(host.as_bytes()))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

    use super::*;

    fn sender(method: Method, host: &str, pairs: &[(&'static str, &'static str)]) -> Sender {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::HOST, host.parse().expect("a header"));
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let uri = Uri::from_static("/v1/admin/queues/shop");
        Sender::of(&RequestHead { method: &method, uri: &uri, headers: &headers, peer: None })
    }

    const SITE: &str = "sec-fetch-site";

    #[test]
    fn a_program_sends_no_header_of_a_browser() {
        assert_eq!(sender(Method::PATCH, "a:1", &[]), Sender::Program);
        assert_eq!(sender(Method::GET, "a:1", &[(SITE, "none")]), Sender::User);
    }

    #[test]
    fn a_page_of_this_port_names_its_host_in_each_changing_call() {
        let own = [(SITE, "same-origin"), ("origin", "http://localhost:8081")];
        assert_eq!(sender(Method::PATCH, "localhost:8081", &own), Sender::OwnPage);
        assert_eq!(sender(Method::GET, "LocalHost:8081", &own), Sender::OwnPage);
        assert_eq!(sender(Method::GET, "localhost:8081", &own[..1]), Sender::OwnPage);
        assert_eq!(sender(Method::PATCH, "localhost:8081", &own[..1]), Sender::OtherHost);
        let behind_tls = [(SITE, "same-origin"), ("origin", "https://console.example")];
        assert_eq!(sender(Method::DELETE, "console.example", &behind_tls), Sender::OwnPage);
    }

    #[test]
    fn every_other_page_is_another_page() {
        for host in ["localhost:8080", "127.0.0.1:8081", "evil.example", "localhost", ""] {
            let own = [(SITE, "same-origin"), ("origin", "http://localhost:8081")];
            for method in [Method::GET, Method::POST] {
                assert_eq!(sender(method, host, &own), Sender::OtherHost, "{host}");
            }
        }
        for site in ["cross-site", "same-site", "Same-Origin", "", "same-origin, same-origin"] {
            assert_eq!(sender(Method::GET, "a:1", &[(SITE, site)]), Sender::OtherPage, "{site}");
        }
        for pairs in [
            &[("origin", "http://a:1")][..],
            &[("origin", "null")],
            &[(SITE, "none"), ("origin", "http://a:1")],
            &[(SITE, "same-origin"), (SITE, "none")],
            &[(SITE, "same-origin"), ("origin", "http://a:1"), ("origin", "http://b:1")],
        ] {
            assert_eq!(sender(Method::GET, "a:1", pairs), Sender::OtherPage, "{pairs:?}");
        }
        for origin in ["null", "a:1", "http://", "http://a:1.evil"] {
            let pairs = [(SITE, "same-origin"), ("origin", origin)];
            assert_eq!(sender(Method::GET, "a:1", &pairs), Sender::OtherHost, "{origin}");
        }
    }
}
