//! What must hold for any input from outside, one function for each kind of it.
//!
//! A check takes any bytes and panics when a rule is broken. The fuzz targets (`fuzz/targets/`)
//! call it with what libFuzzer invents; the test of this crate, which needs no nightly toolchain,
//! with the seeds (`fuzz/seeds/`), among them every input that once broke a rule.
//!
//! A crate of its own, so that no service can depend on it and the fuzz workspace, which does,
//! builds nothing but what it checks.

pub mod application;
pub mod assertion;
pub mod body;
pub mod config;
pub mod cookie;
pub mod forwarded;
pub mod return_to;
pub mod session;
pub mod token;

/// A check of one kind of input.
pub type Check = fn(&[u8]);

/// Every check, by the name of its fuzz target and of its folder of seeds.
pub const CHECKS: [(&str, Check); 9] = [
    ("application", application::check),
    ("assertion", assertion::check),
    ("body", body::check),
    ("config", config::check),
    ("cookie", cookie::check),
    ("forwarded", forwarded::check),
    ("return_to", return_to::check),
    ("session", session::check),
    ("token", token::check),
];

/// The first byte says how to read the rest.
fn with_mode(data: &[u8]) -> (u8, &[u8]) {
    data.split_first().map_or((0, data), |(mode, rest)| (*mode, rest))
}

/// The text with one byte changed by the input, where that makes another text.
fn changed(text: &str, noise: &[u8]) -> Option<String> {
    let [at, to, ..] = *noise else { return None };
    let mut bytes = text.as_bytes().to_vec();
    let at = usize::from(at) % bytes.len();
    bytes[at] = to;
    String::from_utf8(bytes).ok().filter(|changed| changed != text)
}
