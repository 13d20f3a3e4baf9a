//! Conditions with a deadline: a test waits for what must become true, never for a fixed time.

use std::{
    future::Future,
    time::{Duration, Instant},
};

/// Between two looks.
const STEP: Duration = Duration::from_millis(5);

/// Waits until `condition` holds; panics, naming `what`, when it does not within `patience`.
pub async fn until<F: Future<Output = bool>>(
    what: &str,
    patience: Duration,
    mut condition: impl FnMut() -> F,
) {
    until_some(what, patience, || {
        let held = condition();
        async { held.await.then_some(()) }
    })
    .await;
}

/// Waits until `look` finds something; panics, naming `what`, when it does not within `patience`.
pub async fn until_some<T, F: Future<Output = Option<T>>>(
    what: &str,
    patience: Duration,
    mut look: impl FnMut() -> F,
) -> T {
    let end = Instant::now() + patience;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "not within {patience:?}: {what}");
        tokio::time::sleep(STEP).await;
    }
}
