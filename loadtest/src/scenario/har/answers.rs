//! Where an answer of the recording shows a value, as a capture of a scenario says it.

use regex::escape;
use serde_json::Value;
use url::{Position, Url};

use super::recording::Entry;
use super::{quoted, rules};

/// Characters before a value that are looked at, to tell it from others.
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
    json: Option<Value>,
    /// Where it leads to and was not followed yet.
    location: Option<Url>,
}

impl<'r> Answer<'r> {
    /// What an error shows is not looked at: a visitor gets another answer in its place.
    pub fn of(entry: &'r Entry, url: Url) -> Self {
        let works = entry.response.as_ref().filter(|_| (200..400).contains(&entry.status()));
        let headers: Vec<_> = works.iter().flat_map(|answer| answer.headers()).collect();
        let location = headers.iter().find(|(name, _)| entry.is_redirect() && name == "location");
        // A path of a scenario begins with `/`.
        let location = location.filter(|(_, to)| to.starts_with('/') || Url::parse(to).is_ok());
        let location = location.and_then(|(_, to)| url.join(to).ok());
        let body = works.and_then(|answer| answer.content.as_ref()?.text.as_deref());
        let shows = |name: &str| name.starts_with("x-") || HEADERS.contains(&name);
        let headers = headers.into_iter().filter(|(name, _)| shows(name));
        let headers = headers.map(|(name, text)| (format!("header = {}, ", quoted(&name)), text));
        let texts = headers.chain(body.map(|text| (String::new(), text)));
        Self {
            texts: texts.collect(),
            json: body.and_then(|text| serde_json::from_str(text).ok()),
            location: location.filter(|to| to.origin() == url.origin()),
            url,
        }
    }

    /// The place of the `Location` if it leads to this path and query.
    pub fn leads_to(&mut self, target: &str) -> Option<String> {
        self.location.take_if(|to| to[Position::BeforePath..Position::AfterQuery] == *target)?;
        // The origin is another one in a test.
        Some(r#"{ header = "location", regex = '^(?:(?:https?:)?//[^/?#]+)?(/[^#]*)' }"#.to_owned())
    }

    /// Where it shows the value. A short number counts only as an id of what it comes after.
    pub fn shows(&self, value: &str, after: Option<&str>) -> Option<String> {
        let may_be = |pointer: &str| {
            let key = pointer.rsplit('/').next().unwrap_or_default();
            let of = |after| self.url.path().contains(after) || pointer.contains(after);
            rules::is_clean(pointer) && after.is_none_or(|after| rules::names_id(key) && of(after))
        };
        let mut texts = self.texts.iter().filter(|(_, text)| text.contains(value)).peekable();
        // JSON may escape a slash.
        let may_show = texts.peek().is_some() || value.contains('/');
        let json = self.json.as_ref().filter(|_| may_show);
        let mut at = String::new();
        if json.is_some_and(|json| pointer(json, value, &mut at, &may_be)) {
            return Some(format!("{{ json = {} }}", quoted(&at)));
        }
        texts.find_map(|(name, text)| {
            let pattern = self.pattern(text, value, after)?;
            Some(format!("{{ {name}regex = {} }}", quoted(&pattern)))
        })
    }

    /// A pattern whose first match in a text is the value, with as little before it as is enough.
    fn pattern(&self, text: &str, value: &str, after: Option<&str>) -> Option<String> {
        let word = |char: char| char.is_alphanumeric() || char == '-' || char == '_';
        let origin = self.url.origin().ascii_serialization();
        let next = |at: usize| text[at + value.len()..].chars().next();
        let times = text.match_indices(value).filter(|(at, _)| {
            let inside = |next: char| word(next) || value.contains(next);
            let begins = !text[..*at].ends_with(word) && !value.contains(' ');
            let ends = !next(*at).is_some_and(inside);
            begins && ends && after.is_none_or(|_| text[..*at].ends_with('/'))
        });
        for (at, _) in times.take(MOST_TIMES) {
            let before = &text[..at];
            let starts = before.char_indices().rev().map(|(start, _)| start);
            let starts: Vec<_> = starts.take(LONGEST_CONTEXT).collect();
            let from = starts.last().copied().unwrap_or_default();
            let guarded = rules::found(&before[from..]);
            let starts = starts.into_iter().chain((at == 0).then_some(0));
            let context = starts.map(|start| before.split_at(start)).find(|(outside, context)| {
                let whole = outside.is_empty();
                let begins = outside.ends_with([' ', '\t', '\n', '>', '{', ',', '&', '?', ';']);
                let tells = context.contains(char::is_alphabetic) && !context.starts_with("value=");
                (begins || whole || context.starts_with('<') || outside.ends_with(&origin))
                    && (whole || tells)
                    && !context.contains(&origin)
                    && after.is_none_or(|it| {
                        context.ends_with(&format!("{it}/"))
                            || context.ends_with(&format!("{it}s/"))
                    })
                    && text.find(context) == Some(outside.len())
                    && rules::is_clean(context)
                    && guarded.iter().all(|(range, ..)| from + range.end <= outside.len())
            });
            if let Some((_, context)) = context {
                let ends: String = ENDS.chars().filter(|end| !value.contains(*end)).collect();
                let next = next(at).filter(|next| !ENDS.contains(*next)).map(|it| it.to_string());
                let next = escape(&next.unwrap_or_default());
                let start = if context.is_empty() { "^" } else { "" };
                return Some(format!(r"{start}{}([^{ends}{next}\s]+)", escape(context)));
            }
        }
        None
    }
}

/// Finds a scalar of a value below a place, and adds the way there, if it may be named.
fn pointer(json: &Value, wanted: &str, at: &mut String, may_be: &impl Fn(&str) -> bool) -> bool {
    let mut below = |key: &str, value: &Value| {
        let length = at.len();
        at.push('/');
        at.push_str(&key.replace('~', "~0").replace('/', "~1"));
        let found = pointer(value, wanted, at, may_be);
        at.truncate(if found { at.len() } else { length });
        found
    };
    match json {
        Value::String(text) => text == wanted && may_be(at),
        Value::Number(number) => number.to_string() == wanted && may_be(at),
        Value::Array(items) => items.iter().enumerate().any(|(i, it)| below(&i.to_string(), it)),
        Value::Object(fields) => fields.iter().any(|(key, value)| below(key, value)),
        Value::Null | Value::Bool(_) => false,
    }
}
