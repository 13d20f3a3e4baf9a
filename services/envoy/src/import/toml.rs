//! The TOML of what was imported.

use std::collections::HashSet;
use std::fmt::Write as _;

use anteroom_config::EntryConfig;
use toml::Value;

use super::{Imported, Rule};

/// The longest name of a limit.
const MAX_NAME: usize = 40;

impl Imported {
    /// A section for each limit, with its descriptor.
    pub fn to_toml(&self) -> String {
        let mut names = HashSet::new();
        self.rules.iter().map(|rule| rule.to_toml(&unused(rule, &mut names))).collect()
    }
}

impl Rule {
    fn to_toml(&self, name: &str) -> String {
        let Self { domain, entries, limit, window, shadow, .. } = self;
        let entries: Vec<_> = entries.iter().map(entry).collect();
        let (domain, window) = (text(domain), window.as_secs());
        let mut toml = String::new();
        // Writing into a String cannot fail.
        let _ = write!(
            toml,
            "[limits.{name}]\nalgorithm = \"counter\"\nlimit = {limit}\nwindow = \"{window}s\"\n"
        );
        if *shadow {
            toml.push_str("shadow = true\n");
        }
        let _ = write!(
            toml,
            "\n[[envoy.descriptors]]\ndomain = {domain}\nentries = [{}]\nlimit = \"{name}\"\n\n",
            entries.join(", ")
        );
        toml
    }
}

fn entry(EntryConfig { key, value, prefix }: &EntryConfig) -> String {
    let mut toml = format!("{{ key = {}", text(key));
    for (name, of) in [("value", value), ("prefix", prefix)] {
        if let Some(of) = of {
            let _ = write!(toml, ", {name} = {}", text(of));
        }
    }
    toml + " }"
}

fn text(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// A name that no limit before has: letters, digits and hyphens.
fn unused(rule: &Rule, names: &mut HashSet<String>) -> String {
    let words = match &rule.name {
        Some(name) => name.clone(),
        None => {
            let entries = rule.entries.iter();
            let entries = entries.flat_map(|entry| [Some(&entry.key), entry.value.as_ref()]);
            let words: Vec<_> = [Some(&rule.domain)].into_iter().chain(entries).flatten().collect();
            words.into_iter().cloned().collect::<Vec<_>>().join("-")
        }
    };
    let mut slug = String::new();
    for char in words.to_ascii_lowercase().chars() {
        if char.is_ascii_lowercase() || char.is_ascii_digit() {
            slug.push(char);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(MAX_NAME - 4);
    let slug = match slug.trim_matches('-') {
        "" => "limit",
        slug => slug,
    };
    let numbered = (2..).map(|number| format!("{slug}-{number}"));
    let mut free = [slug.to_owned()].into_iter().chain(numbered);
    // There are fewer limits than numbers.
    free.find(|name| names.insert(name.clone())).unwrap_or_default()
}
