//! How many applications of an event are in hand at a time: as many as are configured, and fewer
//! while issuing fails, so that a receiver in trouble is left alone and the attempts of few
//! applications are spent on finding out.
//!
//! Additive increase, multiplicative decrease (Chiu and Jain, 1989): one more with each success,
//! half as many with each wave of failures. Where even one at a time fails, there are short pauses
//! between the tries: long enough to spare attempts while a receiver is away, short enough not to
//! keep those waiting behind a few that fail for reasons of their own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The longest pause between two tries of what fails.
const LONGEST_REST: Duration = Duration::from_millis(500);
/// A receiver that refuses so many in a row, and takes none, is more likely in trouble itself than
/// all of them wrong: each would be a dead letter at once.
const REFUSED_IN_A_ROW: u32 = 8;

/// The rule. Time comes in as an argument.
#[derive(Debug)]
struct Rule {
    most: usize,
    allowed: usize,
    in_hand: usize,
    /// Attempts that began before belong to a wave that was counted.
    counted: Option<Instant>,
    rests_until: Option<Instant>,
    /// Since the last success.
    refused: u32,
}

impl Rule {
    fn new(most: usize) -> Self {
        Self { most, allowed: most, in_hand: 0, counted: None, rests_until: None, refused: 0 }
    }

    /// How many more may be taken. A few at once, so that each claim is worth its call.
    fn room(&self, now: Instant) -> usize {
        let free = self.allowed.saturating_sub(self.in_hand);
        let rests = self.rests_until.is_some_and(|until| now < until);
        if rests || (self.in_hand > 0 && free < self.allowed.div_ceil(4)) { 0 } else { free }
    }

    fn succeeded(&mut self) {
        self.allowed = (self.allowed + 1).min(self.most);
        self.rests_until = None;
        self.refused = 0;
    }

    /// An attempt was refused for good: the reason may be the application's own, until it goes on.
    fn refused(&mut self, begun: Instant, now: Instant, share: f64) {
        self.refused += 1;
        if self.refused >= REFUSED_IN_A_ROW {
            self.failed(begun, now, share);
        }
    }

    /// An attempt that began then has failed now; `share`, from 0 to 1, is the random part of a
    /// pause.
    fn failed(&mut self, begun: Instant, now: Instant, share: f64) {
        if self.counted.is_some_and(|counted| begun < counted) {
            return;
        }
        self.counted = Some(now);
        if self.allowed == 1 {
            self.rests_until = Some(now + LONGEST_REST.mul_f64(share));
        }
        self.allowed = (self.allowed / 2).max(1);
    }
}

/// The window of one event.
#[derive(Debug)]
pub struct Window {
    rule: Mutex<Rule>,
    changed: Notify,
}

impl Window {
    /// At most so many at a time.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { rule: Mutex::new(Rule::new(most)), changed: Notify::new() })
    }

    /// Another configuration.
    pub fn set_most(&self, most: usize) {
        let mut rule = self.rule();
        if rule.most != most {
            rule.allowed = if rule.allowed == rule.most { most } else { rule.allowed.min(most) };
            rule.most = most;
        }
    }

    /// How many more may be taken now.
    pub fn room(&self) -> usize {
        self.rule().room(Instant::now())
    }

    /// When a pause ends, if there is one.
    pub fn rests_until(&self) -> Option<Instant> {
        self.rule().rests_until.filter(|until| *until > Instant::now())
    }

    /// Waits until something has ended since the last wait.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Takes one in hand.
    pub fn take(self: &Arc<Self>) -> Slot {
        self.rule().in_hand += 1;
        Slot { window: self.clone(), begun: Instant::now() }
    }

    fn rule(&self) -> MutexGuard<'_, Rule> {
        // It is whole after every statement, so a panic elsewhere cannot have broken it.
        self.rule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One application in hand, until it is dropped.
#[derive(Debug)]
pub struct Slot {
    window: Arc<Window>,
    begun: Instant,
}

impl Slot {
    /// The receiver works: the attempt went well, or it refused this application alone.
    pub fn succeeded(&self) {
        self.window.rule().succeeded();
    }

    /// The application was refused, as all may be.
    pub fn refused(&self) {
        self.window.rule().refused(self.begun, Instant::now(), rand::random());
    }

    /// The attempt failed, as others may that follow.
    pub fn failed(&self) {
        self.window.rule().failed(self.begun, Instant::now(), rand::random());
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.window.rule().in_hand -= 1;
        self.window.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TICK: Duration = Duration::from_millis(100);

    #[test]
    fn waves_of_failures_halve_it_and_then_it_rests() {
        let mut rule = Rule::new(64);
        let mut now = Instant::now();
        for left in [32, 16, 8, 4, 2, 1] {
            let begun = now;
            now += TICK;
            // All of a wave fail, and count once.
            for _ in 0..10 {
                rule.failed(begun, now, 1.0);
            }
            assert_eq!((rule.allowed, rule.rests_until), (left, None));
        }
        let begun = now;
        now += TICK;
        rule.failed(begun, now, 1.0);
        assert_eq!(rule.room(now), 0);
        assert_eq!(rule.rests_until, Some(now + LONGEST_REST));
        assert_eq!(rule.room(now + LONGEST_REST), 1);
        rule.succeeded();
        assert_eq!((rule.allowed, rule.room(now)), (2, 2));
    }

    #[test]
    fn a_few_that_are_refused_cost_nothing_and_many_in_a_row_are_failures() {
        let mut rule = Rule::new(64);
        let mut now = Instant::now();
        let mut refuse = |rule: &mut Rule, count| {
            for _ in 0..count {
                let begun = now;
                now += TICK;
                rule.refused(begun, now, 1.0);
            }
            rule.allowed
        };
        assert_eq!(refuse(&mut rule, 7), 64);
        rule.succeeded();
        assert_eq!(refuse(&mut rule, 7), 64);
        assert_eq!(refuse(&mut rule, 6), 1);
        refuse(&mut rule, 1);
        assert!(rule.rests_until.is_some());
        rule.succeeded();
        assert_eq!(refuse(&mut rule, 7), 2);
    }

    #[test]
    fn a_claim_is_worth_its_call() {
        let mut rule = Rule::new(64);
        let now = Instant::now();
        assert_eq!(rule.room(now), 64);
        for (in_hand, room) in [(64, 0), (49, 0), (48, 16), (1, 63)] {
            rule.in_hand = in_hand;
            assert_eq!(rule.room(now), room, "{in_hand}");
        }
    }

    proptest! {
        #[test]
        fn it_stays_within_its_bounds_and_recovers(
            most in 1..100usize,
            attempts: Vec<(bool, u8, u8)>,
        ) {
            let mut rule = Rule::new(most);
            let mut now = Instant::now();
            for (ok, waited, took) in attempts {
                now += TICK * u32::from(waited);
                let begun = now;
                now += TICK * u32::from(took);
                if ok { rule.succeeded() } else { rule.failed(begun, now, 1.0) }
                prop_assert!((1..=most).contains(&rule.allowed));
                prop_assert!(rule.room(now + LONGEST_REST) >= 1, "it never stops for good");
            }
            (0..most).for_each(|_| rule.succeeded());
            prop_assert_eq!(rule.room(now), most);
        }
    }
}
