//! Promise 10: the answers that callers of a pool got, and injected violations.

use std::time::Duration;

use anteroom_witness::{
    Violation,
    pool::{Call, Line, Sums, check},
};

const TTL: Duration = Duration::from_micros(1_000);

#[derive(Clone, Default)]
struct Story(Vec<Line>);

impl Story {
    fn does(mut self, operation: u64, call: Call, times: (u64, u64)) -> Self {
        let (sent, received) = times;
        let (status, code) = (Some(200), String::new());
        self.0.push(Line { operation, call, sent, received, status, code, sums: None });
        self
    }

    fn funds(self, operation: u64, amount: u64, times: (u64, u64)) -> Self {
        self.does(operation, Call::Fund { amount }, times)
    }

    fn holds(self, operation: u64, amount: u64, times: (u64, u64)) -> Self {
        self.does(operation, Call::Hold { amount }, times)
    }

    fn settles(self, operation: u64, amount: u64, times: (u64, u64)) -> Self {
        self.does(operation, Call::Settle { amount }, times)
    }

    fn draws(self, operation: u64, amount: u64, times: (u64, u64)) -> Self {
        self.does(operation, Call::Draw { amount }, times)
    }

    /// The last one was refused for want of money.
    fn refused(mut self) -> Self {
        let line = self.0.last_mut().expect("a line");
        (line.status, line.code) = (Some(409), "insufficient_balance".to_owned());
        self
    }

    /// The last one had no answer.
    fn unanswered(mut self) -> Self {
        self.0.last_mut().expect("a line").status = None;
        self
    }

    fn found(&self) -> Vec<Violation> {
        check(&self.0, TTL)
    }

    #[track_caller]
    fn is_clean(&self) {
        assert_eq!(self.found(), []);
    }

    #[track_caller]
    fn breaks(&self, what: &str, lines: &[usize]) {
        let found = self.found();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].promise == 10 && found[0].what.contains(what), "{found:?}");
        let proof: Vec<_> = found[0].lines.iter().map(|line| line + 1).collect();
        assert_eq!(proof, lines, "{found:?}");
    }
}

/// A hundred, of which 60 are held and 30 drawn.
fn pool() -> Story {
    Story::default().funds(1, 100, (0, 2)).holds(2, 60, (3, 5)).draws(3, 30, (6, 8))
}

#[test]
fn promise_10_a_pool_that_is_used_up_is_no_violation() {
    pool().is_clean();
    pool().draws(4, 10, (9, 10)).is_clean();
    pool().draws(4, 11, (9, 10)).refused().is_clean();
    // A repeat is the same operation, not another one.
    pool()
        .draws(3, 30, (9, 10))
        .funds(1, 100, (11, 12))
        .draws(4, 11, (13, 14))
        .refused()
        .is_clean();
}

#[test]
fn promise_10_an_overdrawn_pool_is_caught() {
    pool().draws(4, 11, (9, 10)).breaks("1 more taken than funded at 10 µs", &[2, 3, 4]);
    // Money that may have come by then clears it.
    pool().funds(5, 50, (9, 20)).unanswered().draws(4, 11, (9, 10)).is_clean();
    pool().funds(5, 50, (11, 20)).draws(4, 11, (9, 10)).breaks("1 more", &[2, 3, 5]);
}

#[test]
fn promise_10_what_a_hold_gives_back_may_be_taken() {
    let settled = pool().settles(2, 20, (9, 11));
    settled.clone().draws(4, 50, (10, 12)).is_clean();
    settled.draws(4, 51, (12, 13)).breaks("1 more", &[3, 4, 5]);
    // Cancelled, answered or not.
    pool().does(2, Call::Cancel, (9, 90)).unanswered().draws(4, 70, (10, 12)).is_clean();
    // Over by itself, 1 ms after it was sent at the latest.
    pool().draws(4, 70, (1_000, 1_003)).is_clean();
    pool().draws(4, 70, (900, 1_002)).breaks("60 more", &[2, 3, 4]);
    // Settled late, while the balance covers it.
    pool().settles(2, 60, (2_000, 2_001)).draws(4, 11, (2_002, 2_003)).breaks("1 more", &[3, 4, 5]);
}

#[test]
fn promise_10_a_wrong_refusal_is_caught() {
    pool().draws(4, 10, (9, 10)).refused().breaks("at least 10 were there", &[4]);
    // Another draw may have taken it for a moment, or for good.
    let beside = pool().draws(5, 5, (7, 20)).unanswered();
    beside.draws(4, 10, (9, 10)).refused().is_clean();
    // What a settled hold gave back is there from the answer on.
    let settled = pool().settles(2, 20, (9, 11));
    settled.clone().draws(4, 50, (10, 12)).refused().is_clean();
    settled.draws(4, 50, (11, 12)).refused().breaks("at least 50", &[5]);
    let cancelled = pool().does(2, Call::Cancel, (9, 11));
    cancelled.draws(4, 70, (12, 13)).refused().breaks("at least 70", &[5]);
}

#[test]
fn promise_10_a_hold_that_ends_twice_is_caught() {
    let settled = pool().settles(2, 20, (9, 11));
    settled.clone().settles(2, 20, (12, 13)).is_clean();
    settled.clone().settles(2, 21, (12, 13)).breaks("ended by Settle", &[4, 5]);
    settled.does(2, Call::Cancel, (12, 13)).breaks("and by Cancel", &[4, 5]);
}

#[test]
fn promise_10_sums_that_do_not_add_up_are_caught() {
    let looks = |balance| {
        let mut story = pool().does(9, Call::Look, (20, 21));
        let sums = Sums { funded: 100, balance, held: 60, paid: 30 };
        story.0.last_mut().expect("a line").sums = Some(sums);
        story
    };
    looks(10).is_clean();
    looks(11).breaks("do not add up", &[4]);
}

#[test]
fn a_large_record_is_checked_in_time() {
    let mut story = Story::default().funds(0, u64::MAX, (0, 1));
    for at in 1..200_000 {
        story = story.draws(at, 1, (2 * at, 2 * at + 1));
    }
    story = story.draws(u64::MAX, 1, (400_001, 400_002)).refused();
    story.breaks("refused", &[200_001]);
}
