//! What a visitor holds in a queue.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{Pace, Rules};
use crate::numbered::numbered;

/// The number of a place: 1, 2, 3 … in the order in which the store saw the joins.
pub type Ticket = u64;

/// 64 random bits, new at each reset or loss of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Epoch(pub [u8; 8]);

/// The identity of a place: 14 bytes of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceId(pub [u8; 14]);

/// What a token or a handle names: one place of one epoch of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlaceRef {
    /// The epoch in which the place was given.
    pub epoch: Epoch,
    /// Whose place it is.
    pub id: PlaceId,
    /// Its number.
    pub ticket: Ticket,
}

impl PlaceRef {
    const LEN: usize = 8 + 14 + 8;

    /// The opaque handle by which a backend names the place. It is no token: it carries no proof.
    pub fn to_handle(self) -> String {
        URL_SAFE_NO_PAD.encode(self.to_bytes())
    }

    /// Reads a handle; `None` when it is not one.
    pub fn from_handle(handle: &str) -> Option<Self> {
        // 30 bytes are 40 characters; anything else is refused before it is decoded.
        if handle.len() != Self::LEN / 3 * 4 {
            return None;
        }
        Self::from_bytes(&URL_SAFE_NO_PAD.decode(handle).ok()?)
    }

    pub(super) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&self.epoch.0);
        bytes[8..22].copy_from_slice(&self.id.0);
        bytes[22..].copy_from_slice(&self.ticket.to_be_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != Self::LEN {
            return None;
        }
        let ticket = Ticket::from_be_bytes(bytes[22..].try_into().ok()?);
        // The store counts in doubles: a ticket it never gave is no handle and no token.
        if ticket == 0 || ticket > MAX_TICKET {
            return None;
        }
        Some(Self {
            epoch: Epoch(bytes[..8].try_into().ok()?),
            id: PlaceId(bytes[8..22].try_into().ok()?),
            ticket,
        })
    }
}

/// The last ticket a queue gives: beyond it two tickets could be the same double.
pub const MAX_TICKET: Ticket = (1 << 53) - 1;

/// No visitor polls more often than this …
pub const SOONEST_POLL: Duration = Duration::from_secs(1);
/// … and each polls at least so often.
const LATEST_POLL: Duration = Duration::from_secs(20);

/// A place as its holder sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub ticket: Ticket,
    /// Its status, with what belongs to it.
    pub standing: Standing,
}

/// The status of a place, for its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In line.
    Waiting {
        /// 1 = next. Only ever improves.
        position: u64,
        /// How long until its turn.
        wait: Wait,
    },
    /// Its turn has come, and must be claimed within this time.
    Ready {
        /// What is left of it.
        expires_in: Duration,
    },
    /// Claimed, for this time.
    Active {
        /// What is left of it.
        expires_in: Duration,
    },
}

/// How long a place will wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// By the turns of late.
    Expected {
        /// The median.
        eta: Duration,
        /// What nine in ten will not exceed, where slow times are known.
        eta_p90: Option<Duration>,
    },
    /// Unknown: promotion pauses, or there was no turn yet.
    Unknown {
        /// How many are promoted before it, the returned too.
        before: u64,
    },
}

impl Place {
    /// Its status, in a word.
    pub fn status(&self) -> Status {
        match self.standing {
            Standing::Waiting { .. } => Status::Waiting,
            Standing::Ready { .. } => Status::Ready,
            Standing::Active { .. } => Status::Active,
        }
    }

    /// 1 = next; 0 unless waiting.
    pub fn position(&self) -> u64 {
        if let Standing::Waiting { position, .. } = self.standing { position } else { 0 }
    }

    /// The same place for a client whose last answer had this position: it never gets worse.
    pub fn at_most(mut self, last: Option<u64>) -> Self {
        if let (Standing::Waiting { position, .. }, Some(last)) = (&mut self.standing, last) {
            *position = last.min(*position);
        }
        self
    }

    /// The expected wait and what nine in ten will not exceed, as far as these are known.
    pub fn eta(&self) -> (Option<Duration>, Option<Duration>) {
        match self.standing {
            Standing::Waiting { wait: Wait::Expected { eta, eta_p90 }, .. } => (Some(eta), eta_p90),
            _ => (None, None),
        }
    }

