//! Text with values in it: `/api/seats/{seat}`.
//!
//! `{name}` is a value where the name is lower-case letters, digits and underscores; any other
//! brace stands for itself, so JSON needs no escapes. `{{name}}` is the text `{name}`.

use std::collections::HashMap;
use std::fmt::Write as _;

use rand::Rng as _;
use serde::Deserialize;

/// What every visit knows without a capture.
pub const BUILT_IN: [&str; 2] = ["user", "random"];

/// A parsed text.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(from = "String")]
pub struct Template {
    source: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(String),
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
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = source.as_str();
        while let Some(brace) = rest.find('{') {
            text.push_str(&rest[..brace]);
            rest = &rest[brace..];
            if let Some((literal, after)) = braced(rest, "{{", "}}") {
                let _ = write!(text, "{{{literal}}}");
                rest = after;
            } else if let Some((name, after)) = braced(rest, "{", "}") {
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                parts.push(Part::Value(name.to_owned()));
                rest = after;
            } else {
                text.push('{');
                rest = &rest[1..];
            }
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Self { source, parts }
    }
}

/// The name between these braces at the head of a text, and what follows.
fn braced<'t>(text: &'t str, open: &str, close: &str) -> Option<(&'t str, &'t str)> {
    let inside = text.strip_prefix(open)?;
    let end = inside.find(|c| !is_part_of_name(c))?;
    let (name, after) = inside.split_at(end);
    is_name(name).then_some((name, after.strip_prefix(close)?))
}

fn is_part_of_name(c: char) -> bool {
    c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit()
}

/// A text that a template of it gives back: what would be a value in it stands in double braces.
pub fn literal(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(brace) = rest.find('{') {
        written.push_str(&rest[..brace]);
        rest = &rest[brace..];
        if let Some((name, after)) = braced(rest, "{", "}") {
            let _ = write!(written, "{{{{{name}}}}}");
            rest = after;
        } else {
            written.push('{');
            rest = &rest[1..];
        }
    }
    written + rest
}

/// Whether a captured value may have this name.
pub fn is_name(name: &str) -> bool {
    name.chars().all(is_part_of_name) && name.starts_with(|c: char| !c.is_ascii_digit())
}

impl Template {
    /// As it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The names of its values.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Whether one value is all of it.
    pub fn is_one_value(&self) -> bool {
        matches!(self.parts[..], [Part::Value(_)])
    }

    /// The text with its values.
    ///
    /// # Errors
    ///
    /// The name of a value that this visit has not captured.
    pub fn fill(&self, values: &Values, escape: Escape) -> Result<String, String> {
        let mut text = String::with_capacity(self.source.len() + 16);
        for part in &self.parts {
            match part {
                Part::Text(fixed) => text.push_str(fixed),
                Part::Value(name) => {
                    let value = values.get(name).ok_or_else(|| name.clone())?;
                    escape.write(&value, &mut text);
                }
            }
        }
        Ok(text)
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

    fn fill(text: &str, escape: Escape) -> Result<String, String> {
        let mut values = Values::new(7);
        values.keep("seat", "A \"1\"/ü".to_owned());
        Template::from(text.to_owned()).fill(&values, escape)
    }

    #[test]
    fn a_value_is_escaped_for_the_text_around_it() {
        assert_eq!(
            fill("/s/{seat}", Escape::Url).expect("it can be had"),
            "/s/A%20%221%22%2F%C3%BC"
        );
        let json = fill(r#"{"a":{"seat":"{seat}"}}"#, Escape::Json).expect("it can be had");
        assert_eq!(json, r#"{"a":{"seat":"A \"1\"/ü"}}"#);
        assert_eq!(fill("{seat}", Escape::Plain).expect("it can be had"), "A \"1\"/ü");
    }

    #[test]
    fn braces_that_name_nothing_stand_for_themselves() {
        for text in ["{", "}", "{}", "{A}", "{\"a\":1}", "{a b}", "x{"] {
            assert_eq!(fill(text, Escape::Plain).expect("it can be had"), text);
        }
        assert_eq!(fill("{{seat}} {user}", Escape::Plain).expect("it can be had"), "{seat} 7");
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
                prop_assert_eq!(fill(&literal(&text), escape), Ok(text.clone()));
            }
        }
    }

    #[test]
    fn what_was_not_captured_is_named() {
        assert_eq!(fill("{show}", Escape::Plain), Err("show".to_owned()));
    }

    #[test]
    fn random_is_drawn_anew_at_each_use() {
        let text = fill("{random} {random}", Escape::Plain).expect("it can be had");
        let (one, two) = text.split_once(' ').expect("it can be had");
        assert_eq!((one.len(), two.len()), (16, 16));
        assert_ne!(one, two);
    }
}
