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
        /// What visitors read as the reason for the state: 1 to 200 characters.
        reason Reason: Option<String>, Kind::Text { most: 200 }, None;
    }
    file {
        /// Most places ready and active at any instant.
        capacity Capacity: Option<u64>, whole(1, 1_000_000_000), None;
        /// Most promotions in any interval.
        batch Batch: Option<u64>, whole(1, 1_000_000), None;
        /// The interval of `batch`.
        interval Interval: Duration, span(SECOND, HOUR), Duration::from_secs(10);
        /// even or batch: how the batch is spread over the interval.
        pace Pace: Pace, Kind::Choice(Pace::NAMES), Pace::Even;
        /// How long a turn is held until it is claimed.
        claim_ttl ClaimTtl: Duration, span(5 * SECOND, HOUR), Duration::from_secs(60);
        /// How long an active place lives without renewal.
        session_ttl SessionTtl: Duration, span(5 * SECOND, DAY), Duration::from_secs(300);
        /// How long an active place lives at most; at least `session_ttl`.
        session_max SessionMax: Duration, span(5 * SECOND, 7 * DAY), Duration::from_secs(1_800);
        /// How long the session of a join at the gate lasts until its token is shown; one above
        /// `claim_ttl` or `session_ttl` counts as that.
        unproven_ttl UnprovenTtl: Duration, span(SECOND, HOUR), Duration::from_secs(10);
        /// How long a waiting visitor may be unseen before being passed over.
        idle_ttl IdleTtl: Duration, span(MINUTE, DAY), Duration::from_secs(600);
        /// How long one who is away keeps the ticket.
        keep_ttl KeepTtl: Duration, span(MINUTE, 7 * DAY), Duration::from_secs(1_800);
        /// How long a new place may go without its first poll; at most `idle_ttl`.
        first_poll_ttl FirstPollTtl: Duration, span(30 * SECOND, DAY), Duration::from_secs(60);
        /// Most places waiting.
        max_waiting MaxWaiting: u64, whole(1, 10_000_000), 1_000_000;
        /// From when on joins are taken, by the store's clock.
        joins_at JoinsAt: Option<u64>, Kind::Moment, None;
        /// From when on places are promoted, by the store's clock; not before `joins_at`.
        opens_at OpensAt: Option<u64>, Kind::Moment, None;
        /// From when on the queue is closed, by the store's clock; not before the others.
        closes_at ClosesAt: Option<u64>, Kind::Moment, None;
        /// Whether admission answers for active places by itself; then a slot that is freed before
        /// its time is given away a moment later.
        local_answers LocalAnswers: bool, Kind::Flag, false;
        /// Most places that one client address may hold: an IPv4 address, an IPv6 /64, and 8 times
        /// as many a /48. 0: any number. Without a value a quarter of `capacity`, at least 60.
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
