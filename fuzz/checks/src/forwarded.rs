//! The client's address: the right-most one that we do not trust, whatever a client invents.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anteroom_authorize::callers::client_address::client_address;
use http::{HeaderMap, HeaderValue};
use ipnet::IpNet;

/// The first byte says who is trusted and who is the peer; each further line is one
/// `X-Forwarded-For`.
pub fn check(data: &[u8]) {
    let (mode, rest) = crate::with_mode(data);
    let trusted = trusted(mode);
    let peer = if mode & 4 == 0 { [10, 0, 0, 1] } else { [203, 0, 113, 9] }.into();
    let lines: Vec<_> = rest.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let Some(client) = client_of(peer, &lines, &trusted) else { return };
    assert_eq!(client, expected(peer, &lines, &trusted));
    if trusted.iter().any(|net| net.contains(&client)) {
        return;
    }
    // All to the left of an address that we do not trust was written by its owner.
    for invented in ["6.6.6.6, ", "10.0.0.7,", "::1,, ", "junk, "] {
        let mut lines = lines.clone();
        if let Some(first) = lines.first_mut() {
            first.splice(..0, invented.bytes());
        }
        assert_eq!(client_of(peer, &lines, &trusted), Some(client), "behind {invented:?}");
        lines.insert(0, invented.trim().into());
        assert_eq!(client_of(peer, &lines, &trusted), Some(client), "behind a line {invented:?}");
    }
}

fn trusted(mode: u8) -> Vec<IpNet> {
    let nets: &[&str] = match mode & 3 {
        0 => &[],
        1 => &["10.0.0.0/8", "fd00::/8"],
        2 => &["10.0.0.0/8", "203.0.113.0/24", "2001:db8::/32"],
        _ => &["0.0.0.0/0", "::/0"],
    };
    nets.iter().map(|net| net.parse().expect("a network")).collect()
}

/// Nothing when a line cannot be a header.
fn client_of(peer: IpAddr, lines: &[Vec<u8>], trusted: &[IpNet]) -> Option<IpAddr> {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append("x-forwarded-for", HeaderValue::from_bytes(line).ok()?);
    }
    Some(client_address(peer, &headers, trusted))
}

/// The same rule, written the other way round: of the addresses that can be read from the end, the
/// last that is not trusted; the peer when all are.
fn expected(peer: IpAddr, lines: &[Vec<u8>], trusted: &[IpNet]) -> IpAddr {
    let list = lines.join(&b',');
    let mut readable = vec![peer];
    for entry in list.rsplit(|&byte| byte == b',') {
        let Ok(entry) = std::str::from_utf8(entry) else { break };
        let entry = entry.trim_matches([' ', '\t']);
        if entry.is_empty() {
            continue;
        }
        let Some(address) = address(entry) else { break };
        readable.push(address);
    }
    let untrusted = |address: &&IpAddr| !trusted.iter().any(|net| net.contains(*address));
    *readable.iter().find(untrusted).unwrap_or(&peer)
}

fn address(entry: &str) -> Option<IpAddr> {
    let address = if let Ok(address) = entry.parse::<IpAddr>() {
        address
    } else if let Ok(both) = entry.parse::<SocketAddr>() {
        both.ip()
    } else {
        entry.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?
    };
    Some(match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, |v4: Ipv4Addr| v4.into()),
        IpAddr::V4(_) => address,
    })
}
