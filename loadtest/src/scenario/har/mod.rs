//! A scenario from a browser's recording (HTTP Archive 1.2).
//!
//! What a person did is kept: requests of the origin whose pages were seen most, with the time
//! before each. [`rules`] classify every recorded value. A secret or an id becomes a capture if an
//! earlier answer shows it, and else a value that the scenario asks for.

mod answers;
mod recording;
mod redact;
mod rules;
mod values;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use answers::Answer;
use hyper::header::HeaderValue;
use jiff::Timestamp;
use recording::{Entry, Har};
use rules::Kind;
use url::{Position, Url};
pub use values::REMOVED;
use values::Values;

use crate::progress::on_one_line;

/// So many of one kind are named; a page may ask hundreds of origins.
const NAMED: usize = 50;
/// A request says what it is about by these. A browser adds the others, or they may be secret.
const KEPT_HEADERS: [&str; 5] =
    ["accept", "accept-language", "content-type", "x-requested-with", "if-match"];
/// Shorter waits are the page's own.
const SHORTEST_THINK: Duration = Duration::from_millis(100);

/// The steps so far, and what their reader has to know.
#[derive(Default)]
struct Maker<'r> {
    values: Values<'r>,
    /// When the last answer was there.
    before: Option<Timestamp>,
    /// How often each was met.
    left_out: BTreeMap<String, usize>,
    headers: BTreeMap<String, usize>,
    failed: Vec<String>,
}

/// Makes a scenario of a recording. It begins with comments on what became of the recording: names
/// alone, no values.
pub fn scenario(recording: &str) -> Result<String, String> {
    // Recorders on Windows write a byte order mark.
    let recording = recording.trim_start_matches('\u{feff}');
    let no_har = |error| format!("no HAR file: {error}");
    let mut har: Har = serde_json::from_str(recording).map_err(no_har)?;
    har.log.entries.iter_mut().for_each(Entry::normalize);
    let mut entries: Vec<_> = har.log.entries.iter().map(|it| (it, it.address())).collect();
    entries.sort_by_key(|(entry, _)| entry.started_date_time);
    let own = own_origin(&entries);
    let mut maker = Maker::default();
    for (entry, address) in entries {
        let exchange = (entry.method(), entry.status());
        let reason = match address.map(|url| (url.origin().ascii_serialization(), url)) {
            Err(reason) => reason.to_owned(),
            Ok((origin, _)) if origin != own => origin,
            // What is not there; no visitor needs that.
            Ok((_, url)) if matches!(exchange, ("GET" | "HEAD", 404 | 410)) => {
                let mut unused = Values::default();
                let path = unused.target(url.path(), "", "");
                format!("{} {} with {}", exchange.0, unused.written(&path), exchange.1)
            }
            Ok((_, url)) => {
                maker.step(entry, url);
                continue;
            }
        };
        *maker.left_out.entry(reason).or_default() += 1;
    }
    if maker.values.steps.is_empty() {
        let left_out = counted(&maker.left_out);
        return Err(format!("no request to make a step of; left out: {left_out}"));
    }
    Ok(maker.made(&own))
}

/// The origin that served most of the pages; of equals most of the answers, then the first.
fn own_origin(entries: &[(&Entry, Result<Url, &str>)]) -> String {
    let mut loads = HashSet::new();
    let mut votes: BTreeMap<String, (u64, u64, Reverse<usize>)> = BTreeMap::new();
    for (index, (entry, address)) in entries.iter().enumerate() {
        let Ok(url) = address else { continue };
        // Of one load of a page the first, as others are frames in it.
        let page =
            entry.is_page() && entry.at("/pageref").as_str().is_none_or(|page| loads.insert(page));
        let origin = url.origin().ascii_serialization();
        let votes = votes.entry(origin).or_insert((0, 0, Reverse(index)));
        votes.0 += u64::from(page);
        votes.1 += u64::from(!entry.is_redirect());
    }
    votes.into_iter().max_by_key(|(_, votes)| *votes).unwrap_or_default().0
}

