//! What must hold between the rules once the change is made.
//!
//! Only what the change names is judged: an operator who pauses a queue in a hurry is not told about
//! an old mistake. It is a courtesy and no promise, for an override may lapse and leave the others
//! behind; the scripts bear any combination.

use std::time::Duration;

use anteroom_core::queue::{Override, Rules};

use super::Wrong;

/// Checks `overrides` as they will stand among the rules `in_force`; what is taken back falls back
/// to `file`.
pub(super) fn check(overrides: &[Override], in_force: &Rules, file: &Rules) -> Result<(), Wrong> {
    let mut rules = in_force.clone();
    for change in overrides {
        apply(change, &mut rules, file);
    }
    let sets = |field: fn(&Override) -> bool| overrides.iter().any(field);
    let session_ttl = sets(|change| matches!(change, Override::SessionTtl(_)));
    let session_max = sets(|change| matches!(change, Override::SessionMax(_)));
    if (session_ttl || session_max) && rules.session_max < rules.session_ttl {
        return Err(if session_max {
            Wrong::new("session_max_ms", at_least("session_ttl_ms", rules.session_ttl))
        } else {
            Wrong::new("session_ttl_ms", at_most("session_max_ms", rules.session_max))
        });
    }
    let first_poll = sets(|change| matches!(change, Override::FirstPollTtl(_)));
    let idle = sets(|change| matches!(change, Override::IdleTtl(_)));
    if (first_poll || idle) && rules.first_poll_ttl > rules.idle_ttl {
        return Err(if first_poll {
            Wrong::new("first_poll_ttl_ms", at_most("idle_ttl_ms", rules.idle_ttl))
        } else {
            Wrong::new("idle_ttl_ms", at_least("first_poll_ttl_ms", rules.first_poll_ttl))
        });
    }
    let times = [
        ("joins_at", rules.joins_at, sets(|change| matches!(change, Override::JoinsAt(_)))),
        ("opens_at", rules.opens_at, sets(|change| matches!(change, Override::OpensAt(_)))),
        ("closes_at", rules.closes_at, sets(|change| matches!(change, Override::ClosesAt(_)))),
    ];
    for (first, then) in [(0, 1), (0, 2), (1, 2)] {
        let ((first, first_at, first_set), (then, then_at, then_set)) = (times[first], times[then]);
        let ordered = first_at.zip(then_at).is_none_or(|(first, then)| first <= then);
        if (first_set || then_set) && !ordered {
            return Err(if then_set {
                Wrong::new(then, format!("must not be before {first}"))
            } else {
                Wrong::new(first, format!("must not be after {then}"))
            });
        }
    }
    Ok(())
}

fn at_least(field: &str, bound: Duration) -> String {
    format!("must be at least {field}, which is {}", bound.as_millis())
}

fn at_most(field: &str, bound: Duration) -> String {
    format!("must be at most {field}, which is {}", bound.as_millis())
}

fn apply(change: &Override, rules: &mut Rules, file: &Rules) {
    match *change {
        Override::State(_) | Override::Reason(_) => {}
        Override::Capacity(value) => rules.capacity = value.or(file.capacity),
        Override::Batch(value) => rules.batch = value.or(file.batch),
        Override::Interval(value) => rules.interval = value.unwrap_or(file.interval),
        Override::Pace(value) => rules.pace = value.unwrap_or(file.pace),
        Override::ClaimTtl(value) => rules.claim_ttl = value.unwrap_or(file.claim_ttl),
        Override::SessionTtl(value) => rules.session_ttl = value.unwrap_or(file.session_ttl),
        Override::SessionMax(value) => rules.session_max = value.unwrap_or(file.session_max),
        Override::IdleTtl(value) => rules.idle_ttl = value.unwrap_or(file.idle_ttl),
        Override::KeepTtl(value) => rules.keep_ttl = value.unwrap_or(file.keep_ttl),
        Override::FirstPollTtl(value) => {
            rules.first_poll_ttl = value.unwrap_or(file.first_poll_ttl);
        }
        Override::MaxWaiting(value) => rules.max_waiting = value.unwrap_or(file.max_waiting),
        Override::JoinsAt(value) => rules.joins_at = value.or(file.joins_at),
        Override::OpensAt(value) => rules.opens_at = value.or(file.opens_at),
        Override::ClosesAt(value) => rules.closes_at = value.or(file.closes_at),
        Override::LocalAnswers(value) => rules.local_answers = value.unwrap_or(file.local_answers),
    }
}
