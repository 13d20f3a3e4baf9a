//! Takes secrets out of addresses, forms, JSON and text, however they hold each other.
//!
//! A removed value is replaced by a mark, which passes through every way of writing unchanged; at
//! the end [`Redactor::written`] makes each mark a value of the scenario that no step captures.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use url::form_urlencoded;

use super::looks;
use super::marks::Marks;
use super::names::{self, Secret};
use super::recording::Body;
use crate::scenario::template::Escape;

/// What is written within each other more often than this is removed unseen.
const DEEPEST: u32 = 8;
const QUOTES: [char; 2] = ['"', '\''];
/// Characters.
const LONGEST_BARE: usize = 512;
/// Fields of an object that is a field itself: `{"name": "password", "value": "…"}`.
const NAMES: [&str; 8] = ["name", "key", "field", "id", "param", "property", "label", "k"];
const VALUES: [&str; 3] = ["value", "val", "v"];

/// A name and what parts it from its value: `password: "`, `token=`.
static FIELD: LazyLock<Regex> =
    LazyLock::new(|| looks::compiled(r#"([\p{L}_$][\p{L}\p{N}_.-]*)["']?\s*([:=])\s*"#));
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    let quoted = r#""""(?s:.*?)"""|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?"#;
    looks::compiled(&format!(r#"\A(?:{quoted}|[^\s&"'<>(){{}}\[\]]+)"#))
});

/// What was removed so far.
#[derive(Default)]
pub struct Redactor {
    /// Of all steps.
    marks: Marks,
    /// Where something was removed since the last [`Redactor::places`].
    places: Vec<String>,
    depth: u32,
}

impl Redactor {
    /// Where something was removed since this was last asked: names alone.
    pub fn places(&mut self) -> Vec<String> {
        let mut places = std::mem::take(&mut self.places);
        let mut seen = HashSet::new();
        places.retain(|place| seen.insert(place.clone()));
        places
    }

    /// The text as a scenario has it, where marks are values and all else is itself.
    pub fn written(&self, text: &str) -> String {
        self.marks.written(text)
    }

    fn remove(&mut self, field: &str, value: &str, place: &str) -> String {
        self.places.push(place.to_owned());
        self.marks.of(field, value)
    }

    /// A body, if it has one.
    pub fn body(&mut self, body: &Body) -> Option<String> {
        const PLACE: &str = "body";
        let kind = body.mime_type.as_deref().unwrap_or_default().to_ascii_lowercase();
        let is_form = kind.starts_with("application/x-www-form-urlencoded");
        let params = body.params.as_deref().unwrap_or_default();
        let text = body.text.as_deref().filter(|text| !text.is_empty());
        let Some(text) = text else {
            if params.is_empty() {
                return None;
            }
            let mut form = form_urlencoded::Serializer::new(String::new());
            for param in params {
                form.append_pair(&param.name, param.value.as_deref().unwrap_or_default());
            }
            let form = form.finish();
            return Some(if is_form { self.form(&form, PLACE) } else { self.whole(&form) });
        };
        if body.encoding.as_deref() == Some("base64") {
            return Some(self.whole(text));
        }
        if let Ok(json) = serde_json::from_str(text) {
            return Some(self.json_text(json, text, PLACE));
        }
        Some(if is_form {
            self.form(text, PLACE)
        } else if kind.starts_with("application/graphql") {
            self.text(text, PLACE)
        } else {
            self.whole(text)
        })
    }

    /// What cannot be looked into goes as a whole.
    fn whole(&mut self, text: &str) -> String {
        self.remove("body", text, "the whole body, whose kind cannot be looked through")
    }

    /// Path, query and fragment.
    pub fn target(&mut self, target: &str, path: &str, query: &str) -> String {
        let (target, fragment) = match target.split_once('#') {
            Some((target, fragment)) => (target, Some(fragment)),
            None => (target, None),
        };
        let (before, fields) = match target.split_once('?') {
            Some((before, fields)) => (before, Some(fields)),
            None => (target, None),
        };
        let mut cleaned = self.path(before, path);
        for (sign, fields) in [('?', fields), ('#', fragment)] {
            if let Some(fields) = fields {
                cleaned.push(sign);
                cleaned += &self.form(fields, query);
            }
        }
        cleaned
    }

    fn path(&mut self, path: &str, place: &str) -> String {
        let mut cleaned: Vec<String> = Vec::new();
        let mut before = "";
        for segment in path.split('/') {
            let mut parts = segment.split(';');
            let own = parts.next().unwrap_or_default();
            let mut kept = if names::leads_to_one(before, own) {
                self.remove(before, own, &format!("{place} after {before}"))
            } else {
                self.encoded(own, '+', |this, own| this.text(own, place))
            };
            for part in parts {
                kept = format!("{kept};{}", self.form(part, place));
            }
            before = own;
            cleaned.push(kept);
        }
        cleaned.join("/")
    }

    /// Fields of a query or a form; what holds no secret stays as it was written.
    fn form(&mut self, fields: &str, place: &str) -> String {
        let field = |field: &str| -> String {
            let Some((name, value)) = field.split_once('=') else {
                return self.encoded(field, ' ', |this, name| this.text(name, place));
            };
            let told = decoded(name, ' ');
            let name = self.encoded(name, ' ', |this, name| this.text(name, place));
            let place = self.within(place, ' ', &told);
            let value = self.encoded(value, ' ', |this, value| match names::named(&told) {
                Some(secret) if secret.may_be(value) => this.remove(&told, value, &place),
                _ => this.text(value, &place),
            });
            format!("{name}={value}")
        };
        fields.split('&').map(field).collect::<Vec<_>>().join("&")
    }

    /// Cleans what is percent-encoded.
    fn encoded(
        &mut self,
        raw: &str,
        plus: char,
        clean: impl FnOnce(&mut Self, &str) -> String,
    ) -> String {
        let before = self.places.len();
        let cleaned = clean(self, &decoded(raw, plus));
        if self.places.len() == before {
            return raw.to_owned();
        }
        let mut encoded = String::new();
        Escape::Url.write(&cleaned, &mut encoded);
        encoded
    }

    /// The place of a field; its name is not shown where it is a secret itself.
    fn within(&self, place: &str, sign: char, name: &str) -> String {
        let name = if looks::in_text(name).is_empty() { name } else { "…" };
        let name: String = name.chars().take(60).collect();
        format!("{place}{sign}{name}")
    }

    fn json_text(&mut self, mut json: Value, text: &str, place: &str) -> String {
        let before = self.places.len();
        self.json(&mut json, None, &format!("{place} "));
        if self.places.len() == before { text.to_owned() } else { json.to_string() }
    }

    /// Cleans a value within a field that holds secrets, or none.
    fn json(&mut self, json: &mut Value, secret: Option<(&str, Secret)>, place: &str) {
        let scalar = match json {
            Value::Null | Value::Bool(_) => return,
            Value::String(text) => std::mem::take(text),
            Value::Number(number) => number.to_string(),
            Value::Array(items) => {
                let pair = match &items[..] {
                    [Value::String(name), _] => names::named(name).map(|kind| (name.clone(), kind)),
                    _ => None,
                };
                for (index, item) in items.iter_mut().enumerate() {
                    let named = pair.as_ref().filter(|_| index == 1);
                    let secret = named.map(|(name, kind)| (name.as_str(), *kind)).or(secret);
                    self.json(item, secret, &format!("{place}/{index}"));
                }
                return;
            }
            Value::Object(fields) => {
                let name = |key| fields.get(key).and_then(Value::as_str);
                let has_value = VALUES.iter().any(|key| fields.contains_key(*key));
                let name =
                    NAMES.into_iter().filter(|_| has_value).find_map(name).map(str::to_owned);
                for (key, mut value) in std::mem::take(fields) {
                    let is = |list: &[&str]| name.is_some() && list.contains(&key.as_str());
                    let told = name.as_deref().filter(|_| is(&VALUES)).unwrap_or(&key);
                    let own = names::named(told).filter(|_| !is(&NAMES)).map(|kind| (told, kind));
                    let place = self.within(place, '/', &key);
                    self.json(&mut value, own.or(secret), &place);
                    fields.insert(self.text(&key, &place), value);
                }
                return;
            }
        };
        let (before, place) = (self.places.len(), place.trim_end());
        let cleaned = match secret {
            Some((name, kind)) if kind.may_be(&scalar) => self.remove(name, &scalar, place),
            _ => self.text(&scalar, place),
        };
        if json.is_string() || self.places.len() > before {
            *json = cleaned.into();
        }
    }

    /// A text that may hold JSON, an address, fields, or a secret that shows by its looks.
    pub fn text(&mut self, text: &str, place: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        if self.depth == DEEPEST {
            return self.remove(field(place), text, place);
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
            return self.json_text(json, text, place);
        }
        if (text.starts_with('/') || text.contains("://")) && !text.contains(char::is_whitespace) {
            let found = looks::in_text(text);
            let cleaned = self.cut(text, found, place);
            return self.target(&cleaned, place, place);
        }
        if text.contains('%') && decoded(text, '+') != text {
            return self.encoded(text, '+', |this, text| this.text(text, place));
        }
        let cleaned = self.fields(text, place);
        let found = looks::in_text(&cleaned);
        self.cut(&cleaned, found, place)
    }

    fn cut(&mut self, text: &str, found: Vec<std::ops::Range<usize>>, place: &str) -> String {
        let mut cleaned = String::new();
        let mut at = 0;
        for range in found {
            cleaned += &text[at..range.start];
            cleaned += &self.remove(field(place), &text[range.clone()], place);
            at = range.end;
        }
        cleaned + &text[at..]
    }

    /// Fields in a text: a query of GraphQL, a cookie, a line of a log.
    fn fields(&mut self, text: &str, place: &str) -> String {
        let mut cleaned = String::new();
        let mut at = 0;
        while let Some(found) = FIELD.captures_at(text, at) {
            let (name, sign) = (&found[1], &found[2]);
            let start = found.get(0).map_or(text.len(), |whole| whole.end());
            cleaned += &text[at..start];
            at = start;
            let Some(secret) = names::named(name) else { continue };
            let rest = &text[start..];
            // A bare value is short, and looked at again where it is none.
            let bound = rest.char_indices().nth(LONGEST_BARE).filter(|_| !rest.starts_with(QUOTES));
            let rest = bound.map_or(rest, |(bound, _)| &rest[..bound]);
            let Some(value) = VALUE.find(rest) else { continue };
            let whole = value.as_str();
            let inside = whole.trim_matches(QUOTES);
            // `$password: String!`, `token: accessToken`: a type or a name of GraphQL.
            let named = sign == ":" && inside.len() == whole.len();
            let number = inside.contains(|char: char| char.is_ascii_digit());
            let variable = name.starts_with('$') || inside.starts_with('$');
            if !secret.may_be(inside) || (named && (variable || !number)) {
                continue;
            }
            let place = self.within(place, ' ', name);
            let mark = self.remove(name, inside, &place);
            cleaned += &whole.replacen(inside, &mark, 1);
            at = start + whole.len();
        }
        cleaned + &text[at..]
    }
}

/// The last name of a place.
fn field(place: &str) -> &str {
    let number = |part: &&str| !part.bytes().all(|byte| byte.is_ascii_digit());
    place.rsplit([' ', '/']).find(number).unwrap_or(place)
}

/// Without percent-encoding; a plus sign is itself, or the space of a form.
fn decoded(raw: &str, plus: char) -> String {
    // These part fields and are parted already.
    let mut whole = raw.replace('&', "%26").replace('=', "%3D");
    if plus == '+' {
        whole = whole.replace('+', "%2B");
    }
    let mut fields = form_urlencoded::parse(whole.as_bytes());
    fields.next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}
