//! A configuration file of envoyproxy/ratelimit
//! (<https://github.com/envoyproxy/ratelimit#configuration>).
//!
//! There a descriptor goes down a tree: at each entry the exact value comes before a value with `*`
//! at its end, and that before no value, and it never goes back. The rules here are in that order,
//! so that the first that matches is the same. What has no limit there must match no rule here.

use std::collections::BTreeMap;
use std::time::Duration;

use anteroom_config::EntryConfig;
use serde::Deserialize;
use serde_json::Value;

use super::{Imported, Rule, covers, entries_overlap, out_of_bounds, overlap, read_as, shown};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    domain: String,
    #[serde(default)]
    descriptors: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    key: String,
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    rate_limit: Option<RateLimit>,
    #[serde(default)]
    shadow_mode: bool,
    #[serde(default)]
    descriptors: Vec<Node>,
    /// Keys that change what is counted.
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct RateLimit {
    #[serde(default)]
    unit: String,
    #[serde(default)]
    requests_per_unit: u64,
    #[serde(default)]
    unlimited: bool,
    #[serde(default)]
    unit_multiplier: Option<u64>,
    #[serde(default)]
    name: Option<String>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// Keys that only change what their program reports.
const HARMLESS: [&str; 2] = ["detailed_metric", "value_to_metric"];

/// Reads it.
///
/// # Errors
///
/// When it has another form.
pub fn read(text: &str) -> Result<Imported, String> {
    let file: File = read_as(text, "a configuration of envoyproxy/ratelimit")?;
    let mut tree = Tree { domain: &file.domain, rules: Vec::new(), without_rule: Vec::new() };
    tree.add(&file.descriptors, &[]);
    let Tree { rules, without_rule, .. } = tree;
    let left_out = without_rule.into_iter().filter_map(|(entries, why)| {
        let overlaps = rules.iter().any(|rule| overlap(&rule.entries, &entries));
        let here = match (overlaps, rules.iter().any(|rule| covers(&rule.entries, &entries))) {
            (_, true) => "Here another descriptor matches it",
            (true, false) => "Here another descriptor matches a part of it",
            (false, false) => "",
        };
        let why = match (why, here) {
            (Some(why), "") => why,
            (Some(why), here) => format!("{why}. {here}"),
            (None, "") => return None,
            (None, here) => format!("it has no limit there. {here}"),
        };
        Some(format!("{}: {why}", shown(&entries)))
    });
    let left_out = left_out.collect();
    Ok(Imported { rules, left_out, ..Imported::default() })
}

struct Tree<'a> {
    domain: &'a str,
    rules: Vec<Rule>,
    /// What has no limit there, or one that Anteroom cannot express, with the reason.
    without_rule: Vec<(Vec<EntryConfig>, Option<String>)>,
}

impl Tree<'_> {
    fn add(&mut self, nodes: &[Node], above: &[EntryConfig]) {
        let mut nodes: Vec<_> = nodes.iter().map(|node| (entry(node), node)).collect();
        // The most specific first; the sort keeps the order of the file.
        nodes.sort_by_key(|(entry, _)| match entry {
            EntryConfig { value: Some(_), .. } => (0, 0),
            EntryConfig { prefix: Some(prefix), .. } => (1, usize::MAX - prefix.len()),
            _ => (2, 0),
        });
        for (at, (entry, node)) in nodes.iter().enumerate() {
            let entries = [above, std::slice::from_ref(entry)].concat();
            self.limit(node, &entries);
            self.add(&node.descriptors, &entries);
            // No way back: below this entry the limits of less specific ones do not count.
            let less_specific = nodes[at + 1..].iter();
            for (_, other) in less_specific.filter(|(other, _)| entries_overlap(entry, other)) {
                for tail in tails(&other.descriptors) {
                    let own = tails(&node.descriptors);
                    if !own.iter().any(|own| overlap(own, &tail)) {
                        self.without_rule.push(([&entries[..], &tail].concat(), None));
                    }
                }
            }
        }
    }

    fn limit(&mut self, node: &Node, entries: &[EntryConfig]) {
        let limit = node.rate_limit.as_ref().filter(|limit| !limit.unlimited);
        let rule = limit.map(|limit| self.rule(node, limit, entries));
        match rule {
            Some(Ok(rule)) if self.rules.iter().any(|other| other.entries == rule.entries) => {
                let why = "it is there twice; only the first counts".to_owned();
                self.without_rule.push((entries.to_vec(), Some(why)));
            }
            Some(Ok(rule)) => self.rules.push(rule),
            Some(Err(why)) => self.without_rule.push((entries.to_vec(), Some(why))),
            None => self.without_rule.push((entries.to_vec(), None)),
        }
    }

    fn rule(
        &self,
        node: &Node,
        limit: &RateLimit,
        entries: &[EntryConfig],
    ) -> Result<Rule, String> {
        let of_node = node.others.keys().filter(|key| !HARMLESS.contains(&key.as_str()));
        let others: Vec<_> =
            of_node.chain(limit.others.keys()).map(|key| format!("`{key}`")).collect();
        if !others.is_empty() {
            return Err(format!("Anteroom has nothing like {}", others.join(", ")));
        }
        let unit = seconds(&limit.unit).ok_or_else(|| {
            format!("the unit `{}` is not second, minute, hour or day", limit.unit)
        })?;
        let window = Duration::from_secs(unit.saturating_mul(limit.unit_multiplier.unwrap_or(1)));
        if let Some(why) = out_of_bounds(limit.requests_per_unit, window) {
            return Err(why);
        }
        Ok(Rule {
            name: limit.name.clone(),
            domain: self.domain.to_owned(),
            entries: entries.to_vec(),
            limit: limit.requests_per_unit,
            window,
            shadow: node.shadow_mode,
        })
    }
}

/// The entries of all limits below.
fn tails(nodes: &[Node]) -> Vec<Vec<EntryConfig>> {
    let mut found = Vec::new();
    for node in nodes {
        let entry = entry(node);
        if node.rate_limit.is_some() {
            found.push(vec![entry.clone()]);
        }
        let below = tails(&node.descriptors).into_iter();
        found.extend(below.map(|tail| [vec![entry.clone()], tail].concat()));
    }
    found
}

fn entry(node: &Node) -> EntryConfig {
    let key = node.key.clone();
    let value = node.value.as_deref().unwrap_or_default();
    let (value, prefix) = match value.strip_suffix('*') {
        Some("") => (None, None),
        Some(prefix) => (None, Some(prefix.to_owned())),
        None if value.is_empty() => (None, None),
        None => (Some(value.to_owned()), None),
    };
    EntryConfig { key, value, prefix }
}

fn seconds(unit: &str) -> Option<u64> {
    match unit.to_ascii_lowercase().as_str() {
        "second" => Some(1),
        "minute" => Some(60),
        "hour" => Some(3_600),
        "day" => Some(86_400),
        _ => None,
    }
}
