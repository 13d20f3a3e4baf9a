//! A visit and its record, the same for every driver.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Recorder, Sample};
use crate::client::{Answer, Connection, Fault};
use crate::scenario::{Call, Connections, Scenario, Turn, Visit};

/// A visit under way.
pub struct Walk {
    visit: Visit,
    recorder: Arc<Recorder>,
    connections: Connections,
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
        let connections = scenario.connections;
        Self { visit: Visit::new(scenario, user), recorder, connections, arrived, due: arrived }
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

    /// Makes the request of a turn, which was to be sent at this moment; returns what went wrong.
    pub async fn ask(
        &mut self,
        turn: &Turn,
        call: &Call,
        due: Instant,
        connection: &mut Connection,
        timeout: Duration,
    ) -> Option<Fault> {
        self.recorder.request_begins(due);
        let outcome = match connection.route().target.call(call) {
            Ok(request) => connection.send(request, timeout).await,
            Err(fault) => Err(fault),
        };
        if self.connections == Connections::New {
            connection.close();
        }
        let status = outcome.as_ref().ok().map(|answer| answer.status.as_u16());
        let judged = outcome.and_then(|Answer { status, headers, body }| {
            self.visit.answered(status, &headers, &body)
        });
        let fault = judged.err();
        let (step, again) = (turn.step, turn.again);
        self.recorder.request(&Sample { step, started: due, status, again, fault });
        if fault.is_some() {
            self.recorder.visit_ends(self.arrived, false);
        }
        self.due = Instant::now();
        fault
    }
}

/// Waits until a moment, a thousandth of a second late at most on an idle machine.
pub async fn until(moment: Instant) {
    if moment > Instant::now() {
        tokio::time::sleep_until(moment.into()).await;
    }
}
