//! `[keys.NAME]`: who may call admission's service port.

use serde::Deserialize;

use crate::{
    error::Fault,
    name::is_name,
    parse::{self, FromText},
};

/// One key: the role and the scopes of its bearer. Only the bearer knows the key itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct KeyConfig {
    /// SHA-256 of the key.
    #[serde(deserialize_with = "parse::parsed")]
    pub digest: Digest,
    /// What the bearer is.
    #[serde(deserialize_with = "parse::parsed")]
    pub role: Role,
    /// `SECTION:NAME` each; empty means everything of the role.
    #[serde(default, deserialize_with = "parse::list::<_, _, 256>")]
    pub scopes: Vec<Scope>,
}

/// A SHA-256 digest, written as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl FromText for Digest {
    const RULE: &'static str = "must be \"sha256:\" and 64 hexadecimal digits";

    fn from_text(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:")?.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut digest = [0; 32];
        for (byte, pair) in digest.iter_mut().zip(digits.chunks(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            // Two hexadecimal digits are at most 255.
            *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
        }
        Some(Self(digest))
    }
}

/// What the bearer of a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A service that works with the rooms.
    Backend,
    /// A person or program that operates them; may call `/v1/admin` too.
    Operator,
    /// A person or program that watches them, and changes nothing.
    Viewer,
}

parse::words!(Role { "backend" => Backend, "operator" => Operator, "viewer" => Viewer, });

/// One thing that a key may touch, such as `pools:reward`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// `queues`, `limits`, `targets`, `events` or `pools`.
    pub section: String,
    /// The name of the queue, limit, … in that section.
    pub name: String,
}

macro_rules! define_sections {
    (; ($module:ident $handle:ident $name:ident $first:ident)
     $(($modules:ident $handles:ident $names:ident $section:ident))+) => {
        const SECTIONS: &[&str] = &[stringify!($first), $(stringify!($section)),+];
        const SCOPE_RULE: &str = concat!(
            "must be SECTION:NAME such as \"pools:reward\", SECTION being one of ",
            stringify!($first) $(, ", ", stringify!($section))+
        );
    };
}

anteroom_core::kinds!(define_sections! {});

impl FromText for Scope {
    const RULE: &'static str = SCOPE_RULE;

    fn from_text(text: &str) -> Option<Self> {
        let (section, name) = text.split_once(':')?;
        (SECTIONS.contains(&section) && is_name(name))
            .then(|| Self { section: section.to_owned(), name: name.to_owned() })
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.section, self.name)
    }
}

impl std::str::FromStr for Scope {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_text(text).ok_or(Self::RULE)
    }
}

/// The rules between the keys: one digest under two names would make the audit log ambiguous.
pub(crate) fn check<'a>(
    keys: impl Iterator<Item = (&'a String, &'a KeyConfig)>,
) -> Result<(), Fault> {
    let mut seen = std::collections::HashMap::new();
    for (name, key) in keys {
        if let Some(other) = seen.insert(key.digest, name) {
            let rule = format!("must be another digest than that of keys.{other}");
            return Err(Fault::new(format!("keys.{name}.digest"), rule));
        }
    }
    Ok(())
}
