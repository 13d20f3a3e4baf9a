//! The rules of an event, as the configuration declares them.

use std::time::Duration;

use crate::rules::{DAY, HOUR, Kind, MAX_AMOUNT, MINUTE, SECOND, choice, rules, span, whole};

choice! {
    /// What it takes to issue a unit.
    Issue {
        /// Nothing: the application is counted as issued.
        Count = "count",
        /// A code of those that were loaded.
        Codes = "codes",
        /// A call to a service that issues it.
        Webhook = "webhook",
    }
}

/// In millionths: as many applications as units, to a thousand times as many.
const OVER_APPLY: Kind = Kind::Millionths { least: 1_000_000, most: 1_000_000_000 };

rules! {
    file {
        /// Units that the event has when it is created, once; without it only operators give any.
        stock Stock: Option<u64>, whole(1, MAX_AMOUNT), None;
        /// Applications are taken up to the stock times this, in millionths.
        over_apply OverApply: u64, OVER_APPLY, 1_000_000;
        /// From when on applications are taken, by the store's clock.
        opens_at OpensAt: Option<u64>, Kind::Moment, None;
        /// From when on none are taken, by the store's clock; what was taken is still issued.
        ends_at EndsAt: Option<u64>, Kind::Moment, None;
        /// count, codes or webhook: what it takes to issue a unit.
        issue Issue: Issue, Kind::Choice(Issue::NAMES), Issue::Count;
        /// How long an issuer holds what it claimed, until it renews the claim.
        lease Lease: Duration, span(SECOND, HOUR), Duration::from_secs(10);
        /// After so many failed attempts an application is a dead letter; a lease that ran out
        /// counts as one.
        max_attempts MaxAttempts: u64, whole(1, 1_000), 5;
        /// Most claims a second of all issuers together; 0: as many as they can.
        max_per_second MaxPerSecond: u64, whole(0, 1_000_000), 0;
        /// How often issuers are woken while something waits, in case a message was lost.
        kick_interval KickInterval: Duration, span(100, MINUTE), Duration::from_secs(1);
        /// How long after `ends_at` the applications are kept.
        keep_ttl KeepTtl: Duration, span(DAY, 3_650 * DAY), Duration::from_secs(30 * 86_400);
    }
    relations {
        ends_at >= opens_at;
    }
}
