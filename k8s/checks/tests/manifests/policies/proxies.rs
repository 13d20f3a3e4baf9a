//! Whose word on a visitor's address counts.

use serde_json::Value;

use super::Findings;
use crate::rendered::{find, of_kind};

/// The networks for documentation (RFC 5737, RFC 3849): no client has such an address.
const DOCUMENTATION: [&str; 4] = ["192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:"];

/// A client in a trusted network can invent any address. So what is shipped for production trusts a
/// placeholder, and the gate of the development overlay trusts no proxy before it.
pub fn none_is_trusted_that_the_user_did_not_name(objects: &[Value], findings: &mut Findings) {
    let is_placeholder = |network: &str| DOCUMENTATION.iter().any(|it| network.starts_with(it));
    let text = |name: &str, file: &str| {
        let map = find(objects, "ConfigMap", name);
        map.and_then(|map| map["data"][file].as_str()).unwrap_or_default().to_owned()
    };
    for line in text("gate-site", "site.conf").lines() {
        if let Some(network) = line.trim().strip_prefix("set_real_ip_from ") {
            findings.unless(is_placeholder(network), line);
        }
    }
    // Nothing but the gate reaches admission in the development overlay, which has its Redis too.
    if of_kind(objects, "StatefulSet").next().is_some() {
        return;
    }
    let config: toml::Table = text("anteroom-config", "anteroom.toml").parse().unwrap();
    let trusted = config["admission"]["trusted_proxies"].as_array().unwrap();
    for network in trusted {
        findings.unless(network.as_str().is_some_and(is_placeholder), network);
    }
}
