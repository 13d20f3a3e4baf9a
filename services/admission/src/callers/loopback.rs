//! A port without configured keys: it serves programs on this machine.
//!
//! The configuration makes it listen on loopback only. A proxy on this machine can still forward
//! requests of other machines, so it refuses forwarded requests. A foreign name server can point a
//! name at a loopback address (DNS rebinding), so it refuses other host names.

use std::net::Ipv4Addr;

use anteroom_authorize::problem::{Code, Problem};
use http::header::{HOST, HeaderName};
use http::uri::Authority;

use super::RequestHead;
use super::sender::Sender;

/// The sender of a request to a port that serves this machine only.
///
/// # Errors
///
/// `key_missing` for other machines. `forwarded_refused` for requests that came through a proxy, or
/// whose host is not a loopback name.
pub fn sender(head: &RequestHead<'_>) -> Result<Sender, Problem> {
    let RequestHead { uri, headers, peer, .. } = head;
    // The port can still be bound to the address of an earlier configuration.
    if !peer.is_some_and(|peer| peer.to_canonical().is_loopback()) {
        return Err(Problem::new(Code::KEY_MISSING)
            .detail("no keys are configured, so this port serves its own machine only"));
    }
    if headers.keys().any(is_forwarding) {
        return Err(Problem::new(Code::FORWARDED_REFUSED)
            .detail("no keys are configured, so this port refuses requests from proxies"));
    }
    // Against proxies that add no header, and against DNS rebinding.
    let mut hosts = headers.get_all(HOST).iter();
    let is_here = hosts.next().and_then(|host| host.to_str().ok()).is_some_and(is_loopback_name);
    // A whole address in the request line takes precedence over `Host`.
    let named = uri.authority().map(Authority::as_str);
    if is_here && hosts.next().is_none() && named.is_none_or(is_loopback_name) {
        Ok(Sender::of(head))
    } else {
        Err(Problem::new(Code::FORWARDED_REFUSED)
            .detail("no keys are configured, so call this port at localhost, 127.0.0.1 or [::1]"))
    }
}

/// Whether a `Host` is a loopback name, with any port.
pub fn is_loopback_name(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    // A `Host` with userinfo before the name, or with anything but a port after it, is not valid.
    let rest = authority.as_str().strip_prefix(name);
    let has_port = |rest: &str| rest.is_empty() || authority.port_u16().is_some();
    let is_loopback = name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
        || name == "[::1]";
    is_loopback && rest.is_some_and(has_port)
}

/// A header that proxies add.
fn is_forwarding(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("x-forwarded-")
        || ["forwarded", "x-real-ip", "x-original-uri", "x-original-url", "via"].contains(&name)
}
