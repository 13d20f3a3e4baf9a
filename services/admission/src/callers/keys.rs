//! Keys of backends, operators and viewers.
//!
//! A key travels as `Authorization: Bearer ark1.…`. The configuration knows only its SHA-256
//! digest, under a name that the audit log shows.

use std::collections::BTreeMap;

use anteroom_authorize::callers::single::single;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_config::KeyConfig;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

/// What every key begins with.
pub const KEY_PREFIX: &str = "ark1.";
/// Keys are 48 characters; what is much longer is not worth a digest.
const MAX_KEY: usize = 128;

/// The configured key that a request sends, with its name.
///
/// # Errors
///
/// `key_missing` or `key_invalid`.
pub fn of<'a>(
    keys: &'a BTreeMap<String, KeyConfig>,
    headers: &HeaderMap,
) -> Result<(&'a str, &'a KeyConfig), Problem> {
    let text = bearer(headers).ok_or_else(|| Problem::new(Code::KEY_MISSING))?;
    find(keys, text).ok_or_else(|| Problem::new(Code::KEY_INVALID))
}

/// The SHA-256 digest by which the configuration knows a key.
pub fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// The key with this text. All are compared, so that the time reveals nothing.
fn find<'a>(keys: &'a BTreeMap<String, KeyConfig>, text: &str) -> Option<(&'a str, &'a KeyConfig)> {
    if text.len() > MAX_KEY || !text.starts_with(KEY_PREFIX) {
        return None;
    }
    let given = digest(text);
    let (mut found, mut at) = (Choice::from(0), 0_u64);
    for (index, key) in (0_u64..).zip(keys.values()) {
        let same = key.digest.0.ct_eq(&given);
        at.conditional_assign(&index, same);
        found |= same;
    }
    let at = usize::try_from(at).ok().filter(|_| bool::from(found))?;
    keys.iter().nth(at).map(|(name, key)| (name.as_str(), key))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = single(headers, &AUTHORIZATION).ok()??.to_str().ok()?;
    let (scheme, key) = value.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim_start())
}
