//! `anteroom-envoy import FILE`: the limits of envoyproxy/ratelimit and of limitador as TOML for
//! Anteroom.

mod envoyproxy;
mod limitador;
mod toml;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anteroom_config::EntryConfig;
use clap::{Arg, ArgMatches, Command, value_parser};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The name of the subcommand.
pub const NAME: &str = "import";

/// A file of limits has some kilobytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// How it may end but for the best (`sysexits.h`).
const EXIT_NOT_ALL: u8 = 1;
const EXIT_DATA: u8 = 65;
const EXIT_NO_INPUT: u8 = 66;

/// The command line.
pub fn command() -> Command {
    Command::new(NAME)
        .about("Print the limits of envoyproxy/ratelimit or limitador as TOML for Anteroom")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help(
                    "A configuration file of envoyproxy/ratelimit, or a limits file of limitador",
                ),
        )
        .after_help(
            "Examples:\n  anteroom-envoy import ratelimit.yaml >> anteroom.toml\n  anteroom-envoy \
             import limits.yaml > limits.toml\n\nFixed windows become limits with algorithm = \
             \"counter\". Anything that Anteroom cannot\nexpress is listed on stderr and left \
             out. A limit that counts other requests than\nbefore is listed, too.\n\nExit codes: 0 all \
             is mapped, 1 something is listed, 2 wrong arguments,\n65 \
             the file is of neither form, 66 the file cannot be read.",
        )
}

/// Runs it.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let Some(file) = arguments.get_one::<PathBuf>("file") else { return EXIT_NO_INPUT.into() };
    let fail = |error: String, exit: u8| {
        // Nothing can be done about a closed stderr.
        let _ = writeln!(std::io::stderr(), "anteroom-envoy: {}: {error}", file.display());
        ExitCode::from(exit)
    };
    let text = match read(file) {
        Ok(text) => text,
        Err(error) => return fail(error, EXIT_NO_INPUT),
    };
    let imported = match import(&text) {
        Ok(imported) => imported,
        Err(error) => return fail(error, EXIT_DATA),
    };
    if let Err(error) = std::io::stdout().write_all(imported.to_toml().as_bytes()) {
        return fail(format!("stdout: {error}"), EXIT_NOT_ALL);
    }
    for reason in &imported.left_out {
        fail(format!("left out: {reason}"), EXIT_NOT_ALL);
    }
    for reason in &imported.differs {
        fail(format!("counts differently: {reason}"), EXIT_NOT_ALL);
    }
    let is_all = imported.left_out.is_empty() && imported.differs.is_empty();
    if is_all { ExitCode::SUCCESS } else { EXIT_NOT_ALL.into() }
}

fn read(file: &Path) -> Result<String, String> {
    use std::io::Read as _;
    let opened = std::fs::File::open(file).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = opened.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_BYTES {
        return Err(format!("the file must be at most {MAX_BYTES} bytes"));
    }
    Ok(text)
}

/// What a file has.
#[derive(Debug, Default)]
pub struct Imported {
    rules: Vec<Rule>,
    /// What Anteroom cannot express, and why.
    left_out: Vec<String>,
    /// What is mapped, but counts other requests than there, and which.
    differs: Vec<String>,
}

/// A limit, and the descriptor that means it.
#[derive(Debug)]
struct Rule {
    /// A name from the file, if it has one.
    name: Option<String>,
    domain: String,
    entries: Vec<EntryConfig>,
    limit: u64,
    window: Duration,
    shadow: bool,
}

/// Reads a file of either form.
///
/// # Errors
///
/// When it is neither.
fn import(text: &str) -> Result<Imported, String> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)
        .map_err(|error| format!("not valid YAML: {}", one_line(&error)))?;
    let imported = match documents.iter().filter(|root| !root.is_null()).collect::<Vec<_>>()[..] {
        [Value::Object(_)] => envoyproxy::read(text),
        [Value::Array(_)] => limitador::read(text),
        [_, _, ..] => Err("it has several YAML documents: split it, and import each part".into()),
        _ => Err("neither a configuration of envoyproxy/ratelimit (a mapping with `domain` and \
                  `descriptors`) nor limits of limitador (a list)"
            .to_owned()),
    }?;
    if imported.rules.is_empty() && imported.left_out.is_empty() {
        return Err("it has no limits".to_owned());
    }
    Ok(imported)
}

/// Reads the only document of a text. A text such as `NO` or `007` stays as it is written, which it
/// would not on the way through a [`Value`].
fn read_as<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, String> {
    let mut documents: Vec<T> = serde_saphyr::from_multiple(text)
        .map_err(|error| format!("not {what}: {}", one_line(&error)))?;
    documents.pop().ok_or_else(|| format!("not {what}"))
}

/// The error without the lines of the file that it quotes.
fn one_line(error: &serde_saphyr::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// Anteroom's own bounds of a limit; what breaks them.
fn out_of_bounds(limit: u64, window: Duration) -> Option<String> {
    if limit == 0 {
        return Some("a limit of 0 refuses everything; the least limit is 1".to_owned());
    }
    if limit > 100_000_000 {
        return Some(format!("the limit {limit} is more than 100 000 000"));
    }
    let seconds = window.as_secs();
    (!(1..=86_400).contains(&seconds))
        .then(|| format!("a window of {seconds} s is not from 1 s to 24 h"))
}

/// The entries as people write them: `path=/login, user (any value)`.
fn shown(entries: &[EntryConfig]) -> String {
    let entry = |EntryConfig { key, value, prefix }: &EntryConfig| match (value, prefix) {
        (Some(value), _) => format!("{key}={value}"),
        (None, Some(prefix)) => format!("{key}={prefix}*"),
        (None, None) => format!("{key} (any value)"),
    };
    entries.iter().map(entry).collect::<Vec<_>>().join(", ")
}

/// Whether a descriptor can match both lists of entries.
fn overlap(one: &[EntryConfig], other: &[EntryConfig]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| entries_overlap(one, other))
}

/// Whether the first list matches each descriptor that the second does.
fn covers(all: &[EntryConfig], some: &[EntryConfig]) -> bool {
    overlap(all, some)
        && all.iter().zip(some).all(|(all, some)| match (&all.value, &all.prefix) {
            (Some(_), _) => some.value.is_some(),
            (None, Some(prefix)) => {
                let text = some.value.as_ref().or(some.prefix.as_ref());
                text.is_some_and(|text| text.starts_with(prefix))
            }
            (None, None) => true,
        })
}

fn entries_overlap(one: &EntryConfig, other: &EntryConfig) -> bool {
    let starts = |prefix: &Option<String>, text: &String| {
        prefix.as_ref().is_none_or(|prefix| text.starts_with(prefix))
    };
    one.key == other.key
        && match (&one.value, &other.value) {
            (Some(one), Some(other)) => one == other,
            (Some(value), None) => starts(&other.prefix, value),
            (None, Some(value)) => starts(&one.prefix, value),
            (None, None) => match (&one.prefix, &other.prefix) {
                (Some(one), Some(other)) => one.starts_with(other) || other.starts_with(one),
                _ => true,
            },
        }
}
