//! Repeats calls to Redis that are safe to retry.

use std::pin::pin;
use std::time::Duration;

use anteroom_core::store::{Error, Refused, Store};
use rand::Rng as _;
use tokio::time::sleep;

/// The first pause before a call is repeated, and the longest.
pub const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Repeats a call until it succeeds, until `end`, or until a retry is no use: the reply makes no
/// sense, or a permission is missing.
pub async fn retry<T, A>(
    store: &Store,
    end: impl Future<Output = ()>,
    call: impl Fn() -> A,
) -> Result<T, Error>
where
    A: Future<Output = Result<T, Error>>,
{
    let mut end = pin!(end);
    let mut pause = PAUSE.0;
    loop {
        let error = match call().await {
            Ok(answer) => return Ok(answer),
            Err(error) if matches!(error, Error::Reply { .. }) => return Err(error),
            Err(error) if forbidden(store, &error).is_some() => return Err(error),
            Err(error) => error,
        };
        tokio::select! {
            () = &mut end => return Err(error),
            () = sleep(jittered(pause)) => {}
        }
        pause = (pause * 2).min(PAUSE.1);
    }
}

/// What Redis forbids for good, if that failed the call. While the connection is up, its next probe
/// decides.
pub fn forbidden(store: &Store, error: &Error) -> Option<Refused> {
    matches!(error, Error::Forbidden(_)).then(|| store.forbidden())?
}

/// Between half of the pause and all of it, so that those who pause together do not return
/// together.
pub fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(rand::rng().random_range(0.5..=1.0))
}
