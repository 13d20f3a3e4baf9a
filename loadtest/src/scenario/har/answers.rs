//! Where an answer of the recording shows a value, as a capture of a scenario says it.

use std::collections::HashMap;

use regex::escape;
use serde_json::Value;
use url::{Position, Url};

use super::recording::Entry;
use super::{quoted, rules};

/// Characters before a value that are looked at, to know it from others.
const LONGEST_CONTEXT: usize = 200;
/// So many times a value is looked for in one text.
const MOST_TIMES: usize = 5;
/// What ends a value in a text, besides white space.
const ENDS: &str = "\"'<>&;,/?#";
/// Headers that show values, besides `x-…`.
const HEADERS: [&str; 3] = ["location", "etag", "set-cookie"];

/// The answer to a step.
pub struct Answer<'r> {
    url: Url,
    /// The headers, then the body: how a capture names it, and its text.
    texts: Vec<(String, &'r str)>,
    /// Of each string and number in the JSON of the body, its JSON pointers.
    json: HashMap<String, Vec<String>>,
    /// Where it leads to and was not followed yet.
    location: Option<Url>,
}

impl<'r> Answer<'r> {
    /// What an error shows is not looked at: a visitor gets another answer in its place.
    pub fn of(entry: &'r Entry, url: Url) -> Self {
        let (mut texts, mut json) = (Vec::new(), HashMap::new());
        if (200..400).contains(&entry.status()) {
            let shown = entry.answer_headers();
            let shown = shown.filter(|(it, _)| it.starts_with("x-") || HEADERS.contains(&&**it));
            texts.extend(shown.map(|(it, text)| (format!("header = {}, ", quoted(&it)), text)));
            let body = entry.text("/response/content/text");
            texts.push((String::new(), body));
            if let Ok(body) = serde_json::from_str(body) {
                pointers(&body, "", &mut json);
            }
        }
        let mut headers = entry.answer_headers().filter(|_| entry.is_redirect());
        let location = headers.find(|(name, _)| name == "location").map(|(_, to)| to);
        // A path of a scenario begins with `/`.
        let location = location.filter(|to| to.starts_with('/') || Url::parse(to).is_ok());
        let location = location.and_then(|to| url.join(to).ok());
        Self { texts, json, location: location.filter(|to| to.origin() == url.origin()), url }
    }

    /// The place of the `Location` if it leads to this path and query.
    pub fn leads_to(&mut self, target: &str) -> Option<String> {
        self.location.take_if(|to| to[Position::BeforePath..Position::AfterQuery] == *target)?;
        // The origin is another one in a test.
        Some(r#"{ header = "location", regex = '^(?:(?:https?:)?//[^/?#]+)?(/[^#]*)' }"#.to_owned())
    }

    /// Where it shows the value. A short number counts only as an id of what it comes after.
    pub fn shows(&self, value: &str, after: Option<&str>) -> Option<String> {
        let may_be = |pointer: &&String| {
            let key = pointer.rsplit('/').next().unwrap_or_default();
            let of = |after| self.url.path().contains(after) || pointer.contains(after);
            rules::is_clean(pointer) && after.is_none_or(|after| rules::names_id(key) && of(after))
        };
        if let Some(pointer) = self.json.get(value).into_iter().flatten().find(may_be) {
            return Some(format!("{{ json = {} }}", quoted(pointer)));
        }
        self.texts.iter().find_map(|(name, text)| {
            let pattern = self.pattern(text, value, after)?;
            Some(format!("{{ {name}regex = {} }}", quoted(&pattern)))
        })
    }

    /// A pattern whose first match in a text is the value, with as little before it as is enough.
    fn pattern(&self, text: &str, value: &str, after: Option<&str>) -> Option<String> {
        let word = |char: char| char.is_alphanumeric() || char == '-' || char == '_';
        let inside = |next: char| word(next) || value.contains(next);
        let times = text.match_indices(value);
        let times = times.map(|(at, _)| (&text[..at], &text[at + value.len()..]));
        let alone = times.filter(|(before, rest)| {
            !(before.ends_with(word) || value.contains(' ') || rest.starts_with(inside))
                && (after.is_none() || before.ends_with('/'))
        });
        alone.take(MOST_TIMES).find_map(|(before, rest)| {
            let context = self.context(text, before, after)?;
            let start = if context.is_empty() { "^" } else { "" };
            let ends: String = ENDS.chars().filter(|end| !value.contains(*end)).collect();
            let next = rest.chars().next().filter(|next| !ENDS.contains(*next));
            let next = escape(&String::from_iter(next));
            Some(format!(r"{start}{}([^{ends}{next}\s]+)", escape(context)))
        })
    }

    /// The shortest end of what is before a value that is nowhere earlier in the text, begins where
    /// a word does and shows nothing that is not replayed.
    fn context<'t>(&self, text: &str, before: &'t str, after: Option<&str>) -> Option<&'t str> {
        if before.is_empty() {
            return Some(before);
        }
        let starts: Vec<_> = before.char_indices().rev().take(LONGEST_CONTEXT).collect();
        let from = starts.last().map_or(0, |(start, _)| *start);
        let secrets = rules::found(&before[from..]);
        let clean_from = from + secrets.iter().map(|(range, ..)| range.end).max().unwrap_or(0);
        let origin = self.url.origin().ascii_serialization();
        let is_it = |(outside, context): &(&str, &str)| {
            let begins = outside.ends_with([' ', '\t', '\n', '>', '{', ',', '&', '?', ';']);
            let names = context.contains(char::is_alphabetic) && !context.starts_with("value=");
            let is_of = |name: &str| context.trim_end_matches('/').ends_with(name);
            (outside.is_empty()
                || names && (begins || context.starts_with('<') || outside.ends_with(&origin)))
                && !context.contains(&origin)
                && after.is_none_or(|name| is_of(name) || is_of(&format!("{name}s")))
                && text.find(context) == Some(outside.len())
                && rules::is_clean(context)
        };
        let starts = starts.into_iter().take_while(|(start, _)| *start >= clean_from);
        starts.map(|(start, _)| before.split_at(start)).find(is_it).map(|(_, context)| context)
    }
}

/// Adds the JSON pointers of all strings and numbers below a place.
fn pointers(json: &Value, at: &str, found: &mut HashMap<String, Vec<String>>) {
    let mut add = |text: String| found.entry(text).or_default().push(at.to_owned());
    match json {
        Value::Null | Value::Bool(_) => {}
        Value::String(text) => add(text.clone()),
        Value::Number(number) => add(number.to_string()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(value, &format!("{at}/{key}"), found);
            }
        }
    }
}
