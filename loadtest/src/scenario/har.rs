//! A scenario from a browser's recording (HTTP Archive 1.2).
//!
//! What a person did is kept: requests of the first page's origin, with the time before each. Left
//! out are static files, what other origins served, and whatever could be a secret: cookies,
//! authorization, and fields of queries and bodies that are named like one.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use url::Url;

use super::template::literal;

#[derive(Deserialize)]
struct Har {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: Timestamp,
    /// Milliseconds.
    #[serde(default)]
    time: f64,
    request: Request,
    response: Response,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    #[serde(deserialize_with = "address")]
    url: Url,
    #[serde(default)]
    headers: Vec<Header>,
    post_data: Option<Body>,
}

#[derive(Deserialize)]
struct Header {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Response {
    status: u16,
    #[serde(default)]
    content: Content,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    #[serde(default)]
    mime_type: String,
}

fn address<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Url, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(|error| serde::de::Error::custom(format_args!("{text:?}: {error}")))
}

/// A request says what it is about by these; all others a browser adds, or they may be secret.
const KEPT_HEADERS: [&str; 5] =
    ["accept", "accept-language", "content-type", "x-requested-with", "if-match"];
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
/// A field whose name holds one of these is taken for a secret.
const SECRET: [&str; 17] = [
    "token",
    "secret",
    "passw",
    "pwd",
    "auth",
    "session",
    "csrf",
    "xsrf",
    "apikey",
    "api_key",
    "api-key",
    "signature",
    "credential",
    "jwt",
    "sid",
    "cvv",
    "card",
];
/// What stands for a secret; the check of the scenario shows it, and the service refuses it.
const REMOVED: &str = "REMOVED";
const STATIC_TYPES: [&str; 7] =
    ["image/", "font/", "audio/", "video/", "text/css", "javascript", "application/wasm"];
const STATIC_ENDINGS: [&str; 15] = [
    ".css", ".js", ".mjs", ".map", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif",
    ".ico", ".woff", ".woff2", ".wasm",
];
/// Shorter waits are the page's own.
const SHORTEST_THINK: Duration = Duration::from_millis(100);

/// The scenario file of a recording.
///
/// # Errors
///
/// What is wrong with the recording.
pub fn scenario(recording: &str) -> Result<String, String> {
    let har: Har = serde_json::from_str(recording).map_err(|error| error.to_string())?;
    let mut entries = har.log.entries;
    entries.sort_by_key(|entry| entry.started_date_time);
    let first = entries.iter().find(|entry| !is_static(entry));
    let origin = first.ok_or("no request that is not for a static file")?.request.url.origin();
    let mut text = format!("# From a recording of {}.\n", origin.ascii_serialization());
    let mut removed = false;
    let mut before: Option<Timestamp> = None;
    let kept = entries.iter().filter(|entry| {
        entry.request.url.origin() == origin
            && !is_static(entry)
            && METHODS.contains(&entry.request.method.as_str())
            // What never came back tells nothing.
            && entry.response.status >= 100
    });
    for (number, entry) in (1..).zip(kept) {
        let started = entry.started_date_time;
        let think = before.map_or(Duration::ZERO, |before| {
            Duration::try_from(started.duration_since(before)).unwrap_or_default()
        });
        let took = Duration::try_from_secs_f64(entry.time / 1000.0).unwrap_or_default();
        let ended = started.checked_add(took).unwrap_or(started);
        before = Some(before.map_or(ended, |before| before.max(ended)));
        removed |= step(&mut text, number, entry, think);
    }
    if removed {
        let _ = write!(
            text,
            "\n# {REMOVED} stands for what may be a secret: put a capture of an earlier answer\n\
             # or a value for tests there.\n"
        );
    }
    Ok(text)
}

/// Adds a step; returns whether something was removed from it.
fn step(text: &mut String, number: u32, entry: &Entry, think: Duration) -> bool {
    let request = &entry.request;
    let (path, mut removed) = target(&request.url);
    let name = format!("{number} {} {}", request.method, request.url.path());
    let _ = write!(text, "\n[[steps]]\nname = {}\n", quoted(&name));
    let _ = writeln!(text, "method = {}\npath = {}", quoted(&request.method), quoted(&path));
    if think >= SHORTEST_THINK {
        let think = Duration::from_millis(u64::try_from(think.as_millis()).unwrap_or(u64::MAX));
        let _ = writeln!(text, "think = \"{}\"", humantime::format_duration(think));
    }
    if !(200..300).contains(&entry.response.status) {
        let _ = writeln!(text, "expect = [{}]", entry.response.status);
    }
    for header in &request.headers {
        let name = header.name.to_ascii_lowercase();
        if KEPT_HEADERS.contains(&name.as_str()) {
            let _ = writeln!(text, "headers.{name} = {}", quoted(&literal(&header.value)));
        }
    }
    if let Some(body) = request.post_data.as_ref().filter(|body| !body.text.is_empty()) {
        let (body, without) = cleaned(body);
        removed |= without;
        let _ = writeln!(text, "body = {}", quoted(&literal(&body)));
    }
    removed
}

fn is_static(entry: &Entry) -> bool {
    let kind = entry.response.content.mime_type.to_ascii_lowercase();
    let path = entry.request.url.path().to_ascii_lowercase();
    STATIC_TYPES.iter().any(|part| kind.contains(part))
        || STATIC_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// Path and query, without secrets.
fn target(url: &Url) -> (String, bool) {
    let mut url = url.clone();
    let mut removed = false;
    if let Some(query) = url.query().map(str::to_owned) {
        let (query, without) = form(&query);
        url.set_query(Some(&query));
        removed = without;
    }
    let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
    (literal(path), removed)
}

/// Fields of a query or a form, without secrets; as it was where nothing is one.
fn form(fields: &str) -> (String, bool) {
    let mut removed = false;
    let mut kept = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in url::form_urlencoded::parse(fields.as_bytes()) {
        let secret = is_secret(&name);
        removed |= secret;
        kept.append_pair(&name, if secret { REMOVED } else { &value });
    }
    (if removed { kept.finish() } else { fields.to_owned() }, removed)
}

/// A body without secrets; one of another kind than JSON and forms is left out.
fn cleaned(body: &Body) -> (String, bool) {
    if body.mime_type.starts_with("application/x-www-form-urlencoded") {
        return form(&body.text);
    }
    let Ok(mut json) = serde_json::from_str(&body.text) else {
        return (REMOVED.to_owned(), true);
    };
    if clean(&mut json) { (json.to_string(), true) } else { (body.text.clone(), false) }
}

/// Takes secrets out; returns whether there was one.
fn clean(json: &mut serde_json::Value) -> bool {
    let removed = |found: usize| found > 0;
    match json {
        serde_json::Value::Object(fields) => {
            let each = fields.iter_mut().filter_map(|(name, value)| {
                if is_secret(name) {
                    *value = REMOVED.into();
                    return Some(());
                }
                clean(value).then_some(())
            });
            removed(each.count())
        }
        serde_json::Value::Array(items) => {
            removed(items.iter_mut().filter_map(|item| clean(item).then_some(())).count())
        }
        _ => false,
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
