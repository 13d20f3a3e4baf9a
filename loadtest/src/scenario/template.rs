//! Text with values in it: `/api/seats/{seat}`.
//!
//! `{name}` is a value where the name is lower-case letters, digits and underscores; any other
//! brace is itself, so JSON needs no escapes. `{{name}}` is the text `{name}`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use regex::Regex;
use serde::Deserialize;

use crate::client::Fault;

/// What every visit knows without a capture.
pub const BUILT_IN: [&str; 2] = ["user", "random"];

static BRACES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{\{[a-z_][a-z0-9_]*\}\}|\{(?<value>[a-z_][a-z0-9_]*)\}")
        .expect("a constant that every test of this module uses")
});

/// A parsed text.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(from = "String")]
pub struct Template {
    source: String,
    /// A text, and the name of the value after it.
    parts: Vec<(String, String)>,
    /// The text after the last value.
    end: String,
}

/// How a value is written into the text around it.
type Escape = fn(&str) -> String;

/// The values of one visit.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// The number of its user.
    pub user: u64,
    /// By name.
    pub captured: HashMap<String, String>,
    /// By name, sent with each request. Their paths, domains and times are not looked at, as a
    /// visit asks one service and is short.
    pub cookies: BTreeMap<String, String>,
}

impl From<String> for Template {
    fn from(source: String) -> Self {
        let (mut parts, mut text, mut at) = (Vec::new(), String::new(), 0);
        for found in BRACES.captures_iter(&source) {
            let braces = found.get_match().range();
            text += &source[at..braces.start];
            match found.name("value") {
                Some(name) => parts.push((std::mem::take(&mut text), name.as_str().to_owned())),
                None => text += &source[braces.start + 1..braces.end - 1],
            }
            at = braces.end;
        }
        let end = text + &source[at..];
        Self { source, parts, end }
    }
}

/// A text that a template of it gives back: each name in braces gets 1 more pair of them.
pub fn literal(text: &str) -> Cow<'_, str> {
    BRACES.replace_all(text, "{$0}")
}

/// Whether a captured value may have this name.
pub fn may_be_captured(name: &str) -> bool {
    Template::from(format!("{{{name}}}")).is_one_value() && !BUILT_IN.contains(&name)
}

impl Template {
    /// As it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The names of its values.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|(_, name)| name.as_str())
    }

    /// Whether one value is all of it.
    pub fn is_one_value(&self) -> bool {
        matches!(&self.parts[..], [(before, _)] if before.is_empty() && self.end.is_empty())
    }

    /// The text with its values, each escaped, unless this visit has not captured one of them.
    pub(super) fn fill(&self, values: &Values, escape: Escape) -> Result<String, Fault> {
        let mut text = String::with_capacity(self.source.len() + 16);
        for (before, name) in &self.parts {
            text.push_str(before);
            match name.as_str() {
                "user" => text += &values.user.to_string(),
                "random" => text += &format!("{:016x}", rand::random::<u64>()),
                name => text += &escape(values.captured.get(name).ok_or(Fault::Value)?),
            }
        }
        Ok(text + &self.end)
    }
}

/// Percent-encoded but for the unreserved characters (RFC 3986, section 2.3).
pub fn url_escaped(text: &str) -> String {
    const RESERVED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, RESERVED).to_string()
}

/// As the inside of a JSON string (RFC 8259, section 7).
pub fn json_escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str) -> Result<String, Fault> {
        let values = Values { user: 7, ..Values::default() };
        Template::from(text.to_owned()).fill(&values, str::to_owned)
    }

    #[test]
    fn values_are_those_of_the_visit() {
        assert_eq!(fill("{{seat}} {user}").as_deref(), Ok("{seat} 7"));
        assert_eq!(fill("{seat}"), Err(Fault::Value));
        // A random value is a new one at each use.
        let text = fill("{random} {random}").expect("it can be had");
        let (one, two) = text.split_once(' ').expect("it can be had");
        assert_eq!((one.len(), two.len()), (16, 16));
        assert_ne!(one, two);
    }
}
