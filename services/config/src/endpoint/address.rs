//! Which addresses a webhook may reach.
//!
//! Public ones; the networks of one's own only when the event's `allow_private` says so; and never
//! what no receiver has, such as the metadata services of the clouds: their answers hold the
//! credentials of the machine. An IPv6 address that embeds an IPv4 one is judged as that one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far away an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// On the Internet.
    Public,
    /// In a network of one's own, or on this machine.
    Private,
    /// No receiver: metadata, link-local, unspecified, multicast, reserved.
    Never,
}

/// Metadata services that do not stand on a link-local address: Alibaba, Azure and Oracle.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];
/// The same of AWS and Google.
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// How far away an address is.
pub fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

/// By the registry of special-purpose addresses of IANA (RFC 6890).
fn reach_v4(address: Ipv4Addr) -> Reach {
    if METADATA_V4.contains(&address) {
        return Reach::Never;
    }
    match address.octets() {
        [10, ..] | [127, ..] | [172, 16..=31, ..] | [192, 168, ..] => Reach::Private,
        // Behind the translation of a carrier, and of some clouds.
        [100, 64..=127, ..] => Reach::Private,
        // "This network", link-local, protocols, documentation, 6to4, benchmarks.
        [0, ..] | [169, 254, ..] | [192, 0, 0 | 2, _] | [192, 88, 99, _] => Reach::Never,
        [198, 18..=19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => Reach::Never,
        // Multicast, reserved, broadcast.
        [224..=255, ..] => Reach::Never,
        _ => Reach::Public,
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        reach_v4(Ipv4Addr::new(a, b, c, d))
    };
    if METADATA_V6.contains(&address) {
        return Reach::Never;
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Reach::Private,
        // Mapped: never on a wire, so at least not public.
        [0, 0, 0, 0, 0, 0xffff, high, low] => embedded(high, low).max(Reach::Private),
        // Translated (RFC 6052), as DNS64 makes them of any IPv4 address.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => embedded(high, low),
        // Unique local.
        [0xfc00..=0xfdff, ..] => Reach::Private,
        // Protocols (Teredo among them), documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Reach::Never,
        [0x2000..=0x3fff, ..] => Reach::Public,
        _ => Reach::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Reach {
        reach(text.parse().unwrap_or_else(|_| panic!("{text} is no address")))
    }

    #[test]
    fn the_internet_is_public() {
        for text in [
            "1.1.1.1",
            "9.255.255.255",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "64:ff9b::1.1.1.1",
            "2002:101:101::1",
        ] {
            assert_eq!(judged(text), Reach::Public, "{text}");
        }
    }

    #[test]
    fn networks_of_ones_own_are_private() {
        for text in [
            "10.0.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "::1",
            "fc00::1",
            "fd12:3456::1",
            "::ffff:10.0.0.1",
            "::ffff:1.1.1.1",
            "64:ff9b::10.0.0.1",
            "2002:a00:1::1",
        ] {
            assert_eq!(judged(text), Reach::Private, "{text}");
        }
    }

    #[test]
    fn no_receiver_is_there() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "192.0.2.1",
            "198.19.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1.1.1.1",
            "::ffff:169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::1",
            "2002:a9fe:a9fe::1",
            "2001::1",
            "2001:db8::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "fd20:ce::254",
        ] {
            assert_eq!(judged(text), Reach::Never, "{text}");
        }
    }
}
