//! What an admitted visitor does at the protected service.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::header::HeaderValue;
use rand::Rng;

use crate::{
    client::{Fault, Route},
    rehearse::{connection::Connection, tally::Tally},
    scenario::{self, Call, Scenario},
};

/// The visit of everybody who is inside.
pub struct Visit {
    /// The protected service; without it a visitor only stays.
    pub target: Option<Arc<Route>>,
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
        connection.ready().await;
        let sent = Instant::now();
        let mut status = None;
        let outcome = async {
            let mut request = connection.route().target.call(call)?;
            let headers = request.headers_mut();
            let value = |text: &str| HeaderValue::from_str(text).map_err(|_| Fault::Value);
            headers.insert("x-forwarded-for", value(from)?);
            // A gateway in front of the service, or the service itself, asks the room with it.
            if let Some(token) = token {
                headers.insert("x-anteroom-token", value(token)?);
            }
            let answer = connection.send(request, self.patience).await?;
            status = Some(answer.status.as_u16());
            Ok(visit.answered(answer.status, &answer.headers, &answer.body)?)
        };
        let fault = outcome.await.err();
        tally.asked_service(sent, status, fault);
        fault.is_none()
    }

    /// Takes the time over one answer of so many.
    pub async fn stays(&self, of: f64, random: &mut (impl Rng + Send)) {
        tokio::time::sleep(self.stay.mul_f64(random.random_range(0.5..1.5) / of.max(1.0))).await;
    }
}
