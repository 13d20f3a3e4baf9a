//! The end of a connection, signalled to the task that keeps it and to all that depend on it.

use std::{pin::pin, sync::OnceLock};

use tokio::sync::Notify;

/// Signals, once, that a connection is of no more use.
#[derive(Default)]
pub(super) struct Loss {
    reason: OnceLock<String>,
    lost: Notify,
}

impl Loss {
    /// Gives the connection up. The first reason stays.
    pub(super) fn lose(&self, reason: impl Into<String>) {
        if self.reason.set(reason.into()).is_ok() {
            self.lost.notify_waiters();
        }
    }

    /// Why the connection was given up, if it was.
    pub(super) fn lost(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }

    /// Waits until the connection is given up.
    pub(super) async fn until_lost(&self) -> &str {
        loop {
            let mut signal = pin!(self.lost.notified());
            // From here on it gets the signal, so a loss after the look is not missed.
            signal.as_mut().enable();
            if let Some(reason) = self.lost() {
                return reason;
            }
            signal.await;
        }
    }
}
