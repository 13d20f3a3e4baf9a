//! A backend that calls some admissions, and records the answers for the witness.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anteroom_testkit::witness::{Doors, Violation};
use http::{Method, Request};
use serde::Serialize;
use serde_json::Value;

/// What came of one request.
pub struct Heard {
    /// Absent when no whole answer came.
    pub status: Option<u16>,
    pub body: Value,
    /// Microseconds of the notes' clock.
    pub sent: u64,
    pub received: u64,
}

impl Heard {
    /// Whether the effect of the call is unknown.
    pub fn is_unknown(&self) -> bool {
        self.status.is_none_or(|status| status >= 500)
    }

    pub fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or("")
    }
}

/// The notes of one test, in the witness's lines.
pub struct Backend<L> {
    doors: Doors,
    started: Instant,
    lines: Mutex<Vec<L>>,
}

impl<L: Serialize> Backend<L> {
    pub fn new(doors: Doors) -> Self {
        Self { doors, started: Instant::now(), lines: Mutex::new(Vec::new()) }
    }

    /// Sends a request once.
    pub async fn ask(&self, door: u8, method: &Method, path: &str, body: &Value) -> Heard {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let request = Request::builder().method(method).uri(path).header("host", "127.0.0.1");
        let request = request.header("content-type", "application/json");
        let request = request.body(text.into()).expect("a path in ASCII");
        let sent = self.now();
        let answer = self.doors.send(door, request, Duration::from_millis(1_500)).await;
        let received = self.now();
        let (status, body) = answer.map_or((None, Value::Null), |(status, _, body)| {
            (Some(status.as_u16()), serde_json::from_slice(&body).unwrap_or_default())
        });
        Heard { status, body, sent, received }
    }

    pub fn notes(&self, line: L) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Holds all that was noted to the promise; returns how many lines that were.
    #[track_caller]
    pub fn hold_to(&self, check: impl Fn(&[L]) -> Vec<Violation>) -> usize {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let found: Vec<_> = check(&lines).iter().map(|it| it.report(&lines)).collect();
        assert!(found.is_empty(), "{} violations\n{}", found.len(), found.join("\n"));
        lines.len()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).expect("a short test")
    }
}
