//! The store as a service sees it: it decides readiness, and once it is there it is looked over.

use std::time::Duration;

use anteroom_core::store::{Error, Store};

use crate::Readiness;

/// How long the first connection may take before it is called missing.
const FIRST_CONNECTION: Duration = Duration::from_secs(1);
/// How often to look whether the connection is in place; a look costs nothing.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Keeps [`Readiness::STORE`] in step with the store, and warns once, when the store is first
/// there, of each of its settings that endangers a promise.
///
/// Returns when it knows how the store is, after a second at most, so that a role that calls
/// [`Readiness::started`] next is not ready by mistake; the rest goes on in the background.
pub async fn watch_store(store: &Store, readiness: &Readiness) {
    store.wait_up(FIRST_CONNECTION).await;
    follow(store, readiness);
    let (store, readiness) = (store.clone(), readiness.clone());
    tokio::spawn(async move {
        let mut looked_over = false;
        loop {
            follow(&store, &readiness);
            looked_over = looked_over || look_over(&store).await;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    });
}

fn follow(store: &Store, readiness: &Readiness) {
    if store.is_up() {
        readiness.clear(Readiness::STORE);
    } else {
        readiness.set(Readiness::STORE, "the store is not reachable");
    }
}

/// False when the server did not answer; it is asked again then.
async fn look_over(store: &Store) -> bool {
    let report = match store.check_server().await {
        Ok(report) => report,
        Err(Error::Forbidden(reason)) => {
            tracing::warn!(reason, "the server's settings cannot be checked");
            return true;
        }
        Err(_) => return false,
    };
    for warning in report.warnings() {
        let (server, version) = (&report.server, &report.version);
        tracing::warn!(name = warning.name(), server, version, "{warning}");
    }
    true
}
