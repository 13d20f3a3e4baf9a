//! The domain that gets the cookie of a place.

use url::Host;

use crate::error::Fault;

/// Refuses what browsers would refuse, and then keep no place.
pub(crate) fn check(domain: &str, key: &str) -> Result<(), Fault> {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
    };
    Fault::unless(
        domain.len() <= 253 && domain.split('.').count() >= 2 && domain.split('.').all(is_label),
        key,
        "must be a domain in lower case such as \"shop.example\", without a dot in front",
    )?;
    Fault::unless(
        matches!(Host::parse(domain), Ok(Host::Domain(_))),
        key,
        "must not be an IP address: browsers refuse the cookie. Leave the key out, and the cookie \
         goes to the host that set it",
    )?;
    Fault::unless(
        psl::suffix_str(domain) != Some(domain),
        key,
        "must not be a public suffix, which strangers share: browsers refuse the cookie. Use your \
         own domain below it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_domain_of_one_owner_gets_the_cookie() {
        for good in
            ["shop.example", "a.shop.example", "shop.co.uk", "me.github.io", "xn--80ak6aa.com"]
        {
            check(good, "k").unwrap_or_else(|fault| panic!("{good}: {}", fault.rule));
        }
        for (bad, rule) in [
            ("example", "must be a domain"),
            (".shop.example", "must be a domain"),
            ("Shop.example", "must be a domain"),
            ("192.0.2.1", "must not be an IP address"),
            ("127.1", "must not be an IP address"),
            ("10.0.0.0x7f", "must not be an IP address"),
            ("co.uk", "must not be a public suffix"),
            ("github.io", "must not be a public suffix"),
            ("com.au", "must not be a public suffix"),
            ("s3.amazonaws.com", "must not be a public suffix"),
        ] {
            let fault = check(bad, "k").expect_err(bad);
            assert!(fault.rule.starts_with(rule), "{bad}: {}", fault.rule);
        }
    }
}
