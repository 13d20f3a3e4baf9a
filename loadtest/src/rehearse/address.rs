//! Where visitors come from: addresses spread over many networks.

use std::net::Ipv6Addr;

/// So many visitors share a /64, as a household does.
const IN_A_HOUSEHOLD: u32 = 4;
/// So many share a /48, as the customers of a provider do.
const IN_A_SITE: u32 = 64;

/// The address of a visitor, out of the range for documentation (RFC 3849).
pub fn of(visitor: u32) -> Ipv6Addr {
    let (site, household) = (visitor / IN_A_SITE, visitor / IN_A_HOUSEHOLD % IN_A_SITE);
    // A /32 holds 65 536 sites; more visitors than that begin again with other households.
    let (site, round) = (site % 0x1_0000, site / 0x1_0000);
    let network = 0x2001_0db8_u128 << 96
        | u128::from(site) << 80
        | u128::from(round * IN_A_SITE + household) << 64;
    Ipv6Addr::from(network | (u128::from(visitor) + 1))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::of;

    #[test]
    fn visitors_are_spread_over_many_networks() {
        let (mut households, mut sites) = (HashMap::new(), HashMap::new());
        for visitor in 0..100_000 {
            let bits = u128::from(of(visitor));
            *households.entry(bits >> 64).or_insert(0) += 1;
            *sites.entry(bits >> 80).or_insert(0) += 1;
        }
        assert_eq!(households.len(), 25_000);
        assert!(households.values().all(|in_it| *in_it == 4));
        assert!(sites.values().all(|in_it| *in_it <= 64));
        assert_ne!(of(7), of(7 + 64 * 65_536));
    }
}
