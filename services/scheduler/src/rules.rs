//! The rules of the file reach the store: at the start, and when the file changed them.
//!
//! Only then: a scheduler that wrote again what it knows would undo what a newer file has set. When
//! the store loses rules, each snapshot puts back the newest that were seen there, whose file
//! they are.

use std::time::Duration;

use rand::Rng as _;

use crate::entity::{Entity, rules_in};
use crate::log::log_entity;

/// The pauses before another try, half a second to a whole.
const TRY_AGAIN: (f64, f64) = (0.5, 1.0);

/// Follows the configuration until the entity is stopped.
pub async fn keep<E: Entity>(entity: &E) {
    let served = entity.served();
    let mut changes = served.changes();
    let mut written = None;
    while !served.stop.is_cancelled() {
        let config = changes.borrow_and_update().clone();
        // Without any, the entity has left the configuration and is about to be stopped.
        let rules = rules_in::<E>(&config, &served.name);
        let mut try_again = false;
        if let Some(rules) = rules.filter(|rules| written.as_ref() != Some(rules)) {
            // For a store that holds none while none were seen.
            entity.set_rules(rules.clone());
            let result = entity.apply_rules(&rules).await;
            served.note("apply_rules", &result);
            match result {
                Ok(changed) => {
                    if changed {
                        let message = "the file's rules are in force";
                        log_entity!(info, served.kind, &served.name, "{message}");
                    }
                    written = Some(rules);
                    served.set_rules_written();
                }
                Err(_) => try_again = true,
            }
        }
        let pause = rand::rng().random_range(TRY_AGAIN.0..=TRY_AGAIN.1);
        tokio::select! {
            () = served.stop.cancelled() => return,
            changed = changes.changed() => {
                if changed.is_err() {
                    // The watch on the file is over, as at the end of the service.
                    served.stop.cancelled().await;
                }
            }
            () = tokio::time::sleep(Duration::from_secs_f64(pause)), if try_again => {}
        }
    }
}
