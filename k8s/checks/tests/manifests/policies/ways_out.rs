//! What leads out of the namespace.

use serde_json::Value;

use super::Findings;
use crate::rendered::{items, name_of, of_kind};

/// The networks that are no receiver's, of which `0.0.0.0/0` and `::/0` except each.
const NOT_PUBLIC: [&str; 9] = [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
];
const NOT_PUBLIC_V6: [&str; 4] = ["::1/128", "fc00::/7", "fe80::/10", "ff00::/8"];

/// By pods or by addresses. DNS alone is anywhere.
pub fn each_names_where_it_leads(objects: &[Value], findings: &mut Findings) {
    for policy in of_kind(objects, "NetworkPolicy").filter(|policy| name_of(policy) != "dns") {
        for rule in items(&policy["spec"]["egress"]) {
            let (name, to) = (name_of(policy), items(&rule["to"]));
            findings.unless(!to.is_empty(), format!("{name}: to anywhere"));
            for peer in to {
                let pods = peer["podSelector"]["matchLabels"]
                    .as_object()
                    .map(serde_json::Map::is_empty)
                    .or_else(|| Some(items(&peer["podSelector"]["matchExpressions"]).is_empty()));
                let block = &peer["ipBlock"];
                let needs: &[&str] = match block["cidr"].as_str() {
                    None => {
                        findings.unless(pods == Some(false), format!("{name}: to {peer}"));
                        continue;
                    }
                    Some("0.0.0.0/0") => &NOT_PUBLIC,
                    Some("::/0") => &NOT_PUBLIC_V6,
                    Some(cidr) => {
                        // All but a few networks have a prefix of 8 bits or more.
                        let bits = cidr.rsplit_once('/').and_then(|(_, bits)| bits.parse().ok());
                        findings.unless(bits >= Some(8_u8), format!("{name}: to {cidr}"));
                        &[]
                    }
                };
                for network in needs {
                    let found = items(&block["except"]).iter().any(|it| it == network);
                    findings.unless(found, format!("{name}: to {network}"));
                }
            }
        }
    }
}
