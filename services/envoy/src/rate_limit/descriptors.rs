//! Which limit a descriptor means, by the first `[[envoy.descriptors]]` that matches.

use anteroom_config::{DescriptorConfig, EntryConfig};
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;

/// The limit that a descriptor means, and its key.
#[derive(Debug, PartialEq, Eq)]
pub struct Meant<'a> {
    /// The name of the limit.
    pub limit: &'a str,
    pub key: String,
    pub group: Option<String>,
}

/// Finds the limit of a descriptor with these entries.
pub fn find<'a>(
    rules: &'a [DescriptorConfig],
    domain: &str,
    entries: &[Entry],
) -> Option<Meant<'a>> {
    let rule = rules.iter().find(|rule| rule.domain == domain && matches(rule, entries))?;
    // The configuration names only entries of the rule, and these match.
    let value = |key: &String| {
        entries.iter().find(|entry| entry.key == *key).map(|entry| entry.value.clone())
    };
    let key = rule.key.as_ref().and_then(value).unwrap_or_else(|| joined(entries));
    Some(Meant { limit: &rule.limit, key, group: rule.group.as_ref().and_then(value) })
}

fn matches(rule: &DescriptorConfig, entries: &[Entry]) -> bool {
    rule.entries.len() == entries.len()
        && rule.entries.iter().zip(entries).all(|(rule, entry)| matches_entry(rule, entry))
}

fn matches_entry(rule: &EntryConfig, entry: &Entry) -> bool {
    rule.key == entry.key
        && rule.value.as_ref().is_none_or(|value| *value == entry.value)
        && rule.prefix.as_ref().is_none_or(|prefix| entry.value.starts_with(prefix))
}

/// All values with `|` between. A value's own `|` and `\` get a `\`, so that no client can write
/// the key of another.
fn joined(entries: &[Entry]) -> String {
    let mut key = String::new();
    for (at, entry) in entries.iter().enumerate() {
        if at > 0 {
            key.push('|');
        }
        for char in entry.value.chars() {
            if char == '|' || char == '\\' {
                key.push('\\');
            }
            key.push(char);
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::*;

    fn entries(pairs: &[(&str, &str)]) -> Vec<Entry> {
        let entry = |(key, value): &(&str, &str)| Entry {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        pairs.iter().map(entry).collect()
    }

    fn rule(entries: &[(&str, Option<&str>, Option<&str>)], limit: &str) -> DescriptorConfig {
        let entry = |(key, value, prefix): &(&str, Option<&str>, Option<&str>)| EntryConfig {
            key: (*key).to_owned(),
            value: value.map(str::to_owned),
            prefix: prefix.map(str::to_owned),
        };
        DescriptorConfig {
            domain: "shop".to_owned(),
            entries: entries.iter().map(entry).collect(),
            limit: limit.to_owned(),
            key: None,
            group: None,
        }
    }

    #[test]
    fn the_first_rule_that_matches_counts() {
        let rules = [
            rule(&[("path", Some("/login"), None)], "login"),
            rule(&[("path", None, Some("/api/"))], "api"),
            rule(&[("path", None, None)], "any"),
            rule(&[("path", None, None), ("address", None, None)], "both"),
        ];
        let found = |domain: &str, pairs: &[(&str, &str)]| {
            find(&rules, domain, &entries(pairs)).map(|meant| (meant.limit, meant.key))
        };
        let key = |limit, key: &str| Some((limit, key.to_owned()));
        assert_eq!(found("shop", &[("path", "/login")]), key("login", "/login"));
        assert_eq!(found("shop", &[("path", "/api/x")]), key("api", "/api/x"));
        assert_eq!(found("shop", &[("path", "/api")]), key("any", "/api"));
        let two = [("path", "/login"), ("address", "203.0.113.7")];
        assert_eq!(found("shop", &two), key("both", "/login|203.0.113.7"));
        assert_eq!(found("shop", &[("address", "203.0.113.7"), ("path", "/login")]), None);
        assert_eq!(found("shop", &[]), None);
        assert_eq!(found("other", &[("path", "/login")]), None);
    }

    #[test]
    fn key_and_group_are_values_of_entries() {
        let rules = [DescriptorConfig {
            key: Some("user".to_owned()),
            group: Some("tenant".to_owned()),
            ..rule(&[("tenant", None, None), ("user", None, None)], "api")
        }];
        let found = find(&rules, "shop", &entries(&[("tenant", "acme"), ("user", "7")]));
        let (limit, key) = ("api", "7".to_owned());
        assert_eq!(found, Some(Meant { limit, key, group: Some("acme".to_owned()) }));
    }

    proptest! {
        #[test]
        fn no_two_lists_of_values_have_one_key(lists in any::<Vec<[String; 2]>>()) {
            let mut seen = HashMap::new();
            for [one, other] in lists {
                let key = joined(&entries(&[("a", &one), ("b", &other)]));
                let before = seen.entry(key).or_insert((one.clone(), other.clone()));
                prop_assert_eq!(before, &(one, other));
            }
        }
    }
}
