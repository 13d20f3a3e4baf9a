//! Errors of the store: logged once when they begin and once when they end, not at each tick.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anteroom_core::store::{Error, Store};

/// Which calls fail at the moment, by queue and call.
pub struct Troubles {
    store: Store,
    failing: Mutex<HashMap<(String, &'static str), Failing>>,
}

/// Since when a call fails, and how.
struct Failing {
    kind: &'static str,
    since: Instant,
    logged: bool,
}

impl Troubles {
    /// Nothing fails yet.
    pub fn new(store: Store) -> Self {
        Self { store, failing: Mutex::default() }
    }

    /// Notes how a call went.
    pub fn note(&self, queue: &str, call: &'static str, error: Option<&Error>) {
        let place = (queue.to_owned(), call);
        let mut failing = self.failing();
        let Some(error) = error else {
            if let Some(was) = failing.remove(&place).filter(|was| was.logged) {
                tracing::info!(queue, call, after = ?was.since.elapsed(), "a call to the store works again");
            }
            return;
        };
        let kind = error.kind();
        let before = failing.get(&place);
        if before.is_some_and(|before| before.logged) {
            return;
        }
        let since = before.map_or_else(Instant::now, |before| before.since);
        // A store that is down says so itself; a slow one fails everything in the same way, and
        // the first to meet it speaks for all. A wrong reply is about this queue alone.
        let told = !matches!(error, Error::Reply { .. })
            && failing.values().any(|other| other.logged && other.kind == kind);
        let logged = !told && self.store.is_up();
        if logged {
            tracing::warn!(queue, call, kind, %error, "a call to the store fails");
        }
        failing.insert(place, Failing { kind, since, logged });
    }

    /// Forgets a queue that is no longer served.
    pub fn forget(&self, queue: &str) {
        self.failing().retain(|(name, _), _| name != queue);
    }

    fn failing(&self) -> MutexGuard<'_, HashMap<(String, &'static str), Failing>> {
        // The map is whole after every single call, so a panic elsewhere cannot have broken it.
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
