//! A visit and its record, the same for every driver.

use std::sync::Arc;
use std::time::Instant;

use hyper::body::Bytes;
use hyper::{HeaderMap, StatusCode};

use super::sample::Sample;
use super::{Fault, Recorder};
use crate::scenario::{Scenario, Turn, Visit};

/// A whole answer, of whose body the first [`LONGEST_BODY`] are kept.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Of an answer, for what is captured of it; the rest is read and forgotten.
const LONGEST_BODY: usize = 4 << 20;

/// What is kept of a body that comes in pieces.
#[derive(Default)]
pub struct Body(Vec<u8>);

impl Body {
    pub fn add(&mut self, piece: &[u8]) {
        let room = LONGEST_BODY - self.0.len();
        self.0.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    pub fn into_bytes(self) -> Bytes {
        self.0.into()
    }
}

/// A visit under way.
pub struct Walk {
    visit: Visit,
    recorder: Arc<Recorder>,
    /// When the visitor arrived.
    arrived: Instant,
    /// When the next request is to be sent, before it is thought about.
    due: Instant,
}

impl Walk {
    /// The visitor of this number arrives at this moment.
    pub fn begin(
        scenario: &Arc<Scenario>,
        recorder: &Arc<Recorder>,
        user: u64,
        arrived: Instant,
    ) -> Self {
        recorder.visit_begins(arrived);
        let recorder = Arc::clone(recorder);
        Self { visit: Visit::new(scenario, user), recorder, arrived, due: arrived }
    }

    /// What is next, and when; nothing when the visit is over.
    pub fn turn(&mut self) -> Option<(Turn, Instant)> {
        match self.visit.turn() {
            Ok(Some(turn)) => {
                self.due += turn.think;
                Some((turn, self.due))
            }
            Ok(None) => {
                self.recorder.visit_ends(self.arrived, true);
                None
            }
            Err(_) => {
                self.recorder.visit_ends(self.arrived, false);
                None
            }
        }
    }

    /// The request of this turn is due.
    pub fn asks(&self, due: Instant) {
        self.recorder.request_begins(due);
    }

    /// Takes what came of a request; returns whether the visit goes on.
    pub fn ended(&mut self, turn: &Turn, started: Instant, outcome: Result<Answer, Fault>) -> bool {
        let status = outcome.as_ref().ok().map(|answer| answer.status.as_u16());
        let judged = outcome.and_then(|Answer { status, headers, body }| {
            self.visit.answered(status, &headers, &body).map_err(Fault::from)
        });
        let fault = judged.err();
        self.recorder.request(&Sample {
            step: turn.step,
            started,
            status,
            again: turn.again,
            fault,
        });
        if fault.is_some() {
            self.recorder.visit_ends(self.arrived, false);
        }
        self.due = Instant::now();
        fault.is_none()
    }
}

/// Waits until a moment, a thousandth of a second late at most on an idle machine.
pub async fn until(moment: Instant) {
    if moment > Instant::now() {
        tokio::time::sleep_until(moment.into()).await;
    }
}
