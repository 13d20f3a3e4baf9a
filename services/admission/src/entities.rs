//! What the configuration names, by name.
//!
//! Queues are one kind of it. A kind says by [`Entity`] where the name stands in a path and what a
//! key's scope, an audit line and a refusal call it; [`Entities`] holds those in force.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ahash::RandomState;
use anteroom_core::store::Store;

use crate::problem::retry::PendingRetries;
use crate::problem::{Code, Problem};

/// One thing that the configuration names.
pub trait Entity: Send + Sync + 'static {
    /// Its section of the configuration, in paths and in the scopes of keys: `queues`.
    const SECTION: &'static str;
    /// What one of them is called, in audit lines and in what callers are told: `queue`.
    const LABEL: &'static str;
    /// The refusal where the configuration names none.
    const UNKNOWN: Code;
}

/// What entities of every kind are made with; it stays while the process runs.
pub struct EntityContext<'a> {
    pub store: &'a Store,
    pub retries: &'a Arc<PendingRetries>,
    /// How many calls may wait in a lane.
    pub lane_bound: usize,
}

/// The name in a path: the part behind the section, where every template has it; a name needs no
/// escapes. The decoded parameters of the router fail as a whole when another one is no UTF-8, and
/// the visitor's own path behind `…/authorize/` may be in any encoding.
pub fn name_in<T: Entity>(path: &str) -> Option<&str> {
    // Nearly every path: /v1/SECTION/NAME…
    let rest = path.strip_prefix("/v1/").and_then(|rest| rest.strip_prefix(T::SECTION));
    if let Some(rest) = rest.and_then(|rest| rest.strip_prefix('/')) {
        let end = rest.bytes().position(|byte| byte == b'/').unwrap_or(rest.len());
        return rest.get(..end);
    }
    path.split('/').skip_while(|part| *part != T::SECTION).nth(1)
}

/// All of one kind that are in force.
pub struct Entities<T>(HashMap<String, Arc<T>, RandomState>);

impl<T> Default for Entities<T> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<T: Entity> Entities<T> {
    /// Those of a new configuration. `make` is given what had the name before, if anything, to
    /// carry over what has a memory.
    pub fn reload<C>(
        &self,
        configured: &BTreeMap<String, C>,
        make: impl Fn(&str, &C, Option<&T>) -> T,
    ) -> Self {
        let made = configured.iter().map(|(name, config)| {
            let before = self.0.get(name).map(Arc::as_ref);
            (name.clone(), Arc::new(make(name, config, before)))
        });
        Self(made.collect())
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<Arc<T>> {
        self.0.get(name).cloned()
    }

    /// The one that a path names.
    ///
    /// # Errors
    ///
    /// [`Entity::UNKNOWN`] when there is none.
    pub fn at(&self, path: &str) -> Result<Arc<T>, Problem> {
        let found = name_in::<T>(path).and_then(|name| self.get(name));
        found.ok_or_else(|| Problem::new(T::UNKNOWN))
    }

    /// The names that a newer configuration has left out.
    pub fn left_out<'a>(&'a self, newer: &'a Self) -> impl Iterator<Item = &'a str> {
        self.0.keys().filter(|name| !newer.0.contains_key(*name)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sample(u32);

    impl Entity for Sample {
        const SECTION: &'static str = "samples";
        const LABEL: &'static str = "sample";
        const UNKNOWN: Code = Code::NOT_FOUND;
    }

    #[test]
    fn the_name_is_the_part_behind_the_section() {
        for (path, name) in [
            ("/v1/samples/a", Some("a")),
            ("/v1/admin/samples/a/places", Some("a")),
            ("/samples/samples/authorize/%ff/samples/b", Some("samples")),
            ("/v1/samples//x", Some("")),
            ("/v1/samples", None),
            ("/v1/others/a", None),
        ] {
            assert_eq!(name_in::<Sample>(path), name, "{path}");
        }
    }

    #[test]
    fn a_reload_carries_over_what_keeps_its_name() {
        let configured = |names: &[&str]| -> BTreeMap<String, u32> {
            names.iter().map(|name| ((*name).to_owned(), 1)).collect()
        };
        let make = |_: &str, add: &u32, before: Option<&Sample>| {
            Sample(before.map_or(0, |Sample(age)| *age) + add)
        };
        let first = Entities::default().reload(&configured(&["a", "b"]), make);
        let second = first.reload(&configured(&["b", "c"]), make);
        let age = |name| second.get(name).map(|sample| sample.0);
        assert_eq!((age("a"), age("b"), age("c")), (None, Some(2), Some(1)));
        assert_eq!(first.left_out(&second).collect::<Vec<_>>(), ["a"]);
        assert_eq!(second.0.len(), 2);
        assert_eq!(second.at("/v1/samples/b/x").map(|found| found.0).ok(), Some(2));
        assert_eq!(
            second.at("/v1/samples/a").err().map(|problem| problem.code()),
            Some(Code::NOT_FOUND)
        );
    }
}