fn counted(names: &BTreeMap<String, usize>) -> String {
    let all = names.iter().map(|(name, count)| format!("{name} ({count})"));
    let more = names.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    all.take(NAMED).chain(more).collect::<Vec<_>>().join(", ")
}

impl<'r> Maker<'r> {
    fn step(&mut self, entry: &'r Entry, url: Url) {
        let think = self.think(entry);
        let values = &mut self.values;
        let (method, status) = (entry.method(), entry.status());
        let number = values.steps.len() + 1;
        let target = &url[Position::BeforePath..Position::AfterQuery];
        let mark = values.redirected(target);
        let target = mark.unwrap_or_else(|| values.target(target, "path", "query"));
        let target = values.written(&target);
        let path = target.split('?').next().unwrap_or_default();
        let mut text = "\n[[steps]]\n".to_owned();
        let mut say = |key: &str, value: toml::Value| text += &format!("{key} = {value}\n");
        say("name", format!("{number} {method} {path}").into());
        say("method", method.into());
        say("path", target.into());
        if think >= SHORTEST_THINK {
            say("think", crate::durations::format_duration(think).into());
        }
        // A browser's cache checked whether its copy still holds; a visit has no copy.
        if !matches!(status, 200..300 | 304) {
            say("expect", vec!["2xx", "3xx"].into());
        }
        if status >= 400 {
            self.failed.push(format!("step {number} with {status}"));
        }
        let (mut kept, mut kind) = (Vec::new(), "");
        for (name, value) in entry.headers() {
            if kept.contains(&name) {
                continue;
            }
            if !KEPT_HEADERS.contains(&name.as_str()) || value.parse::<HeaderValue>().is_err() {
                *self.headers.entry(redact::shown(&name)).or_default() += 1;
                continue;
            }
            let place = format!("header {name}");
            let cleaned = match name.as_str() {
                "content-type" => {
                    kind = value;
                    // It is no secret, and may have the random boundary of parts.
                    value.to_owned()
                }
                "if-match" => values.of(Kind::Random, "etag", value, &place).unwrap_or_default(),
                _ => values.text(value, &place),
            };
            say(&format!("headers.{name}"), values.written(&cleaned).into());
            kept.push(name);
        }
        if let Some(body) = values.body(entry, kind) {
            say("body", values.written(&body).into());
        }
        values.steps.push((text, Answer::of(entry, url)));
    }

    /// How long a person waited before it, after the last answer.
    fn think(&mut self, entry: &Entry) -> Duration {
        let started = entry.started_date_time;
        let think = started.duration_since(self.before.unwrap_or(started)).as_millis();
        let took = entry.at("/time").as_f64().unwrap_or_default() / 1000.0;
        let took = Duration::try_from_secs_f64(took).unwrap_or_default();
        self.before = self.before.max(started.checked_add(took).ok().or(Some(started)));
        Duration::from_millis(u64::try_from(think).unwrap_or_default())
    }

    fn made(self, origin: &str) -> String {
        let values = self.values;
        let number = values.steps.len();
        let mut notes = vec![format!("From a recording of {origin}, steps: {number}.")];
        for (title, names) in [
            ("Left out", counted(&self.left_out)),
            ("Headers left out", counted(&self.headers)),
            ("Failed in the recording, expected to work", self.failed.join(", ")),
            ("Captured", values.captured.join(", ")),
        ] {
            if !names.is_empty() {
                notes.push(format!("{title}: {names}."));
            }
        }
        if !values.to_fill_in.is_empty() {
            notes.push("To fill in, as no earlier answer shows these secrets and ids:".to_owned());
            notes.extend(values.to_fill_in.iter().map(|value| format!("  {value}")));
            notes.push("Capture each in an earlier step, or put a value in its place.".to_owned());
        }
        notes.push("A secret is known by its name or its looks. Others are still in here,".into());
        notes.push("like personal data: look through the file before you share it.".into());
        let notes = notes.iter().map(|note| format!("# {}\n", on_one_line(note)));
        notes.chain(values.steps.into_iter().map(|(step, _)| step)).collect()
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
