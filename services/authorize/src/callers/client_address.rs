//! Whose request it is: the client's address behind any number of proxies.
//!
//! The address is the right-most one that is not in `trusted_proxies`, read from the peer leftwards
//! through `X-Forwarded-For`. Each proxy appends the address it saw, so trusted proxies wrote
//! everything to the right of the first untrusted address, and everything to its left may be
//! invented. If there is no such address, the peer counts: a client inside a trusted network could
//! have written every entry. Only `X-Forwarded-For` is read (`Forwarded` and `X-Real-IP` are not):
//! a gateway must append to it, as NGINX does with `$proxy_add_x_forwarded_for`.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use http::HeaderMap;
use http::header::{FORWARDED, HeaderName};
use ipnet::IpNet;
use prometheus::IntCounter;

/// The least time between two warnings about headers that are not believed; all are counted.
const WARN_EVERY: Duration = Duration::from_secs(600);
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The client's address; IPv4-mapped IPv6 addresses come out as IPv4.
///
/// An entry that cannot be read ends the walk, as the end of the list does.
pub fn client_address(peer: IpAddr, headers: &HeaderMap, trusted_proxies: &[IpNet]) -> IpAddr {
    let trusted = |address: &IpAddr| trusted_proxies.iter().any(|net| net.contains(address));
    let peer = peer.to_canonical();
    if !trusted(&peer) {
        return peer;
    }
    // Several header lines mean one list, in their order; it is read from its end.
    let lines: Vec<_> = headers.get_all(X_FORWARDED_FOR).iter().collect();
    let entries = lines.iter().rev().flat_map(|line| line.as_bytes().rsplit(|&byte| byte == b','));
    let entries = entries.map(<[u8]>::trim_ascii).filter(|entry| !entry.is_empty());
    entries.map_while(parse).find(|address| !trusted(address)).unwrap_or(peer)
}

/// Counts and logs forwarding headers that are not believed: either the proxy in front is missing
/// in `trusted_proxies`, and all its visitors share one address; or a visitor invents an address.
#[derive(Debug)]
pub struct Forwarding {
    ignored: IntCounter,
    created: Instant,
    /// When the next warning is due, in seconds after `created`.
    next_warning: AtomicU64,
}

impl Forwarding {
    /// Counts in `ignored`.
    pub fn new(ignored: IntCounter) -> Self {
        Self { ignored, created: Instant::now(), next_warning: AtomicU64::new(0) }
    }

    /// Looks at one request, which came `now`.
    pub fn note(&self, peer: IpAddr, headers: &HeaderMap, trusted_proxies: &[IpNet], now: Instant) {
        let peer = peer.to_canonical();
        if trusted_proxies.iter().any(|net| net.contains(&peer)) {
            return;
        }
        if !headers.contains_key(X_FORWARDED_FOR) && !headers.contains_key(FORWARDED) {
            return;
        }
        self.ignored.inc();
        if self.is_warning_due(now) {
            tracing::warn!(
                %peer,
                "a forwarding header is ignored, because the peer is not in \
                 admission.trusted_proxies: joins_per_address and places_per_address count the \
                 peer's own address. If the peer is your proxy, add it to trusted_proxies",
            );
        }
    }

    fn is_warning_due(&self, now: Instant) -> bool {
        let now = now.saturating_duration_since(self.created).as_secs();
        let (due, next) = (self.next_warning.load(Relaxed), now + WARN_EVERY.as_secs());
        // Of several requests that find it due, one warns.
        now >= due && self.next_warning.compare_exchange(due, next, Relaxed, Relaxed).is_ok()
    }
}

