//! The documentation: its links lead somewhere, its words are plain, and the tests that it names
//! exist.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod evidence;
mod links;
mod style;
