//! An open page: it asks with the key and the token of its visitor, on a connection of its own, and
//! each request is written down.

use std::sync::Arc;
use std::time::Instant;

use anteroom_witness::{Call, Heard, Line, Shown, Token};
use http_body_util::Full;
use hyper::body::Bytes;

use super::connection::Connection;
use super::present::Key;
use super::{Stage, address};
use crate::client::{Fault, Outgoing};

/// A tab of a visitor.
pub struct Tab {
    /// What its visitor shares with all others.
    pub stage: Arc<Stage>,
    visitor: u32,
    /// Whose place it is, for the witness.
    identity: u32,
    /// The Idempotency-Key.
    key: Key,
    /// The token of the last join.
    pub token: Option<Token>,
    /// To the waiting room.
    pub connection: Connection,
}

impl Tab {
    /// The first tab of an identity. Its key is no other run's, whatever the seed: it would have a
    /// place of that run.
    pub fn new(stage: &Arc<Stage>, visitor: u32, identity: u32) -> Self {
        let connection = Connection::new(stage, &stage.site.public, visitor);
        let (stage, key) = (Arc::clone(stage), rand::random());
        Self { stage, visitor, identity, key, token: None, connection }
    }

    /// A tab with the key of another join, and its token if an answer showed one.
    pub fn with(self, key: Key, token: Option<Token>) -> Self {
        Self { key, token, ..self }
    }

    /// Another tab of the same browser, or with the key alone: of another one.
    pub fn another(&self, with_token: bool) -> Self {
        let token = self.token.clone().filter(|_| with_token);
        Self::new(&self.stage, self.visitor, self.identity).with(self.key, token)
    }

    /// Gives up what place the key may have.
    pub async fn gives_up(mut self) {
        if self.token.is_none() {
            // The answer to the join was cut off. The same key has the same place.
            self.ask(Call::Join).await;
        }
        if self.token.is_some() {
            self.ask(Call::Leave).await;
        }
    }

    /// The protected service is about to get a request, which may end the place.
    pub fn may_be_ended(&self) {
        let line = Line { code: "perhaps by the service".to_owned(), ..self.line(Call::Leave) };
        self.stage.record.write(line);
    }

    /// For the record: the request is sent now.
    fn line(&self, call: Call) -> Line {
        let holds = self.token.as_ref().map(|token| token.place);
        Line::sent(self.visitor, self.identity, call, self.stage.record.now(), holds)
    }

    /// Asks once. A join's token is kept, and each place until an answer ends it.
    pub async fn ask(&mut self, call: Call) -> Heard {
        self.connection.ready().await;
        let stage = Arc::clone(&self.stage);
        let _asking = stage.asking.read().await;
        let under_way = self.stage.record.request(self.line(call));
        let place = (self.visitor, self.key, self.token.clone().filter(|_| call != Call::Join));
        if call == Call::Join {
            self.stage.present.lock().insert(place.clone());
        }
        let token = self.token.as_ref().map(|token| token.text.clone());
        let heard = self.send(call, token.as_deref()).await;
        under_way.hears(&heard);
        let mut counts = self.stage.counts();
        if heard.status.is_some_and(|status| status >= 400) {
            let code = if heard.code.is_empty() { "no code" } else { &heard.code };
            *counts.refusals.entry(code.to_owned()).or_default() += 1;
        }
        if call == Call::Join {
            counts.joined(&heard);
        }
        let mut present = self.stage.present.lock();
        // A poll that denies the token may be wrong.
        if match (call, heard.code.as_str()) {
            (Call::Join, "queue_full" | "queue_closed") => true,
            (Call::Join, _) => heard.status.is_some_and(|status| status < 500),
            (Call::Leave, _) => matches!(heard.shown, Shown::Gone { .. }),
            _ => heard.status == Some(410),
        } {
            present.remove(&place);
        }
        if heard.token.is_some() {
            self.token.clone_from(&heard.token);
            present.insert((self.visitor, self.key, self.token.clone()));
        }
        heard
    }

    /// Sends a call with any token, which no record knows of.
    pub async fn send(&mut self, call: Call, token: Option<&str>) -> Heard {
        self.connection.ready().await;
        let sent = Instant::now();
        let request = self.request(call, token);
        let answer = self.connection.send(request, self.stage.args.patience).await;
        let heard = match &answer {
            Ok(answer) => {
                let header = |name: &str| answer.headers.get(name).and_then(|it| it.to_str().ok());
                Heard::answer(call, answer.status.as_u16(), header, &answer.body)
            }
            Err(fault) => Heard::nothing(fault),
        };
        let refused = heard.status.filter(|status| *status >= 400).map(|_| Fault::Status);
        let fault = answer.err().or(refused);
        self.stage.counts().room.add(self.stage.elapsed(), sent, heard.status, fault);
        heard
    }

    fn request(&self, call: Call, token: Option<&str>) -> Outgoing {
        let (method, path) = match call {
            Call::Join => ("POST", "tokens"),
            Call::Place => ("GET", "token"),
            Call::Claim => ("POST", "token/claim"),
            Call::Authorize => ("GET", "authorize"),
            Call::Renew => ("POST", "token/renew"),
            Call::Leave => ("DELETE", "token"),
        };
        let path = match (call, &self.stage.args.gate) {
            (Call::Authorize, Some(gate)) => gate.clone(),
            _ => format!("/v1/queues/{}/{path}", self.stage.queue()),
        };
        let request = self.connection.route().target.request(method, &path);
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
