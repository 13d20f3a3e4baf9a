//! Lines of progress, on standard error, and waiting with a deadline.

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use anyhow::bail;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Between two lines while nothing else is reported.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// Says a line.
pub fn say(text: &str) {
    // With the terminal closed the table still has all.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// What a look says of something that is waited for.
pub enum Look<T> {
    /// It is there.
    Done(T),
    /// Not yet; how far it is.
    NotYet(String),
}

/// Looks until it is done; returns how long that took, too.
pub async fn until<T>(
    what: &str,
    within: Duration,
    mut look: impl AsyncFnMut() -> anyhow::Result<Look<T>>,
) -> anyhow::Result<(T, Duration)> {
    let began = Instant::now();
    let mut last = began;
    loop {
        let state = match look().await? {
            Look::Done(value) => return Ok((value, began.elapsed())),
            Look::NotYet(state) => state,
        };
        if began.elapsed() > within {
            bail!("{what}: not within {} s: {state}", within.as_secs());
        }
        if last.elapsed() > SAY_EVERY {
            last = Instant::now();
            say(&format!("  {what}, {} s: {state}", began.elapsed().as_secs()));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Waits, and says what for.
pub async fn pause(what: &str, time: Duration) {
    say(&format!("  {what}: {} s", time.as_secs()));
    tokio::time::sleep(time).await;
}
