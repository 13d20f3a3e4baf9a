//! The rules of the file reach the store: at the start, and when the file changed them.
//!
//! Only then: a scheduler that wrote again what it knows would undo what a newer file has set. When
//! the store loses rules, each snapshot puts back the newest that were seen there, whoever's file
//! they are.

use std::time::Duration;

use anteroom_core::store::Error;
use anteroom_runtime::Config;
use rand::Rng as _;

use crate::served::Served;

/// The pauses before another try, half a second to a whole.
const TRY_AGAIN: (f64, f64) = (0.5, 1.0);

/// Follows the configuration until the entity is stopped. `rules_in` finds its rules, `write` gives
/// them to the store and tells whether they changed there.
pub async fn keep<R: Clone + PartialEq, F: Future<Output = Result<bool, Error>>>(
    served: &Served,
    rules_in: impl Fn(&Config) -> Option<R>,
    write: impl Fn(R) -> F,
) {
    let mut changes = served.changes();
    let mut written = None;
    while !served.stop().is_cancelled() {
        let config = changes.borrow_and_update().clone();
        // Without any, the entity has left the configuration and is about to be stopped.
        let rules = rules_in(&config);
        let mut try_again = false;
        if let Some(rules) = rules.filter(|rules| written.as_ref() != Some(rules)) {
            let result = write(rules.clone()).await;
            served.note("apply_rules", &result);
            match result {
                Ok(changed) => {
                    if changed {
                        tracing::info!(name = served.name(), "the file's rules are in force");
                    }
                    written = Some(rules);
                    served.set_rules_written();
                }
                Err(_) => try_again = true,
            }
        }
        let pause = rand::rng().random_range(TRY_AGAIN.0..=TRY_AGAIN.1);
        tokio::select! {
            () = served.stop().cancelled() => return,
            changed = changes.changed() => {
                if changed.is_err() {
                    // The watch on the file is over, as at the end of the service.
                    served.stop().cancelled().await;
                }
            }
            () = tokio::time::sleep(Duration::from_secs_f64(pause)), if try_again => {}
        }
    }
}
