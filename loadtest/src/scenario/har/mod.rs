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
use std::fmt::Write as _;
use std::time::Duration;

use answers::Answer;
use jiff::Timestamp;
use recording::{Entry, Har};
use redact::Redactor;
use rules::Kind;
use url::{Position, Url};
pub use values::REMOVED;

use crate::progress::on_one_line;

/// So many of one kind are named; a page may ask hundreds of origins.
const NAMED: usize = 50;
/// Shorter waits are the page's own.
const SHORTEST_THINK: Duration = Duration::from_millis(100);

/// The steps so far, and what their reader has to know.
#[derive(Default)]
struct Maker<'r> {
    redactor: Redactor<'r>,
    /// When the last answer was there.
    before: Option<Timestamp>,
    left_out: BTreeMap<String, usize>,
    headers: BTreeMap<String, usize>,
    failed: Vec<String>,
}

/// Makes a scenario of a recording. It begins with comments on what became of the recording: names
/// alone, no values.
///
/// # Errors
///
/// What is wrong with the recording.
pub fn scenario(recording: &str) -> Result<String, String> {
    // Recorders on Windows write a byte order mark.
    let recording = recording.trim_start_matches('\u{feff}');
    let har: Har = serde_json::from_str(recording).map_err(|error| error.to_string())?;
    let mut entries = har.log.entries;
    entries.sort_by_key(|entry| entry.started_date_time);
    let origin = origin(&entries);
    let mut maker = Maker::default();
    for entry in &entries {
        let reason = match entry.address() {
            Ok(url) if url.origin().ascii_serialization() != origin => {
                url.origin().ascii_serialization()
            }
            Ok(url) if entry.is_lost() => {
                let mut unused = Redactor::default();
                let path = unused.target(url.path(), "", "");
                let path = unused.values.written(&path);
                format!("{} {path} with {}", entry.request.method, entry.status())
            }
            Ok(url) => {
                maker.step(entry, url);
                continue;
            }
            Err(reason) => reason.to_owned(),
        };
        *maker.left_out.entry(reason).or_default() += 1;
    }
    if maker.redactor.values.steps.is_empty() {
        let left_out = counted(&maker.left_out);
        return Err(format!("no request to make a step of; left out: {left_out}"));
    }
    Ok(maker.made(&origin))
}

/// The origin that served most of the pages; of equals most of the answers, then the first.
fn origin(entries: &[Entry]) -> String {
    let mut loads = HashSet::new();
    let mut votes: BTreeMap<String, (u64, u64, Reverse<usize>)> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let Ok(url) = entry.address() else { continue };
        // Of one load of a page the first, as others are frames in it.
        let page = entry.is_page() && entry.page.as_ref().is_none_or(|page| loads.insert(page));
        let origin = url.origin().ascii_serialization();
        let votes = votes.entry(origin).or_insert((0, 0, Reverse(index)));
        votes.0 += u64::from(page);
        votes.1 += u64::from(!entry.is_redirect());
    }
    let most = votes.into_iter().max_by_key(|(_, votes)| *votes);
    most.map(|(origin, _)| origin).unwrap_or_default()
}

/// Names with how often each was met.
fn counted(counts: &BTreeMap<String, usize>) -> String {
    let all = counts.iter().map(|(name, count)| format!("{name} ({count})"));
    let more = counts.len().checked_sub(NAMED).filter(|more| *more > 0);
    let more = more.map(|more| format!("and {more} more"));
    all.take(NAMED).chain(more).collect::<Vec<_>>().join(", ")
}

impl<'r> Maker<'r> {
    fn step(&mut self, entry: &'r Entry, url: Url) {
        let redactor = &mut self.redactor;
        let number = redactor.values.steps.len() + 1;
        let (request, status, method) = (&entry.request, entry.status(), &entry.request.method);
        let target = &url[Position::BeforePath..Position::AfterQuery];
        let target = redactor.values.redirected(target).unwrap_or_else(|| {
            let target = redactor.target(target, "path", "query");
            redactor.values.written(&target)
        });
        let path = target.split_once('?').map_or(target.as_str(), |(path, _)| path);
        let name = quoted(&format!("{number} {method} {path}"));
        let (method, target) = (quoted(method), quoted(&target));
        let mut text = format!("\n[[steps]]\nname = {name}\nmethod = {method}\npath = {target}\n");
        let started = entry.started_date_time;
        let think = started.duration_since(self.before.unwrap_or(started)).as_millis();
        let think = Duration::from_millis(u64::try_from(think).unwrap_or_default());
        if think >= SHORTEST_THINK {
            let _ = writeln!(text, "think = \"{}\"", humantime::format_duration(think));
        }
        let took = Duration::try_from_secs_f64(entry.time.unwrap_or_default() / 1000.0);
        let ended = started.checked_add(took.unwrap_or_default()).unwrap_or(started);
        self.before = self.before.max(Some(ended));
        // A browser's cache asked whether its copy still holds; a visit has no copy.
        if !(200..300).contains(&status) && status != 304 {
            text += "expect = [\"2xx\", \"3xx\"]\n";
        }
        if status >= 400 {
            self.failed.push(format!("step {number} with {status}"));
        }
        let (headers, left_out) = entry.headers();
        let kind = headers.iter().find(|(name, _)| name == "content-type");
        let kind = kind.map_or("", |(_, kind)| kind);
        for name in left_out {
            *self.headers.entry(redact::shown(&name)).or_default() += 1;
        }
        for (name, value) in headers {
            let place = format!("header {name}");
            let value = match name.as_str() {
                // It is no secret, and may have the random boundary of parts.
                "content-type" => Some(value.to_owned()),
                "if-match" => redactor.values.of(Kind::Random, "etag", value, &place),
                _ => Some(redactor.text(value, &place)),
            };
            let value = quoted(&redactor.values.written(&value.unwrap_or_default()));
            let _ = writeln!(text, "headers.{name} = {value}");
        }
        if let Some(body) = request.content.as_ref().and_then(|body| redactor.body(body, kind)) {
            let _ = writeln!(text, "body = {}", quoted(&redactor.values.written(&body)));
        }
        redactor.values.steps.push((text, Answer::of(entry, url)));
    }

    fn made(self, origin: &str) -> String {
        let values = self.redactor.values;
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
