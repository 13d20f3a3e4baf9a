//! Secrets: never printed, and never in a TOML file.

use std::{collections::BTreeSet, path::Path};

use anteroom_core::store::Address;
use config::{Value, ValueKind};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    document::find,
    environment,
    error::{ConfigError, Fault},
    keys::Digest,
    parse::FromText,
    read::bounded,
};

/// Keys whose values are never shown, and which a TOML file must not set.
const SECRET_KEYS: [&str; 3] =
    ["store.password", "admission.token_secrets", "admission.identity_secrets"];

/// The most that a file of secrets may hold, so that a wrong path cannot fill the memory.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// The most secrets at a time; verifying tries one only, named by the token, so few are enough.
pub(crate) const MAX_SECRETS: usize = 16;

/// A secret with fewer different bytes is warned of.
const LEAST_DIFFERENT_BYTES: usize = 16;

/// A secret that signs: long enough to be one.
impl FromText for SecretString {
    const RULE: &'static str = "must be secrets of at least 32 bytes each, without white space";

    fn from_text(text: &str) -> Option<Self> {
        (text.len() >= 32 && !text.contains(char::is_whitespace)).then(|| Self::from(text))
    }
}

/// The lines of a file of secrets, without empty ones.
pub(crate) fn lines(path: &Path, key: &str) -> Result<Vec<SecretString>, Fault> {
    let text = read(path).map_err(|rule| Fault::new(key, rule))?;
    Ok(text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(SecretString::from)
        .collect())
}

/// Sets `secrets` from the file, if one is named; both at once would leave open which one signs.
pub(crate) fn read_signing(
    secrets: &mut Vec<SecretString>,
    file: Option<&Path>,
    key: &str,
) -> Result<(), Fault> {
    let Some(file) = file else { return Ok(()) };
    let file_key = format!("{key}_file");
    Fault::unless(secrets.is_empty(), key, format!("must be empty while {file_key} is set"))?;
    let text = read(file).map_err(|rule| Fault::new(&file_key, rule))?;
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let secret = SecretString::from_text(line.trim()).ok_or_else(|| {
            Fault::new(&file_key, format!("line {}: {}", index + 1, SecretString::RULE))
        })?;
        secrets.push(secret);
    }
    let rule = format!("must name a file with 1 to {MAX_SECRETS} secrets, one a line");
    Fault::unless((1..=MAX_SECRETS).contains(&secrets.len()), &file_key, rule)
}

/// The key that has set a secret: this one, or that of its file.
pub(crate) fn key_of(file: Option<&Path>, key: &str) -> String {
    if file.is_some() { format!("{key}_file") } else { key.to_owned() }
}

/// Whether a secret is one of these.
pub(crate) fn contains(secrets: &[SecretString], secret: &SecretString) -> bool {
    secrets.iter().any(|other| other.expose_secret() == secret.expose_secret())
}

/// Warnings about secrets that look as if no machine had made them. 33 random bytes in base64 have
/// about 31 different characters, and fewer than 16 in one of 10^9 cases.
pub(crate) fn weak(secrets: &[SecretString], key: &str) -> impl Iterator<Item = String> {
    let is_weak = |secret: &SecretString| {
        secret.expose_secret().bytes().collect::<BTreeSet<_>>().len() < LEAST_DIFFERENT_BYTES
    };
    let weak = secrets.iter().enumerate().filter(move |(_, secret)| is_weak(secret));
    weak.map(move |(index, _)| {
        format!(
            "{key}: secret {} has fewer than {LEAST_DIFFERENT_BYTES} different bytes and can be \
             guessed; make a new one with \"head -c 33 /dev/urandom | base64\"",
            index + 1
        )
    })
}

fn read(path: &Path) -> Result<String, String> {
    let rule = || format!("must name a file of at most {MAX_FILE_BYTES} bytes");
    bounded(path, MAX_FILE_BYTES)?.ok_or_else(rule)
}

/// Whether the value of a key is a secret, or may be one. An empty list has none.
pub(crate) fn is_secret(key: &str, value: Option<&Value>) -> bool {
    if value.is_some_and(|value| matches!(&value.kind, ValueKind::Array(all) if all.is_empty())) {
        return false;
    }
    let named = SECRET_KEYS.iter().any(|secret| {
        key.strip_prefix(secret).is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
    });
    named
        || (is_digest(key) && value.is_some_and(|value| !may_be_shown(value)))
        || (key.ends_with("_file") && value.is_some_and(|value| !looks_like_a_path(value)))
}

/// A long word in the place of a path may be the secret itself, which is pasted there easily.
fn looks_like_a_path(value: &Value) -> bool {
    match &value.kind {
        ValueKind::String(text) => text.len() < 32 || text.starts_with(['/', '.']),
        _ => true,
    }
}

/// `keys.NAME.digest`, or `keys.NAME` without the rest.
fn is_digest(key: &str) -> bool {
    let Some((_, last)) = key.rsplit_once('.') else { return false };
    key.starts_with("keys.") && last != "role" && !last.starts_with("scopes")
}

/// What is no digest may be the key itself, which is pasted there easily.
fn may_be_shown(value: &Value) -> bool {
    match &value.kind {
        ValueKind::Nil | ValueKind::Table(_) => true,
        ValueKind::String(text) => Digest::from_text(text).is_some(),
        _ => false,
    }
}

/// Refuses secrets in a TOML file: they would end in ConfigMaps and repositories.
pub(crate) fn refuse_in_file(path: &Path, root: &Value) -> Result<(), ConfigError> {
    let rule = "a secret must not stand in a TOML file; set it by the environment";
    let refused = |key: &str, rule: String| {
        ConfigError::new(format!("{key} = [hidden] ({}): {rule}", path.display()))
    };
    for key in SECRET_KEYS {
        let is_empty = match find(root, key).map(|value| &value.kind) {
            None => true,
            Some(ValueKind::Array(values)) => values.is_empty(),
            Some(_) => false,
        };
        if !is_empty {
            let variable = environment::variable(key);
            return Err(refused(key, format!("{rule} ({variable}) or by {key}_file")));
        }
    }
    let nodes = match find(root, "store.nodes").map(|value| &value.kind) {
        Some(ValueKind::Array(values)) => values.iter().collect(),
        _ => Vec::new(),
    };
    let single = find(root, "store.url").into_iter().map(|value| ("store.url", value));
    for (key, value) in single.chain(nodes.into_iter().map(|value| ("store.nodes", value))) {
        let ValueKind::String(text) = &value.kind else { continue };
        if Address::parse(text).is_some_and(|address| address.has_password()) {
            return Err(refused(
                key,
                format!("{rule} (ANTEROOM_STORE__PASSWORD) or by store.password_file"),
            ));
        }
    }
    Ok(())
}
