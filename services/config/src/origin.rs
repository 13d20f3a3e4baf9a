//! Origins of web pages, and the addresses that they are part of.

use url::{Host, Url};

use crate::parse::FromText;

/// The origin of a web page, in the form in which browsers send it: `https://shop.example`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin(String);

impl Origin {
    /// Scheme, host and, unless it is the usual one, port.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromText for Origin {
    const RULE: &'static str = "must be origins such as \"https://shop.example\": scheme, host \
        and port, and nothing more";

    fn from_text(text: &str) -> Option<Self> {
        let url = web_address(text)?;
        (url.path() == "/").then(|| Self(url.origin().ascii_serialization()))
    }
}

/// An http or https address without credentials, query or fragment.
pub(crate) fn web_address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    (["http", "https"].contains(&url.scheme()) && plain).then_some(url)
}

/// An origin in `admission.allowed_origins`: its pages act for the visitor, with the cookie.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllowedOrigin(Origin);

impl AllowedOrigin {
    /// Scheme, host and, unless it is the usual one, port.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromText for AllowedOrigin {
    const RULE: &'static str = "must be origins such as \"https://shop.example\": scheme, host and \
        port, and nothing more. Name each host: \"*\" matches none. Use https://; http:// is for \
        localhost and loopback addresses only";

    fn from_text(text: &str) -> Option<Self> {
        let origin = Origin::from_text(text)?;
        let url = Url::parse(origin.as_str()).ok()?;
        let named = !url.host_str()?.contains('*');
        (named && (url.scheme() == "https" || is_loopback(&url))).then_some(Self(origin))
    }
}

/// Whether an address leads to the machine that asks.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