    /// How long the visitor waits before it polls again.
    ///
    /// In line that is a tenth of the expected wait, or half of the time in which its turn hardly
    /// comes. It is 1 s to 20 s, and at most half of the wait and of `claim_ttl`, so that no
    /// visitor misses its turn. Without an estimate it is 1 s for every 20 that are promoted
    /// before. Before the queue opens no visitor is called: half of that time counts too.
    pub fn poll_after(&self, claim_ttl: Duration, opens_in: Option<Duration>) -> Duration {
        let opens_in = (opens_in.unwrap_or_default() / 2).min(LATEST_POLL);
        let after = match self.standing {
            Standing::Waiting { wait: Wait::Expected { eta, .. }, .. } => {
                let surely = self.soonest_turn();
                let after = (eta / 10).max(surely / 2).clamp(SOONEST_POLL, LATEST_POLL);
                after.min(eta / 2).max(opens_in)
            }
            Standing::Waiting { wait: Wait::Unknown { before }, .. } => {
                let after = Duration::from_millis(50 * before.min(1_000));
                after.clamp(SOONEST_POLL, LATEST_POLL).max(opens_in)
            }
            // It is to be claimed.
            Standing::Ready { .. } => SOONEST_POLL,
            Standing::Active { expires_in } => (expires_in / 2).min(LATEST_POLL),
        };
        after.min(claim_ttl / 2).max(SOONEST_POLL)
    }

    /// The time in which the turn hardly comes: as far below the expected wait as the 90th
    /// percentile is above it.
    fn soonest_turn(&self) -> Duration {
        let (Some(eta), eta_p90) = self.eta() else { return Duration::ZERO };
        let beyond = eta_p90.map_or(eta, |eta_p90| eta_p90.saturating_sub(eta));
        eta.saturating_sub(beyond)
    }

    /// How long a waiting place is kept if its visitor does not poll, by a careful estimate; `None`
    /// if not waiting. A visitor who is called before it is inactive has `claim_ttl` to come back.
    pub fn kept_unseen(&self, rules: &Rules, opens_in: Option<Duration>) -> Option<Duration> {
        let Standing::Waiting { .. } = self.standing else { return None };
        let turn = self.earliest_turn(rules).max(opens_in.unwrap_or_default());
        // Presence is kept in slots of a quarter of `idle_ttl`; a check-in period shortens it.
        let inactive = rules.idle_ttl.min(2 * rules.first_poll_ttl) + rules.keep_ttl;
        Some(if turn < rules.idle_ttl * 5 / 4 {
            (turn + rules.claim_ttl).min(inactive)
        } else {
            inactive
        })
    }

    /// The time in which the turn hardly comes, also if all visitors ahead are away: a missed turn
    /// is given to the next visitor at once, so each `claim_ttl` as many are called again as in the
    /// one before, beside those who are called by the rate.
    fn earliest_turn(&self, rules: &Rules) -> Duration {
        let soonest = self.soonest_turn();
        let Some(eta) = self.eta().0.filter(|_| !soonest.is_zero()) else { return soonest };
        let count = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        let per_round = count(self.position()) * rules.claim_ttl.div_duration_f64(eta);
        let at_once = rules.batch.filter(|_| rules.pace == Pace::Batch).map_or(1.0, count);
        let first = per_round.max(at_once);
        let ahead = count(self.position().saturating_sub(1));
        // In k rounds first × k + per_round × k² ÷ 2 are called.
        let rounds = ((first * first + 2.0 * per_round * ahead).sqrt() - first) / per_round;
        soonest.min(rules.claim_ttl.mul_f64(rounds))
    }

    /// Time until the claim or the session ends; `None` while waiting.
    pub fn expires_in(&self) -> Option<Duration> {
        match self.standing {
            Standing::Ready { expires_in } | Standing::Active { expires_in } => Some(expires_in),
            Standing::Waiting { .. } => None,
        }
    }
}

numbered! {
    /// The status of a place that has not ended.
    pub Status {
        /// In line, and present.
        Waiting = "waiting",
        /// Its turn has come; it must be claimed.
        Ready = "ready",
        /// Claimed.
        Active = "active",
        /// In line, not seen for `idle_ttl`; its holder, by asking, is back.
        Away = "away",
    }
}

