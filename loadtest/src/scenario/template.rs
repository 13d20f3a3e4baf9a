//! Text with values in it: `/api/seats/{seat}`.
//!
//! `{name}` is a value where the name is lower-case letters, digits and underscores; any other
//! brace stands for itself, so JSON needs no escapes. `{{name}}` is the text `{name}`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use rand::Rng as _;
use regex::Regex;
use serde::Deserialize;

/// What every visit knows without a capture.
pub const BUILT_IN: [&str; 2] = ["user", "random"];

static BRACES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{\{[a-z_][a-z0-9_]*\}\}|\{(?<value>[a-z_][a-z0-9_]*)\}")
        .expect("a constant that every test of this module uses")
});

/// A parsed text.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(from = "String")]
pub struct Template {
    source: String,
    /// A text, and the name of the value after it.
    parts: Vec<(String, String)>,
    /// The text after the last value.
    end: String,
}

/// How a value is written into the text around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// As it is.
    Plain,
    /// Percent-encoded but for unreserved characters (RFC 3986, section 2.3).
    Url,
    /// As the inside of a JSON string (RFC 8259, section 7).
    Json,
}

/// The values of one visit.
#[derive(Clone, Debug)]
pub struct Values {
    user: u64,
    captured: HashMap<String, String>,
}

impl Values {
    /// Of the user of this number, with nothing captured.
    pub fn new(user: u64) -> Self {
        Self { user, captured: HashMap::new() }
    }

    /// Keeps a value for the steps that follow.
    pub fn keep(&mut self, name: &str, value: String) {
        self.captured.insert(name.to_owned(), value);
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "user" => Some(self.user.to_string()),
            "random" => Some(format!("{:016x}", rand::rng().random::<u64>())),
            name => self.captured.get(name).cloned(),
        }
    }
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
pub fn is_name(name: &str) -> bool {
    Template::from(format!("{{{name}}}")).is_one_value()
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

    /// The text with its values; nothing if this visit has not captured one of them.
    pub fn fill(&self, values: &Values, escape: Escape) -> Option<String> {
        let mut text = String::with_capacity(self.source.len() + 16);
        for (before, name) in &self.parts {
            text.push_str(before);
            escape.write(&values.get(name)?, &mut text);
        }
        Some(text + &self.end)
    }
}

impl Escape {
    /// Adds a value to the text.
    pub fn write(self, value: &str, text: &mut String) {
        match self {
            Self::Plain => text.push_str(value),
            Self::Url => {
                for byte in value.bytes() {
                    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                        text.push(byte.into());
                    } else {
                        let _ = write!(text, "%{byte:02X}");
                    }
                }
            }
            Self::Json => {
                let quoted = serde_json::Value::from(value).to_string();
                text.push_str(&quoted[1..quoted.len() - 1]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fill(text: &str, escape: Escape) -> Option<String> {
        Template::from(text.to_owned()).fill(&Values::new(7), escape)
    }

    #[test]
    fn braces_that_name_nothing_stand_for_themselves() {
        for text in ["{", "}", "{}", "{A}", "{\"a\":1}", "{a b}", "x{"] {
            assert_eq!(fill(text, Escape::Plain).as_deref(), Some(text));
        }
        let filled = fill("{{seat}} {user}", Escape::Plain);
        assert_eq!(filled.as_deref(), Some("{seat} 7"));
        assert_eq!(fill("{seat}", Escape::Plain), None);
    }

    proptest! {
        #[test]
        fn a_literal_is_the_text_it_was_made_of(
            parts in proptest::collection::vec(
                prop_oneof!["[{}]{1,4}", "[a-z_]{1,3}", Just("user".to_owned()), ".{0,3}"],
                0..12,
            )
        ) {
            let text = parts.concat();
            for escape in [Escape::Plain, Escape::Url, Escape::Json] {
                prop_assert_eq!(fill(&literal(&text), escape), Some(text.clone()));
            }
        }
    }

    #[test]
    fn random_is_drawn_anew_at_each_use() {
        let text = fill("{random} {random}", Escape::Plain).expect("it can be had");
        let (one, two) = text.split_once(' ').expect("it can be had");
        assert_eq!((one.len(), two.len()), (16, 16));
        assert_ne!(one, two);
    }
}
