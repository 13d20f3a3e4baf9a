//! Takes what is not replayed out of addresses, forms, JSON and text, also within each other.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::form_urlencoded;

use super::recording::Entry;
use super::rules::{self, Found, Kind};
use super::values::{MARK, NUMBER, Values};
use crate::scenario::template::url_escaped;

/// What is written within each other more often than this is removed unseen.
const DEEPEST: u32 = 8;
/// Fields of an object that is a field itself: `{"name": "password", "value": "…"}`.
const NAMES: [&str; 8] = ["name", "key", "field", "id", "param", "property", "label", "k"];
const VALUES: [&str; 3] = ["value", "val", "v"];

/// Replaces values by marks, which [`Values::written`] makes values of the scenario.
impl Values<'_> {
    /// The body of a request, of this media type, if it has one.
    pub fn body(&mut self, entry: &Entry, kind: &str) -> Option<String> {
        let kind = kind.to_ascii_lowercase();
        let is_form = kind.starts_with("application/x-www-form-urlencoded");
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(entry.fields("/request/postData/params"));
        let form = form.finish();
        let text = Some(entry.text("/request/postData/text")).filter(|text| !text.is_empty());
        let text = text.unwrap_or(&form);
        if text.is_empty() {
            return None;
        }
        let is_base64 = |key: &&str| entry.text(&format!("/request/postData/{key}")) == "base64";
        let is_text = !["encoding", "_encoding"].iter().any(is_base64);
        let is_graphql = kind.starts_with("application/graphql");
        let whole = "the whole body, whose kind cannot be looked through";
        match serde_json::from_str(text) {
            Ok(json) if is_text => Some(self.json_text(&json, text, "body")),
            Err(_) if is_text && is_form => Some(self.form(text, "body")),
            Err(_) if is_text && is_graphql => Some(self.text(text, "body")),
            _ => self.of(Kind::Known, "body", text, whole),
        }
    }

    /// Path, query and fragment.
    pub fn target(&mut self, target: &str, path: &str, query: &str) -> String {
        let at = target.find(['?', '#']).unwrap_or(target.len());
        let mut cleaned = self.path(&target[..at], path);
        for part in target[at..].split_inclusive(['?', '#']) {
            let (fields, sign) = part.split_at(part.trim_end_matches(['?', '#']).len());
            cleaned += &(self.form(fields, query) + sign);
        }
        cleaned
    }

    fn path(&mut self, path: &str, place: &str) -> String {
        let mut before = "";
        let segments = path.split('/').map(|segment| {
            let mut parts = segment.split(';');
            let own = parts.next().unwrap_or_default();
            let last = std::mem::replace(&mut before, own);
            let segment = encoded(own, &decoded(own), |own| match rules::segment(last, own) {
                None => self.text(own, place),
                kind => self.replaced(kind, last, own, &format!("{place} after {last}")),
            });
            parts.fold(segment, |cleaned, part| format!("{cleaned};{}", self.form(part, place)))
        });
        segments.collect::<Vec<_>>().join("/")
    }

    /// Fields of a query or a form; what has nothing to remove stays as it was written.
    fn form(&mut self, fields: &str, place: &str) -> String {
        let plain = |text: &str| decoded(&text.replace('+', " ")).into_owned();
        let field = |field: &str| {
            let (name, rest) = field.split_at(field.find('=').unwrap_or(field.len()));
            let plain_name = plain(name);
            let name = encoded(name, &plain_name, |name| self.text(name, place));
            let Some(value) = rest.strip_prefix('=') else { return name };
            let place = within(place, ' ', &plain_name);
            let value = encoded(value, &plain(value), |value| {
                self.replaced(rules::field(&plain_name, None, value), &plain_name, value, &place)
            });
            format!("{name}={value}")
        };
        fields.split('&').map(field).collect::<Vec<_>>().join("&")
    }

    fn json_text(&mut self, json: &Value, text: &str, place: &str) -> String {
        let cleaned = self.json(json, "", None, &format!("{place} "));
        if cleaned == *json {
            return text.to_owned();
        }
        NUMBER.replace_all(&cleaned.to_string(), "$1").into_owned()
    }

    /// Cleans the value of a field within a field of secrets, or of none.
    fn json(&mut self, json: &Value, name: &str, outer: Option<Kind>, place: &str) -> Value {
        let outer = rules::named(name).or(outer);
        let mut scalar = |text: &str| {
            self.replaced(rules::field(name, outer, text), name, text, place.trim_end())
        };
        match json {
            Value::Null | Value::Bool(_) => json.clone(),
            Value::String(text) => scalar(text).into(),
            Value::Number(number) => match scalar(&number.to_string()) {
                cleaned if cleaned == number.to_string() => json.clone(),
                cleaned => format!("{cleaned}{}", *MARK).into(),
            },
            Value::Array(items) => {
                let first = items.first().and_then(Value::as_str);
                let pair = first.filter(|name| items.len() == 2 && rules::named(name).is_some());
                let items = items.iter().enumerate().map(|(index, item)| {
                    let name = pair.filter(|_| index == 1).unwrap_or(name);
                    self.json(item, name, outer, &format!("{place}/{index}"))
                });
                items.collect()
            }
            Value::Object(fields) => {
                let has_value = VALUES.iter().any(|key| fields.contains_key(*key));
                let pair = |key: &&str| fields.get(*key).and_then(Value::as_str);
                let pair = NAMES.iter().filter(|_| has_value).find_map(pair);
                let fields = fields.iter().map(|(key, value)| {
                    let name = match pair {
                        Some(_) if NAMES.contains(&key.as_str()) => "",
                        Some(name) if VALUES.contains(&key.as_str()) => name,
                        _ => key,
                    };
                    let place = within(place, '/', key);
                    let value = self.json(value, name, outer, &place);
                    (self.text(key, &place), value)
                });
                Value::Object(fields.collect())
            }
        }
    }

    /// A value of this kind and name; one of no kind as a text.
    fn replaced(&mut self, kind: Option<Kind>, name: &str, value: &str, place: &str) -> String {
        let name = if name.is_empty() { last_name(place) } else { name };
        let mark = kind.and_then(|kind| self.of(kind, name, value, place));
        mark.unwrap_or_else(|| self.text(value, place))
    }

    /// A text that may hold JSON, an address, fields, or a secret that shows by its looks.
    pub fn text(&mut self, text: &str, place: &str) -> String {
        if self.depth == DEEPEST && !text.is_empty() {
            return self.replaced(Some(Kind::Known), "", text, place);
        }
        self.depth += 1;
        let cleaned = self.any(text, place);
        self.depth -= 1;
        cleaned
    }

    fn any(&mut self, text: &str, place: &str) -> String {
        if text.trim_start().starts_with(['{', '[', '"'])
            && let Ok(json) = serde_json::from_str(text)
        {
            return self.json_text(&json, text, place);
        }
        if (text.starts_with('/') || text.contains("://")) && !text.contains(char::is_whitespace) {
            let cleaned = self.cut(text, rules::looks(text), place);
            return self.target(&cleaned, place, place);
        }
        let plain = decoded(text);
        if plain != text {
            return encoded(text, &plain, |text| self.text(text, place));
        }
        let cleaned = self.cut(text, rules::fields(text), place);
        self.cut(&cleaned, rules::looks(&cleaned), place)
    }

    fn cut(&mut self, text: &str, found: Vec<Found<'_>>, place: &str) -> String {
        let (mut cleaned, mut at) = (String::new(), 0);
        for (range, kind, name) in found {
            let place = if name.is_empty() { place.to_owned() } else { within(place, ' ', name) };
            cleaned += &text[at..range.start];
            cleaned += &self.replaced(Some(kind), name, &text[range.clone()], &place);
            at = range.end;
        }
        cleaned + &text[at..]
    }
}

/// The place of a field.
fn within(place: &str, sign: char, name: &str) -> String {
    format!("{place}{sign}{}", shown(name))
}

/// A name as people see it, unless it is a secret or an id itself.
pub fn shown(name: &str) -> String {
    if rules::is_clean(name) { name.chars().take(60).collect() } else { "…".to_owned() }
}

/// The last name of a place.
fn last_name(place: &str) -> &str {
    let number = |part: &&str| !part.bytes().all(|byte| byte.is_ascii_digit());
    place.rsplit([' ', '/']).find(number).unwrap_or(place)
}

/// Cleans what is percent-encoded, of which `plain` is the text.
fn encoded(raw: &str, plain: &str, clean: impl FnOnce(&str) -> String) -> String {
    let cleaned = clean(plain);
    if cleaned == plain { raw.to_owned() } else { url_escaped(&cleaned) }
}

/// Without percent-encoding.
fn decoded(raw: &str) -> Cow<'_, str> {
    percent_decode_str(raw).decode_utf8_lossy()
}
