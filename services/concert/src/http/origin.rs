//! Protection against cross-site request forgery (CSRF). Copy this rule into a service of your own.
//!
//! A browser sends the visitor's cookies with requests that pages of other sites start. A gateway
//! in front cannot see the difference: the cookie is valid. So the service itself refuses changing
//! calls that a page of another origin may have started. Browsers name that page in two headers,
//! which no page can set: `Sec-Fetch-Site`, and in older browsers `Origin` alone.

use http::header::{HeaderMap, HeaderName, ORIGIN};
use url::Url;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a changing call may go on. Another host of the same domain is another origin.
pub fn may_change(headers: &HeaderMap, public_url: &Url) -> bool {
    let Ok(site) = at_most_one(headers, SEC_FETCH_SITE) else { return false };
    let Ok(origin) = at_most_one(headers, ORIGIN) else { return false };
    match (site, origin) {
        (Some(b"same-origin"), _) => true,
        // No browser, or the user typed the address.
        (None | Some(b"none"), None) => true,
        // A browser without Sec-Fetch-Site.
        (None, Some(origin)) => origin == public_url.origin().ascii_serialization().as_bytes(),
        (Some(_), _) => false,
    }
}

/// Two lines of one header come from no browser.
fn at_most_one(headers: &HeaderMap, name: HeaderName) -> Result<Option<&[u8]>, ()> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(|value| value.as_bytes());
    if values.next().is_none() { Ok(first) } else { Err(()) }
}
