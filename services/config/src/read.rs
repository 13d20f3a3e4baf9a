//! From the values of the merged layers to the types of the sections, with errors that name the
//! key; and files of a bounded size.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};

use config::Value;
use nix::fcntl::OFlag;
use serde::Deserialize;

use crate::{document::MAX_FILE_BYTES, error::Fault};

/// The text of a file; nothing if it is longer than `most` bytes.
pub(crate) fn bounded(path: &Path, most: u64) -> Result<Option<String>, String> {
    let bytes = bounded_bytes(path, most)?;
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|_| "cannot be read: it is not valid UTF-8".to_owned())
}

/// The content of a file; nothing if it is longer than `most` bytes.
pub(crate) fn bounded_bytes(path: &Path, most: u64) -> Result<Option<Vec<u8>>, String> {
    let mut bytes = Vec::new();
    let read = open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot be read: {error}"))?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= most))
}

/// The content of a file of the configuration; nothing if it cannot be read, or no such file may be
/// so long.
pub fn content(path: &Path) -> Option<Vec<u8>> {
    bounded_bytes(path, MAX_FILE_BYTES).ok()?
}

/// Opens a file. A pipe would hold up the start, and each reload, until another program writes to
/// it.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NONBLOCK.bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        return Err(io::Error::other("it is a pipe, and must be a file"));
    }
    Ok(file)
}

/// Reads a table into a type; the fault's key starts with `section`.
pub(crate) fn read_as<T: for<'de> Deserialize<'de>>(
    table: Value,
    section: &str,
) -> Result<T, Fault> {
    table.try_deserialize().map_err(|error| match error {
        config::ConfigError::NotFound(key) => Fault::new(joined(section, &key), "is required"),
        config::ConfigError::At { error, key, .. } => {
            fault(joined(section, &key.unwrap_or_default()), &error.to_string())
        }
        other => fault(section.to_owned(), &other.to_string()),
    })
}

/// The message of serde in our words; our own rules pass as they are.
fn fault(key: String, message: &str) -> Fault {
    if let Some((name, known)) =
        message.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, "))
    {
        // A section may have no fields for serde: its keys are those of a table of rules.
        let known = known.strip_prefix("expected ").unwrap_or("one of ");
        let rule = format!("unknown key, expected {known}");
        return Fault::new(joined(&key, name), rule).without_value();
    }
    match message.split_once(", expected ") {
        Some((front, expected)) if front.starts_with("invalid type: ") => {
            // What TOML calls a table is a map to serde.
            Fault::new(key, format!("must be {}", expected.replace("a map", "a table")))
        }
        _ => Fault::new(key, message),
    }
}

/// The key inside the section; either may be empty.
fn joined(section: &str, key: &str) -> String {
    // The `config` crate writes `list[0]key`.
    let key = key.replace(']', "].").replace(".[", "[").replace("..", ".");
    let parts = [section, key.trim_end_matches('.')].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(".")
}
