//! What is wrong with a configuration, in one line.

/// A configuration that is refused: one line with the key, its value, and the rule.
///
/// Values of secret keys are never part of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}")]
pub struct ConfigError {
    line: String,
}

impl ConfigError {
    /// An error whose parts are made into one line, whatever they hold: a name in quotes may hold
    /// what a terminal would act on, and any part a key that was pasted to the wrong place.
    pub fn new(line: impl AsRef<str>) -> Self {
        let words: Vec<&str> = line.as_ref().split_whitespace().collect();
        let mut shown = String::new();
        for char in without_keys(&words.join(" ")).chars() {
            if char.is_control() {
                shown.extend(char.escape_default());
            } else {
                shown.push(char);
            }
        }
        Self { line: shown }
    }
}

/// The text without what follows the prefixes of keys (`ark1.`) and tokens (`art1.`).
fn without_keys(text: &str) -> String {
    let mut parts = text.split_inclusive("1.");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if shown.ends_with("ark1.") || shown.ends_with("art1.") {
            let rest =
                part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "-_.".contains(c));
            shown.push_str("[hidden]");
            shown.push_str(rest);
        } else {
            shown.push_str(part);
        }
    }
    shown
}

/// A broken rule at a key; the loader adds the value and where it came from.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The key, with its section.
    pub key: String,
    /// The rest of the sentence "KEY = VALUE: …".
    pub rule: String,
    /// Whether the value may be shown.
    pub shows_value: bool,
}

impl Fault {
    /// The rule that the key breaks.
    pub fn new(key: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { key: key.into(), rule: rule.into(), shows_value: true }
    }

    /// The same without the value, which may be a secret.
    pub fn without_value(self) -> Self {
        Self { shows_value: false, ..self }
    }

    /// The same fault, seen from the section around it.
    pub fn within(self, section: &str) -> Self {
        Self { key: format!("{section}.{}", self.key), ..self }
    }

    /// `Ok` if the rule holds.
    pub fn unless(holds: bool, key: &str, rule: impl Into<String>) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::new(key, rule)) }
    }
}
