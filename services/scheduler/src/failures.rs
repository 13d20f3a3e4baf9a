//! Failing calls to the store: logged once when they begin to fail and once when they work again,
//! not at each tick.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anteroom_core::store::{Error, Store};

use crate::log::log_entity;

/// Which calls fail at the moment, by kind, name and call.
pub struct Failures {
    store: Store,
    failing: Mutex<HashMap<(&'static str, String, &'static str), Failure>>,
}

/// Since when a call fails, and how.
struct Failure {
    kind: &'static str,
    since: Instant,
    logged: bool,
}

impl Failures {
    /// Nothing fails yet.
    pub fn new(store: Store) -> Self {
        Self { store, failing: Mutex::default() }
    }

    /// Notes how a call went.
    pub fn note(&self, kind: &'static str, name: &str, call: &'static str, error: Option<&Error>) {
        let key = (kind, name.to_owned(), call);
        let mut failing = self.failing();
        let Some(error) = error else {
            if let Some(was) = failing.remove(&key).filter(|was| was.logged) {
                let after = was.since.elapsed();
                let message = "the Redis call works again";
                log_entity!(info, kind, name, call, ?after, "{message}");
            }
            return;
        };
        let error_kind = error.kind();
        let before = failing.get(&key);
        if before.is_some_and(|before| before.logged) {
            return;
        }
        let since = before.map_or_else(Instant::now, |before| before.since);
        // The store logs it itself when it is down. A slow one fails all calls in the same way, so
        // the first line is enough for all. A wrong reply is about this queue alone.
        let is_logged = !matches!(error, Error::Reply { .. })
            && failing.values().any(|other| other.logged && other.kind == error_kind);
        let logged = !is_logged && self.store.is_up();
        if logged {
            let message = "a Redis call fails";
            log_entity!(warn, kind, name, call, kind = error_kind, %error, "{message}");
        }
        failing.insert(key, Failure { kind: error_kind, since, logged });
    }

    /// Forgets an entity that is no longer served.
    pub fn forget(&self, kind: &str, name: &str) {
        self.failing().retain(|(its, own, _), _| *its != kind || own != name);
    }

    fn failing(&self) -> MutexGuard<'_, HashMap<(&'static str, String, &'static str), Failure>> {
        // The map is whole after every single call, so a panic elsewhere cannot have broken it.
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
