use std::sync::Mutex;

use super::*;
use crate::limit::Algorithm;

/// The refusals of a process whose time the test moves.
struct Process {
    refusals: Refusals,
    now: Arc<Mutex<Instant>>,
}

impl Process {
    fn start() -> Self {
        let now = Arc::new(Mutex::new(Instant::now()));
        let read = now.clone();
        Self { refusals: Refusals::new(move || *read.lock().expect("a time")), now }
    }

    fn pass(&self, ms: u64) {
        *self.now.lock().expect("a time") += Duration::from_millis(ms);
    }

    fn basis(&self) -> Basis {
        self.refusals.basis(1)
    }

    fn repeat(&self, check: &CounterCheck) -> Option<Checked> {
        self.refusals.repeat(check, self.basis())
    }

    /// The store refuses a check for so long, at once.
    fn refused(&self, check: &CounterCheck, retry_ms: u64) {
        self.refusals.note(check, self.basis(), &refused(retry_ms));
    }
}

fn check(cost: u32) -> CounterCheck {
    let window = Duration::from_secs(60);
    let rule = Rule { algorithm: Algorithm::Log, limit: 5, window, shadow: false };
    CounterCheck { id: *b"one counter's id", rule, cost }
}

fn refused(retry_ms: u64) -> Checked {
    let [retry_after, reset] = [retry_ms, retry_ms + 500].map(Duration::from_millis);
    Checked { outcome: Outcome::Refused, remaining: 0, reset, retry_after }
}

#[test]
fn a_refusal_is_repeated_until_just_before_the_counter_is_free() {
    let process = Process::start();
    assert_eq!(process.repeat(&check(1)), None);
    process.refused(&check(1), 300);
    for cost in [0, 1] {
        assert_eq!(process.repeat(&check(cost)), Some(refused(300)));
    }
    process.pass(100);
    assert_eq!(process.repeat(&check(1)), Some(refused(200)));
    process.pass(197);
    assert_eq!(process.repeat(&check(1)), Some(refused(3)));
    process.pass(1);
    assert_eq!(process.repeat(&check(1)), None, "it may be free in 1 ms");
}

#[test]
fn the_end_counts_from_the_sending_and_the_times_from_the_answer() {
    let process = Process::start();
    let basis = process.basis();
    process.pass(200);
    process.refusals.note(&check(1), basis, &refused(300));
    process.pass(97);
    assert_eq!(process.repeat(&check(1)), Some(refused(203)));
    process.pass(1);
    assert_eq!(process.repeat(&check(1)), None);
}

#[test]
fn parts_of_a_millisecond_are_rounded_up() {
    let process = Process::start();
    process.refused(&check(1), 300);
    *process.now.lock().expect("a time") += Duration::from_micros(1);
    assert_eq!(process.repeat(&check(1)), Some(refused(300)));
}

#[test]
fn one_check_asks_before_the_second_is_over_and_after_it_every_check_does() {
    let process = Process::start();
    process.refused(&check(1), 60_000);
    process.pass(599);
    assert!(process.repeat(&check(1)).is_some());
    process.pass(1);
    assert_eq!(process.repeat(&check(1)), None, "the one that asks");
    for _ in 0..9 {
        assert!(process.repeat(&check(1)).is_some(), "the others wait for nothing");
    }
    process.pass(399);
    assert!(process.repeat(&check(1)).is_some());
    process.pass(1);
    for _ in 0..2 {
        assert_eq!(process.repeat(&check(1)), None);
    }
    process.refused(&check(1), 59_000);
    assert!(process.repeat(&check(1)).is_some());
}

#[test]
fn nothing_else_is_refused_with_it() {
    let process = Process::start();
    process.refused(&check(1), 60_000);
    assert_eq!(process.repeat(&check(2)), None, "another cost");
    let mut id = check(1).id;
    id[15] += 1;
    assert_eq!(process.repeat(&CounterCheck { id, ..check(1) }), None, "another counter");
    let of = |rule| CounterCheck { rule, ..check(1) };
    let rule = check(1).rule;
    for other in [
        Rule { limit: 6, ..rule },
        Rule { window: Duration::from_secs(61), ..rule },
        Rule { shadow: true, ..rule },
        Rule { algorithm: Algorithm::Gcra, ..rule },
    ] {
        assert_eq!(process.repeat(&of(other)), None, "{other:?}");
    }
    assert!(process.repeat(&check(1)).is_some());
}

#[test]
fn a_counter_on_the_place_of_another_takes_it() {
    let process = Process::start();
    process.refused(&check(1), 60_000);
    let mut id = check(1).id;
    id[15] += 1;
    let other = CounterCheck { id, ..check(1) };
    let allowed = Checked { outcome: Outcome::Allowed, ..refused(0) };
    process.refusals.note(&other, process.basis(), &allowed);
    assert!(process.repeat(&check(1)).is_some(), "an allowed one leaves it");
    process.refused(&other, 60_000);
    assert_eq!(process.repeat(&check(1)), None);
    assert!(process.repeat(&other).is_some());
}

#[test]
fn only_an_answer_that_stays_the_same_is_noted() {
    let process = Process::start();
    process.refused(&check(2), 60_000);
    let one_left = Checked { remaining: 1, ..refused(60_000) };
    process.refusals.note(&check(1), process.basis(), &one_left);
    process.refused(&check(1), 2);
    assert_eq!(process.repeat(&check(1)), None);
    let shadow = Checked { outcome: Outcome::ShadowRefused, ..refused(60_000) };
    process.refusals.note(&check(1), process.basis(), &shadow);
    assert_eq!(process.repeat(&check(1)), Some(shadow));
}

#[test]
fn an_allowed_check_ends_it_whatever_its_cost() {
    let process = Process::start();
    for cost in [0, 1, 5] {
        process.refused(&check(1), 60_000);
        let allowed = Checked { outcome: Outcome::Allowed, ..refused(0) };
        process.refusals.note(&check(cost), process.basis(), &allowed);
        assert_eq!(process.repeat(&check(1)), None, "{cost}");
    }
}

#[test]
fn another_connection_ends_it() {
    let process = Process::start();
    process.refused(&check(1), 60_000);
    assert_eq!(process.refusals.repeat(&check(1), process.refusals.basis(2)), None);
}

#[test]
fn a_forgotten_key_ends_it_also_for_answers_that_are_under_way() {
    let process = Process::start();
    process.refused(&check(1), 60_000);
    let before = process.basis();
    let forgetting = process.refusals.forgetting();
    let amid = process.basis();
    drop(forgetting);
    assert_eq!(process.repeat(&check(1)), None);
    for basis in [before, amid] {
        process.refusals.note(&check(1), basis, &refused(60_000));
        assert_eq!(process.repeat(&check(1)), None, "it was refused before");
    }
    process.refused(&check(1), 60_000);
    assert!(process.repeat(&check(1)).is_some());
}