/// Reads `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` and `[2001:db8::1]:80`.
fn parse(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?;
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().or_else(|_| text.parse::<SocketAddr>().map(|both| both.ip()));
    Some(address.ok()?.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn client(peer: &str, lines: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_str(line).expect("a header"));
        }
        let trusted: Vec<_> = trusted.iter().map(|net| net.parse().expect("a network")).collect();
        client_address(peer.parse().expect("an address"), &headers, &trusted).to_string()
    }

    #[test]
    fn the_right_most_untrusted_address_is_the_client() {
        let proxies = ["10.0.0.0/8", "fd00::/8"];
        for (peer, lines, expected) in [
            ("10.0.0.1", &["203.0.113.7"][..], "203.0.113.7"),
            ("10.0.0.1", &["6.6.6.6, 203.0.113.7"], "203.0.113.7"),
            ("10.0.0.1", &["6.6.6.6, 203.0.113.7, 10.9.9.9"], "203.0.113.7"),
            ("10.0.0.1", &["6.6.6.6", "203.0.113.7", "10.9.9.9"], "203.0.113.7"),
            ("10.0.0.1", &["6.6.6.6, 203.0.113.7", "10.9.9.9"], "203.0.113.7"),
            ("::ffff:10.0.0.1", &["203.0.113.7"], "203.0.113.7"),
            ("fd00::1", &["2001:db8::5"], "2001:db8::5"),
            // Every entry is trusted: a client inside these networks may have written them.
            ("10.0.0.1", &["10.1.1.1, 10.2.2.2"], "10.0.0.1"),
            ("10.0.0.1", &["10.1.1.1", "fd00::2"], "10.0.0.1"),
            ("::ffff:10.0.0.1", &["10.1.1.1"], "10.0.0.1"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &[""], "10.0.0.1"),
        ] {
            assert_eq!(client(peer, lines, &proxies), expected, "{peer} {lines:?}");
        }
    }

    #[test]
    fn headers_that_are_not_believed_are_counted_and_logged_seldom() {
        let forwarding = Forwarding::new(IntCounter::new("ignored", "ignored").expect("a name"));
        let trusted = ["10.0.0.0/8".parse().expect("a network")];
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("shop.example"));
        let stranger = "203.0.113.7".parse().expect("an address");
        let now = forwarding.created;
        forwarding.note(stranger, &headers, &trusted, now);
        assert_eq!(forwarding.ignored.get(), 0);
        headers.insert(X_FORWARDED_FOR, HeaderValue::from_static("203.0.113.8"));
        for proxy in ["10.0.0.1", "::ffff:10.0.0.1"] {
            forwarding.note(proxy.parse().expect("an address"), &headers, &trusted, now);
        }
        assert_eq!(forwarding.ignored.get(), 0);
        assert_eq!(forwarding.next_warning.load(Relaxed), 0);
        for _ in 0..3 {
            forwarding.note(stranger, &headers, &trusted, now);
        }
        assert_eq!(forwarding.ignored.get(), 3);

        assert!(!forwarding.is_warning_due(now + WARN_EVERY - Duration::from_millis(1)));
        assert!(forwarding.is_warning_due(now + WARN_EVERY));
        assert!(!forwarding.is_warning_due(now + WARN_EVERY));
    }

    #[test]
    fn every_way_to_write_an_address_is_read() {
        for (entry, expected) in [
            ("203.0.113.7:4711", "203.0.113.7"),
            ("2001:db8::5", "2001:db8::5"),
            ("[2001:db8::5]", "2001:db8::5"),
            ("[2001:db8::5]:4711", "2001:db8::5"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("[::ffff:203.0.113.7]:80", "203.0.113.7"),
            (" \t203.0.113.7 ,, ", "203.0.113.7"),
        ] {
            assert_eq!(client("10.0.0.1", &[entry], &["10.0.0.0/8"]), expected, "{entry}");
        }
    }

    #[test]
    fn garbage_ends_the_walk_and_the_peer_counts() {
        for garbage in ["unknown", "203.0.113.256", "fe80::1%eth0", "[203.0.113.7", "\u{e9}", "_x"]
        {
            let line = format!("203.0.113.7, {garbage}, 10.9.9.9");
            assert_eq!(client("10.0.0.1", &[&line], &["10.0.0.0/8"]), "10.0.0.1", "{garbage}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_survived(
            peer: IpAddr, bytes: Vec<u8>, entries in "[0-9a-f.:, \\[\\]]{0,60}",
        ) {
            let everyone = ["0.0.0.0/0".parse()?, "::/0".parse()?];
            let mut headers = HeaderMap::new();
            for bytes in [&bytes[..], entries.as_bytes()] {
                if let Ok(value) = HeaderValue::from_bytes(bytes) {
                    headers.append(X_FORWARDED_FOR, value);
                }
            }
            client_address(peer, &headers, &everyone);
        }

        #[test]
        fn an_untrusted_peer_cannot_name_another(peer: IpAddr, claimed: Vec<IpAddr>) {
            let line = claimed.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
            let mut headers = HeaderMap::new();
            headers.insert(X_FORWARDED_FOR, HeaderValue::from_str(&line)?);
            prop_assert_eq!(client_address(peer, &headers, &[]), peer.to_canonical());
        }

        #[test]
        fn what_a_client_invents_changes_nothing(
            invented in any::<Vec<IpAddr>>(), client: [u8; 4],
        ) {
            let client = IpAddr::from([203, 0, client[2], client[3]]);
            let trusted = ["10.0.0.0/8".parse()?];
            let line = invented.iter().chain([&client]).map(IpAddr::to_string).collect::<Vec<_>>();
            let mut headers = HeaderMap::new();
            headers.insert(X_FORWARDED_FOR, HeaderValue::from_str(&line.join(", "))?);
            let seen = client_address(IpAddr::from([10, 0, 0, 1]), &headers, &trusted);
            prop_assert!(seen == client);
        }
    }
}
