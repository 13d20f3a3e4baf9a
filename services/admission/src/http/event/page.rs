//! Which part of a list is asked for, page by page.

use std::collections::BTreeMap;

use anteroom_core::event::MAX_DEAD;
use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::http::extract::shortened;
use crate::problem::{Code, Problem};

/// The last number that an application can have.
pub const MAX_SEQUENCE: u64 = (1 << 53) - 1;

/// A page of a list by sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub after: u64,
    pub limit: u64,
}

impl<S: Sync> FromRequestParts<S> for Page {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        read(parts.uri.query().unwrap_or_default())
            .map_err(|rule| Problem::new(Code::BAD_REQUEST).detail(shortened(rule)))
    }
}

/// Reads a query; else what is wrong with it.
fn read(query: &str) -> Result<Page, String> {
    let mut given = BTreeMap::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if !["after", "limit"].contains(&&*name) {
            return Err(format!("unknown parameter `{name}`, expected after or limit"));
        }
        if given.insert(name.clone(), value).is_some() {
            return Err(format!("{name} must come once"));
        }
    }
    let number = |name: &str, least: u64, most: u64, default: u64| match given.get(name) {
        None => Ok(default),
        Some(text) => text
            .parse()
            .ok()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| format!("{name} must be a whole number from {least} to {most}")),
    };
    Ok(Page {
        after: number("after", 0, MAX_SEQUENCE, 0)?,
        limit: number("limit", 1, MAX_DEAD, MAX_DEAD)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_and_a_mistake_is_told() {
        assert_eq!(read(""), Ok(Page { after: 0, limit: MAX_DEAD }));
        assert_eq!(read("after=7&limit=2"), Ok(Page { after: 7, limit: 2 }));
        for wrong in ["limit=0", "limit=101", "after=-1", "after=1&after=2", "state=dead"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
