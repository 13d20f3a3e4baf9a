//! What an admitted visitor does at the protected service.

use std::sync::Arc;
use std::time::Instant;

use anteroom_witness::Call;
use hyper::header::HeaderValue;
use rand::Rng as _;
use tokio::time::sleep;

use super::address;
use super::connection::Connection;
use super::counts::End;
use super::visitor::Visitor;
use crate::client::Fault;
use crate::scenario;

impl Visitor {
    /// Uses the service: each request passes the gate first, where there is a waiting room, and
    /// no visitor goes on who does not pass.
    pub async fn inside(&mut self) -> End {
        let stage = Arc::clone(&self.stage);
        let Some(target) = &stage.site.target else {
            if !self.passes().await {
                return End::Failed;
            }
            self.stays(1.0).await;
            return End::Served;
        };
        let mut connection = Connection::new(&stage, target, self.number);
        connection.kept &= stage.site.scenario.connections == scenario::Connections::Kept;
        let mut visit = scenario::Visit::new(&stage.site.scenario, u64::from(self.number) + 1);
        let mut is_first = stage.with_room;
        while let Ok(turn) = visit.turn() {
            let Some(turn) = turn else { return End::Served };
            sleep(turn.think).await;
            let Some(call) = turn.call else { continue };
            if !self.passes().await {
                return End::Failed;
            }
            if std::mem::take(&mut is_first) {
                self.tab.may_be_ended();
            }
            if !Box::pin(self.asks(&call, &mut visit, &mut connection)).await {
                return End::Failed;
            }
            if !turn.again {
                self.stays(stage.site.scenario.calls_per_visitor()).await;
            }
        }
        // A value of the scenario was not there.
        End::Failed
    }

    /// Asks the gate, as a visitor does who loads the page again while the gate does not know.
    async fn passes(&mut self) -> bool {
        if !self.stage.with_room {
            return true;
        }
        let heard = self.until_answered(Call::Authorize).await;
        heard.is_some_and(|heard| heard.status == Some(200))
    }

    /// Sends a request to the service and counts it; returns whether the visit goes on.
    async fn asks(
        &mut self,
        call: &scenario::Call,
        visit: &mut scenario::Visit,
        connection: &mut Connection,
    ) -> bool {
        connection.ready().await;
        let sent = Instant::now();
        let mut status = None;
        let outcome = async {
            let mut request = connection.route().target.call(call)?;
            let value = |text: &str| HeaderValue::from_str(text).map_err(|_| Fault::Value);
            let from = address::of(self.number).to_string();
            request.headers_mut().insert("x-forwarded-for", value(&from)?);
            // A gateway in front of the service, or the service itself, asks the room with it.
            if let Some(token) = &self.tab.token {
                request.headers_mut().insert("x-anteroom-token", value(&token.text)?);
            }
            let answer = connection.send(request, self.stage.args.patience).await?;
            status = Some(answer.status.as_u16());
            visit.answered(answer.status, &answer.headers, &answer.body)
        };
        let fault = outcome.await.err();
        self.stage.counts().service.add(self.stage.elapsed(), sent, status, fault);
        fault.is_none()
    }

    /// Takes the time over one answer of so many: in all half of `--stay` to one and a half of it,
    /// besides what the scenario thinks.
    async fn stays(&mut self, of: f64) {
        let part = self.random.random_range(0.5..1.5) / of.max(1.0);
        sleep(self.stage.args.stay.mul_f64(part)).await;
    }
}
