//! Lists that operators read page by page: the query that names a part.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anteroom_authorize::problem::{Code, Problem};
use anteroom_core::rules::MAX_AMOUNT;
use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::http::extract::shortened;

/// A part of a list, as a query names it.
pub trait Query: Sized {
    /// The parameters that it may have, each at most once.
    const NAMES: &'static [&'static str];

    /// Reads them; else what is wrong with one of them.
    fn of(parameters: &Parameters<'_>) -> Result<Self, String>;

    /// Reads a query; else what is wrong with it.
    fn read(query: &str) -> Result<Self, String> {
        Self::of(&Parameters::read(query, Self::NAMES)?)
    }
}

/// A query that was read.
pub struct ParsedQuery<T>(pub T);

impl<S: Sync, T: Query> FromRequestParts<S> for ParsedQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        T::read(parts.uri.query().unwrap_or_default())
            .map(Self)
            .map_err(|rule| Problem::new(Code::BAD_REQUEST).detail(shortened(rule)))
    }
}

/// The parameters of a query.
pub struct Parameters<'a>(BTreeMap<Cow<'a, str>, Cow<'a, str>>);

impl<'a> Parameters<'a> {
    fn read(query: &'a str, names: &[&str]) -> Result<Self, String> {
        let mut given = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            if !names.contains(&&*name) {
                let (last, first) = names.split_last().unwrap_or((&"none", &[]));
                let expected = format!("{} or {last}", first.join(", "));
                return Err(format!("unknown parameter `{name}`, expected {expected}"));
            }
            if given.insert(name.clone(), value).is_some() {
                return Err(format!("{name} must come once"));
            }
        }
        Ok(Self(given))
    }

    /// The value of this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(AsRef::as_ref)
    }

    /// The number of this name.
    pub fn number(&self, name: &str, least: u64, most: u64, default: u64) -> Result<u64, String> {
        let Some(text) = self.text(name) else { return Ok(default) };
        text.parse()
            .ok()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| format!("{name} must be a whole number from {least} to {most}"))
    }
}

/// A page of a list by number: of at most `MOST`, and of `DEFAULT` without `limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<const DEFAULT: u64, const MOST: u64> {
    /// The number behind which it begins.
    pub after: u64,
    /// How many at most.
    pub limit: u64,
}

impl<const DEFAULT: u64, const MOST: u64> Query for Page<DEFAULT, MOST> {
    const NAMES: &'static [&'static str] = &["after", "limit"];

    fn of(parameters: &Parameters<'_>) -> Result<Self, String> {
        Ok(Self {
            after: parameters.number("after", 0, MAX_AMOUNT, 0)?,
            limit: parameters.number("limit", 1, MOST, DEFAULT)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use anteroom_core::event::MAX_DEAD;

    use super::*;

    #[test]
    fn a_query_names_a_part_of_the_dead_letters() {
        type Page = super::Page<MAX_DEAD, MAX_DEAD>;
        assert_eq!(Page::read(""), Ok(Page { after: 0, limit: MAX_DEAD }));
        assert_eq!(Page::read("after=7&limit=2"), Ok(Page { after: 7, limit: 2 }));
        for wrong in ["limit=0", "limit=101", "after=-1", "after=1&after=2", "state=dead"] {
            assert!(Page::read(wrong).is_err(), "{wrong}");
        }
    }
}
