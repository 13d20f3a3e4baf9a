//! What an admitted visitor does at the protected service.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http_body_util::Full;
use hyper::{StatusCode, body::Bytes};
use rand::Rng;

use crate::{
    rehearse::{connection::Connection, peer::Peer, tally::Tally, traffic::Error},
    scenario::{self, Call, Failure, Scenario},
};

/// The visit of everybody who is inside.
pub struct Visit {
    /// The protected service; without it a visitor only stays.
    pub target: Option<Peer>,
    /// What is done there.
    pub scenario: Arc<Scenario>,
    /// How long a visitor takes over the answers in all, half to one and a half of it, besides what
    /// the scenario thinks.
    pub stay: Duration,
    /// How long a visitor waits for an answer.
    pub patience: Duration,
}

impl Visit {
    /// Sends a request and counts it; returns whether the visit goes on. `from` is the visitor's
    /// address.
    pub async fn asks(
        &self,
        call: &Call,
        visit: &mut scenario::Visit,
        connection: &mut Connection,
        token: Option<&str>,
        from: &str,
        tally: &Tally,
    ) -> bool {
        let mut request = connection.peer().request(call.method.as_str(), &call.target);
        if let Some(headers) = request.headers_mut() {
            headers.extend(call.headers.clone());
        }
        request = request.header("x-forwarded-for", from);
        // A gateway in front of the service, or the service itself, asks the room by it.
        if let Some(token) = token {
            request = request.header("x-anteroom-token", token);
        }
        connection.ready().await;
        let sent = Instant::now();
        let Ok(request) = request.body(Full::new(Bytes::from(call.body.clone()))) else {
            tally.asked_service(sent, None, Some(Error::Scenario(Failure::Value)));
            return false;
        };
        let answer = connection.send(request, self.patience).await;
        let status = answer.as_ref().ok().map(|answer| answer.status);
        let error = match &answer {
            Ok(answer) => {
                let status = StatusCode::from_u16(answer.status).unwrap_or_default();
                let judged = visit.answered(status, &answer.headers, &answer.body);
                judged.err().map(|failure| match failure {
                    Failure::Status => Error::Status(answer.status),
                    failure => Error::Scenario(failure),
                })
            }
            Err(failure) => Some(Error::NoAnswer(*failure)),
        };
        tally.asked_service(sent, status, error);
        error.is_none()
    }

    /// Takes the time over one answer of so many.
    pub async fn stays(&self, of: f64, random: &mut (impl Rng + Send)) {
        tokio::time::sleep(self.stay.mul_f64(random.random_range(0.5..1.5) / of.max(1.0))).await;
    }
}