numbered! {
    /// Why a place is gone.
    pub GoneReason {
        /// Its visitor, or the protected service, finished.
        Completed = "completed",
        /// It gave up its place in line or its turn.
        Left = "left",
        /// Its turn was not claimed in time.
        Unclaimed = "unclaimed",
        /// Its session ended.
        Expired = "expired",
        /// It was never polled, or stayed away too long.
        Abandoned = "abandoned",
        /// An operator removed it.
        Evicted = "evicted",
        /// The store lost it, or the queue was reset.
        Lost = "lost",
        /// It ended too long ago to say why.
        Ended = "ended",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIM_TTL: Duration = Duration::from_secs(60);

    fn expects(eta_ms: u64, eta_p90_ms: Option<u64>) -> Place {
        let (eta, eta_p90) = (Duration::from_millis(eta_ms), eta_p90_ms.map(Duration::from_millis));
        waiting(Wait::Expected { eta, eta_p90 })
    }

    fn waiting(wait: Wait) -> Place {
        Place { ticket: 15, standing: Standing::Waiting { position: 5, wait } }
    }

    #[test]
    fn polls_are_frequent_at_the_front_and_rare_at_the_back() {
        let after = |eta| expects(eta, Some(2 * eta)).poll_after(CLAIM_TTL, None).as_millis();
        assert_eq!(after(3_000), 1_000);
        assert_eq!(after(60_000), 6_000);
        assert_eq!(after(3_600_000), 20_000);
        let blind =
            |before| waiting(Wait::Unknown { before }).poll_after(CLAIM_TTL, None).as_millis();
        assert_eq!(blind(0), 1_000);
        assert_eq!(blind(100), 5_000);
        assert_eq!(blind(1_000_000), 20_000);
    }

    #[test]
    fn an_unseen_place_is_kept_until_it_can_be_called_or_has_been_inactive() {
        let rules = Rules::default();
        let kept = |place: &Place, opens_in| {
            place.kept_unseen(&rules, opens_in).map(|kept| kept.as_secs())
        };
        // By the rate the turn comes in 290 s. If all ahead are away it comes in two rounds of
        // 60 s: in the first, one of the four is called by the rate, in the second three in all.
        assert_eq!(kept(&expects(300_000, Some(310_000)), None), Some(120 + 60));
        let wait = Wait::Expected {
            eta: Duration::from_secs(7_200),
            eta_p90: Some(Duration::from_secs(7_300)),
        };
        let far = Place { ticket: 15, standing: Standing::Waiting { position: 40_000, wait } };
        // Inactive after 120 s at the soonest, in a check-in period, and for 1 800 s.
        assert_eq!(kept(&far, None), Some(1_920));
        // It may be called at any moment, or as soon as the queue opens.
        let unknown = waiting(Wait::Unknown { before: 9 });
        assert_eq!(kept(&unknown, None), Some(60));
        assert_eq!(kept(&unknown, Some(Duration::from_secs(30))), Some(90));
        // It is seen for up to 1.25 × 600 s after the last poll.
        assert_eq!(kept(&unknown, Some(Duration::from_secs(740))), Some(800));
        assert_eq!(kept(&unknown, Some(Duration::from_secs(3_600))), Some(1_920));
        let ready = Standing::Ready { expires_in: CLAIM_TTL };
        assert_eq!(kept(&Place { ticket: 1, standing: ready }, None), None);
    }

    #[test]
    fn a_visitor_whose_turn_cannot_come_within_a_time_polls_at_most_once_in_half_of_it() {
        let after = |eta, slow| expects(eta, Some(slow)).poll_after(CLAIM_TTL, None).as_secs();
        // Hardly before 20 s, 36 s, 290 s.
        assert_eq!(after(30_000, 40_000), 10);
        assert_eq!(after(38_000, 40_000), 18);
        assert_eq!(after(300_000, 310_000), 20);
        // It may come at once.
        assert_eq!(after(100_000, 300_000), 10);
        assert_eq!(expects(100_000, None).poll_after(CLAIM_TTL, None).as_secs(), 10);
    }

    #[test]
    fn no_visitor_polls_more_than_once_a_second() {
        for place in [
            expects(0, Some(0)),
            expects(400, None),
            waiting(Wait::Unknown { before: 0 }),
            Place { ticket: 1, standing: Standing::Ready { expires_in: CLAIM_TTL } },
            Place { ticket: 1, standing: Standing::Active { expires_in: Duration::ZERO } },
        ] {
            for claim_ttl in [Duration::from_secs(1), CLAIM_TTL] {
                assert_eq!(place.poll_after(claim_ttl, None), SOONEST_POLL, "{place:?}");
            }
        }
    }

    #[test]
    fn no_visitor_misses_its_turn() {
        for eta in [2_000, 5_000, 100_000] {
            let after = expects(eta, Some(eta)).poll_after(CLAIM_TTL, None);
            assert!(after.as_millis() * 2 <= u128::from(eta));
        }
        let short = Duration::from_secs(5);
        assert!(expects(3_600_000, None).poll_after(short, None) * 2 <= short);
        assert!(waiting(Wait::Unknown { before: 9_999 }).poll_after(short, None) * 2 <= short);
    }

    /// 2 800 visitors, however many turns a second there are.
    #[test]
    fn a_line_polls_no_more_often_than_it_moves() {
        let polls = |place: &dyn Fn(u64) -> Place| -> f64 {
            (1..=2_800)
                .map(|turn| 1.0 / place(turn).poll_after(CLAIM_TTL, None).as_secs_f64())
                .sum()
        };
        for (turns_a_second, most) in [(0.01, 145.0), (0.1, 150.0), (1.0, 180.0), (10.0, 500.0)] {
            let line = |turn: u64| {
                let eta = 1_000.0 * turn as f64 / turns_a_second;
                expects(eta as u64, Some((eta * (1.0 + 1.3 / (turn as f64).sqrt())) as u64))
            };
            let polls = polls(&line);
            assert!(polls <= most, "{turns_a_second} turns a second: {polls} polls a second");
        }
        let paused = polls(&|turn| waiting(Wait::Unknown { before: turn - 1 }));
        assert!(paused <= 300.0, "promotion is paused: {paused} polls a second");
    }
}
