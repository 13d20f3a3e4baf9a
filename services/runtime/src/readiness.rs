//! Readiness: a latch that anything may hold open, by name, and that can open again.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// Why the service is not ready, by name. Ready means that there is no reason.
///
/// Made with the reason [`Readiness::START`] set: a service is ready when its role says so, and
/// from then on until it drains. It says "can answer"; whether the store is there is another
/// question, which `anteroom_store_up` answers.
#[derive(Clone, Debug)]
pub struct Readiness {
    reasons: Arc<Mutex<BTreeMap<&'static str, String>>>,
    draining: Arc<AtomicBool>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self::new()
    }
}

impl Readiness {
    /// The role cannot do its work yet.
    pub const START: &'static str = "start";
    /// The service is on its way out.
    pub const DRAIN: &'static str = "drain";

    /// Not ready yet, because of [`Readiness::START`].
    pub fn new() -> Self {
        let start = (Self::START, "the service is starting".to_owned());
        Self { reasons: Arc::new(Mutex::new(BTreeMap::from([start]))), draining: Arc::default() }
    }

    /// The role has started: takes [`Readiness::START`] back.
    pub fn started(&self) {
        self.clear(Self::START);
    }

    /// The service is on its way out: not ready, for [`Readiness::DRAIN`], until its end.
    pub fn drain(&self) {
        // First, so that once it is seen as not ready, every answer shows it too.
        self.draining.store(true, Relaxed);
        self.set(Self::DRAIN, "shutting down");
    }

    /// Whether the service is on its way out. Costs nothing.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Relaxed)
    }

    /// Not ready, for this reason, until it is cleared. Logged when it is new.
    pub fn set(&self, name: &'static str, reason: impl Into<String>) {
        let reason = reason.into();
        if self.reasons().insert(name, reason.clone()).is_none() {
            tracing::warn!(name, reason, "not ready");
        }
    }

    /// This reason is gone. Logged when it was there.
    pub fn clear(&self, name: &'static str) {
        let (was_there, ready) = {
            let mut reasons = self.reasons();
            (reasons.remove(name).is_some(), reasons.is_empty())
        };
        if was_there && ready {
            tracing::info!(cleared = name, "ready");
        }
    }

    /// Whether there is no reason against it.
    pub fn is_ready(&self) -> bool {
        self.reasons().is_empty()
    }

    /// All reasons in one line; nothing when ready.
    pub fn reason(&self) -> Option<String> {
        let reasons = self.reasons();
        let lines: Vec<String> =
            reasons.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }

    fn reasons(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        // The map is whole after every single call, so a panic elsewhere cannot have broken it.
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_latch_with_named_reasons() {
        let readiness = Readiness::new();
        assert_eq!(readiness.reason().as_deref(), Some("start: the service is starting"));
        readiness.set("port", "in use");
        readiness.started();
        assert!(!readiness.is_ready());
        assert_eq!(readiness.reason().as_deref(), Some("port: in use"));
        readiness.clear("port");
        assert!(readiness.is_ready() && !readiness.is_draining());
        assert_eq!(readiness.reason(), None);
        readiness.drain();
        readiness.set("port", "gone");
        let both = "drain: shutting down; port: gone";
        assert_eq!(readiness.reason().as_deref(), Some(both), "it closes again, with all reasons");
        assert!(readiness.is_draining());
    }
}
