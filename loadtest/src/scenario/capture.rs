//! A value of one answer that later steps use.

use anyhow::{anyhow, ensure};
use hyper::HeaderMap;
use hyper::header::HeaderName;
use rand::seq::IndexedRandom as _;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

/// Where the value is, and which one is taken where several match.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct Capture {
    /// A JSON pointer (RFC 6901) in which a segment `*` means every element.
    json: Option<String>,
    header: Option<HeaderName>,
    /// In the header, or else in the body.
    regex: Regex,
    pick: Pick,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Pick {
    #[default]
    First,
    Random,
}

/// As it is in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    json: Option<String>,
    header: Option<String>,
    regex: Option<String>,
    #[serde(default)]
    pick: Pick,
}

impl TryFrom<Written> for Capture {
    type Error = anyhow::Error;

    fn try_from(written: Written) -> anyhow::Result<Self> {
        let Written { json, header, regex, pick } = written;
        let has = (json.is_some(), header.is_some(), regex.is_some());
        let is_one = matches!(has, (true, false, false) | (false, true, _) | (false, false, true));
        ensure!(is_one, "a capture names json, header, regex, or header and regex");
        let pointer = json.as_deref().unwrap_or_default();
        let is_pointer = pointer.is_empty() || pointer.starts_with('/');
        ensure!(is_pointer, "a JSON pointer begins with '/', {pointer:?} does not");
        let name = |name: String| name.parse().map_err(|_| anyhow!("{name:?} is no header name"));
        let header = header.map(name).transpose()?;
        // Of a header without a pattern, all of it.
        let regex = Regex::new(regex.as_deref().unwrap_or(".*"))?;
        Ok(Self { json, header, regex, pick })
    }
}

impl Capture {
    /// The value in this answer, if it has one.
    pub fn of(&self, headers: &HeaderMap, body: &[u8]) -> Option<String> {
        let found = if let Some(pointer) = &self.json {
            in_json(&serde_json::from_slice(body).ok()?, pointer)
        } else if let Some(name) = &self.header {
            let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
            values.flat_map(|value| in_text(value, &self.regex)).collect()
        } else {
            in_text(&String::from_utf8_lossy(body), &self.regex)
        };
        match self.pick {
            Pick::First => found.into_iter().next(),
            Pick::Random => found.choose(&mut rand::rng()).cloned(),
        }
    }
}

/// The matches of a pattern; of one with a group, the group.
fn in_text(text: &str, regex: &Regex) -> Vec<String> {
    let matches = regex.captures_iter(text);
    let meant = matches.filter_map(|found| found.get(1).or_else(|| found.get(0)));
    meant.map(|found| found.as_str().to_owned()).collect()
}

/// The scalars at a pointer, in the order of the document.
fn in_json(document: &Value, pointer: &str) -> Vec<String> {
    let mut found = vec![document];
    for segment in pointer.split('/').skip(1) {
        let inside = found.into_iter().flat_map(|value| match (segment, value) {
            ("*", Value::Array(items)) => items.iter().collect(),
            ("*", Value::Object(fields)) => fields.values().collect(),
            _ => Vec::from_iter(value.pointer(&format!("/{segment}"))),
        });
        found = inside.collect();
    }
    let scalar = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    found.into_iter().filter_map(scalar).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hyper::header::{HeaderValue, LOCATION};

    use super::*;

    fn found(toml: &str, headers: &HeaderMap, body: &[u8]) -> Option<String> {
        toml::from_str::<Capture>(toml).expect("it can be had").of(headers, body)
    }

    #[test]
    fn a_value_is_found_by_pointer_header_and_pattern() {
        let body = br#"{"seats":[{"id":7,"a/b":"x"},{"id":8}],"none":null}"#;
        let location = HeaderValue::from_static("/api/reservations/9");
        let headers = HeaderMap::from_iter([(LOCATION, location)]);
        for (toml, value) in [
            ("json = '/seats/1/id'", Some("8")),
            ("json = '/seats/0/a~1b'", Some("x")),
            ("json = '/seats/*/id'", Some("7")),
            ("json = '/seats/2/id'", None),
            ("json = '/none'", None),
            ("json = '/seats'", None),
            ("header = 'Location'", Some("/api/reservations/9")),
            ("header = 'etag'", None),
            ("header = 'location'\nregex = '/reservations/([^/]+)'", Some("9")),
            ("header = 'location'\nregex = '/orders/(.+)'", None),
            (r#"regex = '"id":(\d+)'"#, Some("7")),
            (r#"regex = 'n.ne'"#, Some("none")),
        ] {
            assert_eq!(found(toml, &headers, body).as_deref(), value, "{toml}");
        }
    }

    #[test]
    fn one_of_several_is_drawn() {
        let every = "json = '/*'\npick = 'random'";
        let drawn = (0..200).filter_map(|_| found(every, &HeaderMap::new(), b"[1,2,3]"));
        assert_eq!(drawn.collect::<BTreeSet<_>>().len(), 3);
    }
}
