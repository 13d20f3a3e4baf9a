//! Lists of networks: whose word is trusted, and who is not counted.

use ipnet::IpNet;

use crate::error::Fault;

/// Addresses that no visitor has: "this network", loopback, multicast and reserved; in IPv6 all
/// but the global unicast addresses, `2000::/3`.
const NO_VISITORS: [&str; 6] =
    ["0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3", "::/3", "4000::/2", "8000::/1"];

/// The shortest prefixes, IPv4 and IPv6, of a network that may be one cluster's pods.
const LARGE: [u8; 2] = [16, 48];

/// Refuses a list that holds every visitor's address: `0.0.0.0/0`, in parts.
pub(crate) fn check(networks: &[IpNet], key: &str) -> Result<(), Fault> {
    // The texts are networks, as a test reads them.
    let others = NO_VISITORS.iter().filter_map(|net| net.parse().ok());
    let all = IpNet::aggregate(&networks.iter().copied().chain(others).collect());
    Fault::unless(
        all.iter().all(|net| net.prefix_len() > 0),
        key,
        "must not hold all addresses of IPv4 or IPv6 together, as /0 would; list only the networks \
         that you need",
    )
}

/// What is allowed of trusted networks, but seldom meant.
pub(crate) fn warning(trusted: &[IpNet], key: &str) -> Option<String> {
    let is_large = |net: &IpNet| {
        let [v4, v6] = LARGE;
        net.prefix_len() < if net.addr().is_ipv4() { v4 } else { v6 }
    };
    let large: Vec<_> = IpNet::aggregate(&trusted.to_vec())
        .iter()
        .filter(|net| is_large(net))
        .map(ToString::to_string)
        .collect();
    (!large.is_empty()).then(|| {
        format!(
            "{key} trusts {}, more than /16 (IPv6: /48): every client in it can claim any address; \
             list only the addresses of your proxies",
            large.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().expect("a network")).collect()
    }

    fn is_refused(texts: &[&str]) -> bool {
        check(&nets(texts), "exempt").is_err()
    }

    #[test]
    fn all_addresses_in_parts_are_all_addresses() {
        assert_eq!(nets(&NO_VISITORS).len(), NO_VISITORS.len());
        let eighths: Vec<_> = (0..8).map(|at| format!("{}.0.0.0/3", at * 32)).collect();
        let eighths: Vec<_> = eighths.iter().map(String::as_str).collect();
        assert!(is_refused(&eighths));
        for all in [
            &["0.0.0.0/1", "128.0.0.0/1"][..],
            &["10.0.0.0/8", "128.0.0.0/1", "0.0.0.0/2", "64.0.0.0/2"],
            &["0.0.0.0/1", "128.0.0.0/2", "192.0.0.0/3"],
            &["::/1", "8000::/1"],
            &["fd00::/8", "2000::/4", "3000::/4"],
            &["2000::/3"],
        ] {
            assert!(is_refused(all), "{all:?}");
        }
        for part in [
            &[][..],
            &eighths[..6],
            &["0.0.0.0/1", "192.0.0.0/3"],
            &["0.0.0.0/1", "8000::/1"],
            &["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
            &["2000::/4"],
        ] {
            assert!(!is_refused(part), "{part:?}");
        }
    }

    #[test]
    fn large_networks_are_warned_of_also_in_parts() {
        let warned = |texts: &[&str]| warning(&nets(texts), "admission.trusted_proxies");
        for small in [&[][..], &["10.20.0.0/16", "2001:db8::/48"], &["192.0.2.1/32"]] {
            assert_eq!(warned(small), None);
        }
        let expected = "admission.trusted_proxies trusts 10.20.0.0/15, fd00::/8, more than /16";
        let parts = warned(&["fd00::/8", "10.20.0.0/16", "192.0.2.0/24", "10.21.0.0/16"]);
        assert!(parts.as_ref().is_some_and(|text| text.starts_with(expected)), "{parts:?}");
    }
}
