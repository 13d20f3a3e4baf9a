//! A scenario from a browser's recording (HTTP Archive 1.2).
//!
//! What a person did is kept: requests of the origin whose pages were seen most, with the time
//! before each. Left out are static files, what other origins served, cookies and authorization;
//! what else could be a secret is removed, and the scenario asks for it.

mod looks;
mod marks;
mod names;
mod recording;
mod redact;

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
pub use marks::REMOVED;
use recording::{Entry, Har, LeftOut};
use redact::Redactor;

use crate::progress::on_one_line;

/// What of other origins is named; a page may ask hundreds.
const NAMED_ORIGINS: usize = 8;
/// What of one step is named.
const NAMED_PLACES: usize = 20;
/// Shorter waits are the page's own.
const SHORTEST_THINK: Duration = Duration::from_millis(100);

/// What was made of a recording.
pub struct Made {
    /// What became of it, in lines for people: names alone, no values.
    pub notes: Vec<String>,
    steps: String,
}

/// The scenario file.
impl std::fmt::Display for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for note in &self.notes {
            writeln!(f, "# {note}")?;
        }
        f.write_str(&self.steps)
    }
}

/// Makes a scenario of a recording.
///
/// # Errors
///
/// What is wrong with the recording.
pub fn scenario(recording: &str) -> Result<Made, String> {
    // Recorders on Windows write a byte order mark.
    let recording = recording.trim_start_matches('\u{feff}');
    let har: Har = serde_json::from_str(recording).map_err(|error| error.to_string())?;
    let mut entries = har.log.entries;
    entries.sort_by_key(|entry| entry.started_date_time);
    let mut left_out: BTreeMap<LeftOut, u64> = BTreeMap::new();
    let mut leave = |reason| *left_out.entry(reason).or_default() += 1;
    let origin = origin(&entries);
    let mut redactor = Redactor::default();
    let mut steps = String::new();
    let mut removed = Vec::new();
    let mut number = 0_u64;
    let mut before: Option<Timestamp> = None;
    for entry in &entries {
        let url = match entry.address() {
            Ok(url) => url,
            Err(reason) => {
                leave(reason);
                continue;
            }
        };
        let of = url.origin().ascii_serialization();
        if origin.as_ref() != Some(&of) {
            leave(LeftOut::Origin(of));
            continue;
        }
        number += 1;
        let started = entry.started_date_time;
        let think = before.map_or(Duration::ZERO, |before| {
            Duration::try_from(started.duration_since(before)).unwrap_or_default()
        });
        let took = entry.time.unwrap_or_default() / 1000.0;
        let took = Duration::try_from_secs_f64(took).unwrap_or_default();
        let ended = started.checked_add(took).unwrap_or(started);
        before = Some(before.map_or(ended, |before| before.max(ended)));
        step(&mut steps, number, entry, url, think, &mut redactor);
        let places = redactor.places();
        if !places.is_empty() {
            let (named, more) = places.split_at(places.len().min(NAMED_PLACES));
            let more =
                if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            removed.push(on_one_line(&format!("  step {number}: {}{more}", named.join(", "))));
        }
    }
    let left_out = told(&left_out);
    let Some(origin) = origin else {
        return Err(format!("no request to make a step of; left out: {left_out}"));
    };
    let mut notes =
        vec![format!("From a recording of {origin}; requests that are steps: {number}.")];
    if !left_out.is_empty() {
        notes.push(format!("Left out: {left_out}."));
    }
    if removed.is_empty() {
        notes.push("Nothing in it was recognised as a secret.".to_owned());
    } else {
        notes.push("Removed, as they may be secrets:".to_owned());
        notes.append(&mut removed);
        notes.push(
            "Each is a value {removed_…} now, which `scenario check` asks for: capture it".into(),
        );
        notes.push(
            "under that name in an earlier step, or put a value for tests in its place.".into(),
        );
    }
    notes.push(
        "A secret is known by its name or its looks. Others are still in here, and so is".into(),
    );
    notes.push("what concerns a person: look through it before you share it.".into());
    Ok(Made { notes, steps })
}

/// The origin that served most of the pages; where there are none, most of the answers. Of equals
/// the first.
fn origin(entries: &[Entry]) -> Option<String> {
    let asked = entries.iter().filter_map(|entry| Some((entry, entry.address().ok()?)));
    let asked: Vec<_> = asked.collect();
    let mut seen = HashSet::new();
    // Of one load of a page the first, as others are frames in it.
    let pages = asked.iter().filter(|(entry, _)| {
        entry.is_page() && entry.page.as_ref().is_none_or(|page| seen.insert(page.clone()))
    });
    let pages: Vec<_> = pages.map(|(_, url)| url).collect();
    let answers = asked.iter().filter(|(entry, _)| !entry.is_redirect()).map(|(_, url)| url);
    let answers: Vec<_> = answers.collect();
    let all = asked.iter().map(|(_, url)| url).collect();
    let votes = [pages, answers, all].into_iter().find(|votes| !votes.is_empty())?;
    let mut counts: Vec<(String, u64)> = Vec::new();
    for url in votes {
        let origin = url.origin().ascii_serialization();
        match counts.iter_mut().find(|(known, _)| *known == origin) {
            Some((_, count)) => *count += 1,
            None => counts.push((origin, 1)),
        }
    }
    // `max_by_key` takes the last of equals.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(origin, _)| origin)
}

fn told(left_out: &BTreeMap<LeftOut, u64>) -> String {
    let origin = |reason: &LeftOut| matches!(reason, LeftOut::Origin(_));
    let (mut origins, mut told): (Vec<_>, Vec<_>) =
        left_out.iter().partition(|(reason, _)| origin(reason));
    origins.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let others = origins.split_off(origins.len().min(NAMED_ORIGINS));
    told.extend(origins);
    let mut told: Vec<_> = told.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    if !others.is_empty() {
        let count: u64 = others.iter().map(|(_, count)| **count).sum();
        told.push(format!("{count} of {} other origins", others.len()));
    }
    told.join(", ")
}

fn step(
    text: &mut String,
    number: u64,
    entry: &Entry,
    url: &url::Url,
    think: Duration,
    redactor: &mut Redactor,
) {
    let request = &entry.request;
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let target = redactor.target(target, "path", "query");
    let target = redactor.written(&target);
    let path = target.split_once('?').map_or(target.as_str(), |(path, _)| path);
    let name = format!("{number} {} {path}", request.method);
    let _ = write!(text, "\n[[steps]]\nname = {}\n", quoted(&name));
    let _ = writeln!(text, "method = {}\npath = {}", quoted(&request.method), quoted(&target));
    if think >= SHORTEST_THINK {
        let think = Duration::from_millis(u64::try_from(think.as_millis()).unwrap_or(u64::MAX));
        let _ = writeln!(text, "think = \"{}\"", humantime::format_duration(think));
    }
    // A browser's cache asked whether its copy still holds; a visit has no copy.
    if !(200..300).contains(&entry.status()) && entry.status() != 304 {
        let _ = writeln!(text, "expect = [{}]", entry.status());
    }
    for (name, value) in entry.headers() {
        // It is no secret, and may hold the random boundary of parts.
        let value = match name.as_str() {
            "content-type" => value.to_owned(),
            _ => redactor.text(value, &format!("header {name}")),
        };
        let _ = writeln!(text, "headers.{name} = {}", quoted(&redactor.written(&value)));
    }
    if let Some(body) = request.post_data.as_ref().and_then(|body| redactor.body(body)) {
        let _ = writeln!(text, "body = {}", quoted(&redactor.written(&body)));
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
