//! An open page: it asks with the key and the token of its visitor, on a connection of its own, and
//! each request is written down.

use std::{sync::Arc, time::Instant};

use anteroom_witness::{Call, Heard, Line, Token};
use http_body_util::Full;
use hyper::body::Bytes;

use crate::rehearse::{
    Stage, address,
    answer::{Answer, Failure},
    connection::{Connection, Out},
};

/// A tab of a visitor.
pub struct Tab {
    stage: Arc<Stage>,
    visitor: u32,
    /// Whose place it is, for the witness.
    identity: u32,
    /// The Idempotency-Key.
    key: u128,
    /// The token of the last join.
    pub token: Option<Token>,
    /// To the waiting room.
    pub connection: Connection,
}

impl Tab {
    /// The first tab of an identity. Its key is no other run's, whatever the seed: it would have a
    /// place of that run.
    pub fn new(stage: &Arc<Stage>, visitor: u32, identity: u32) -> Self {
        let connection =
            Connection::new(&stage.public, &stage.connections, stage.reuse.keeps(visitor));
        let (stage, key) = (Arc::clone(stage), rand::random());
        Self { stage, visitor, identity, key, token: None, connection }
    }

    /// Another tab of the same browser, or with the key alone: of another one.
    pub fn another(&self, with_token: bool) -> Self {
        let token = self.token.clone().filter(|_| with_token);
        Self { token, key: self.key, ..Self::new(&self.stage, self.visitor, self.identity) }
    }

    /// The protected service is about to be asked, which may end the place.
    pub fn may_be_ended(&self) {
        let record = &self.stage.record;
        let holds = self.token.as_ref().map(|token| token.place);
        let line = Line::sent(self.visitor, self.identity, Call::Leave, record.now(), holds);
        record.write(Line { code: "perhaps by the service".to_owned(), ..line });
    }

    /// Asks once. A join's token is kept.
    pub async fn ask(&mut self, call: Call) -> Heard {
        self.connection.ready().await;
        let record = &self.stage.record;
        let holds = self.token.as_ref().map(|token| token.place);
        let line = Line::sent(self.visitor, self.identity, call, record.now(), holds);
        let under_way = record.request(line);
        let token = self.token.as_ref().map(|token| token.text.clone());
        let answer = self.send(call, token.as_deref()).await;
        let heard = match &answer {
            Ok(answer) => {
                let header = |name: &str| answer.headers.get(name).and_then(|it| it.to_str().ok());
                Heard::answer(call, answer.status, header, &answer.body)
            }
            Err(failure) => Heard::nothing(failure),
        };
        under_way.hears(&heard);
        if heard.status.is_some_and(|status| status >= 400) {
            let code = if heard.code.is_empty() { "no code" } else { &heard.code };
            *self.stage.tally.counts().refusals.entry(code.to_owned()).or_default() += 1;
        }
        if let Some(token) = &heard.token {
            self.token = Some(token.clone());
        }
        heard
    }

    /// Sends a call with any token, which no record knows of.
    pub async fn send(&mut self, call: Call, token: Option<&str>) -> Result<Answer, Failure> {
        self.connection.ready().await;
        let sent = Instant::now();
        let request = self.request(call, token);
        let answer = self.connection.send(request, self.stage.patience).await;
        self.stage.tally.asked_room(sent, answer.as_ref().map_err(|failure| *failure));
        answer
    }

    fn request(&self, call: Call, token: Option<&str>) -> Out {
        let (method, path) = match call {
            Call::Join => ("POST", "tokens"),
            Call::Place => ("GET", "token"),
            Call::Claim => ("POST", "token/claim"),
            Call::Authorize => ("GET", "authorize"),
            Call::Renew => ("POST", "token/renew"),
            Call::Leave => ("DELETE", "token"),
        };
        let path = match (call, &self.stage.gate) {
            (Call::Authorize, Some(gate)) => gate.clone(),
            _ => format!("/v1/queues/{}/{path}", self.stage.queue),
        };
        let request = self.connection.peer().request(method, &path);
        let request = request.header("x-forwarded-for", address::of(self.visitor).to_string());
        let (request, body) = match (call, token) {
            (Call::Join, _) => {
                let request = request.header("content-type", "application/json");
                let key = format!("{:032x}", self.key);
                (request.header("idempotency-key", key), Bytes::from_static(b"{}"))
            }
            (_, Some(token)) => (request.header("x-anteroom-token", token), Bytes::new()),
            (_, None) => (request, Bytes::new()),
        };
        request
            .body(Full::new(body))
            .expect("a path that was parsed, numbers and a token are ASCII")
    }
}
