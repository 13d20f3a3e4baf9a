//! The rules of a queue: what the configuration declares, and what an operator overrides for a
//! time.

use std::time::Duration;

use crate::rules::{DAY, HOUR, Kind, MINUTE, SECOND, choice, rules, span, whole};
use crate::store::Constants;

choice! {
    /// How a batch is spread over its interval.
    Pace {
        /// In slices, so that the protected service feels a stream.
        Even = "even",
        /// All at once at each interval.
        Batch = "batch",
    }
}

choice! {
    /// Whether a queue takes in and lets through.
    State {
        /// Promotion goes on, and joins are taken.
        Open = "open",
        /// Promotion stops; joins, claims, renewals and expiry go on.
        Paused = "paused",
        /// No new joins; those in line are still served.
        Closed = "closed",
        /// Authorize passes everyone; needs an end.
        Bypass = "bypass",
    }
}

rules! {
    operator {
        /// open, paused, closed or bypass; bypass needs `until`.
        state State: State, Kind::Choice(State::NAMES), State::Open;
        /// The reason for the state, shown to visitors: 1 to 200 characters.
        reason Reason: Option<String>, Kind::Text { most: 200 }, None;
    }
    file {
        /// Maximum number of visitors ready or active at any moment.
        capacity Capacity: Option<u64>, whole(1, 1_000_000_000), None;
        /// Maximum number of visitors admitted in any interval.
        batch Batch: Option<u64>, whole(1, 1_000_000), None;
        /// The interval of `batch`.
        interval Interval: Duration, span(SECOND, HOUR), Duration::from_secs(10);
        /// even or batch: how the batch is spread over the interval.
        pace Pace: Pace, Kind::Choice(Pace::NAMES), Pace::Even;
        /// How long a called visitor has to enter.
        claim_ttl ClaimTtl: Duration, span(5 * SECOND, HOUR), Duration::from_secs(60);
        /// How long a session lasts without renewal.
        session_ttl SessionTtl: Duration, span(5 * SECOND, DAY), Duration::from_secs(300);
        /// Maximum length of a session; at least `session_ttl`.
        session_max SessionMax: Duration, span(5 * SECOND, 7 * DAY), Duration::from_secs(1_800);
        /// How long a session that began at the gateway check lasts until the visitor first sends
        /// its token. A value above `claim_ttl` or `session_ttl` is cut to that.
        unproven_ttl UnprovenTtl: Duration, span(SECOND, HOUR), Duration::from_secs(10);
        /// How long a waiting visitor can go without a poll before it is skipped.
        idle_ttl IdleTtl: Duration, span(MINUTE, DAY), Duration::from_secs(600);
        /// How long an inactive visitor keeps the ticket.
        keep_ttl KeepTtl: Duration, span(MINUTE, 7 * DAY), Duration::from_secs(1_800);
        /// How long a new visitor can go without a first poll; at most `idle_ttl`.
        first_poll_ttl FirstPollTtl: Duration, span(30 * SECOND, DAY), Duration::from_secs(60);
        /// Maximum number of waiting visitors.
        max_waiting MaxWaiting: u64, whole(1, 10_000_000), 1_000_000;
        /// The time from which visitors can join, by the clock of Redis.
        joins_at JoinsAt: Option<u64>, Kind::Moment, None;
        /// The time from which visitors are admitted, by the clock of Redis; not before `joins_at`.
        opens_at OpensAt: Option<u64>, Kind::Moment, None;
        /// The time from which the queue is closed, by the clock of Redis; not before `joins_at`
        /// and `opens_at`.
        closes_at ClosesAt: Option<u64>, Kind::Moment, None;
        /// Whether admission authorizes active visitors from memory. A slot that is freed early is
        /// then given away a moment later.
        local_answers LocalAnswers: bool, Kind::Flag, false;
        /// Maximum number of places of one client address: an IPv4 address or an IPv6 /64; a /48
        /// can have 8 times as many. 0: no limit. Without a value: 25 % of `capacity`, at least 60.
        places_per_address PlacesPerAddress: Option<u64>, whole(0, 1_000_000), None;
    }
    relations {
        session_max >= session_ttl;
        first_poll_ttl <= idle_ttl;
        opens_at >= joins_at;
        closes_at >= joins_at;
        closes_at >= opens_at;
    }
}

/// Without a value for `places_per_address` an address may hold this part of `capacity`, …
const PART_OF_ADDRESS: u64 = 4;
/// … but at least so many places.
const LEAST_OF_ADDRESS: u64 = 60;
/// A /48 may hold so many times as many as an address.
const SITE_TIMES: u64 = 8;

/// What the scripts know of it.
pub(super) fn constants(all: Constants) -> Constants {
    all.value("PART_OF_ADDRESS", PART_OF_ADDRESS)
        .value("LEAST_OF_ADDRESS", LEAST_OF_ADDRESS)
        .value("SITE_TIMES", SITE_TIMES)
}

impl Rules {
    /// How many places one client address may hold; `None` for any number.
    pub fn most_per_address(&self) -> Option<u64> {
        let by_capacity = || Some((self.capacity? / PART_OF_ADDRESS).max(LEAST_OF_ADDRESS));
        self.places_per_address.or_else(by_capacity).filter(|most| *most > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_hold_a_part_of_the_capacity() {
        let most = |capacity, places_per_address| {
            Rules { capacity, places_per_address, ..Rules::default() }.most_per_address()
        };
        assert_eq!(most(Some(300), None), Some(75));
        assert_eq!(most(Some(1), None), Some(60));
        assert_eq!(most(None, None), None);
        assert_eq!(most(None, Some(5)), Some(5));
        assert_eq!(most(Some(300), Some(0)), None);
    }
}
