//! An open page: it asks with the key and the token of its visitor, on a connection of its own, and
//! each request is written down.

use std::sync::Arc;
use std::time::Instant;

use anteroom_witness::{Call, Heard, Held, Line, Shown, Token};
use http::request::Builder;
use http_body_util::Full;
use hyper::StatusCode;
use hyper::body::Bytes;

use super::connection::Connection;
use super::kind::Kind;
use super::present::Key;
use super::{Stage, address};
use crate::client::{Answer, Fault, Outgoing};

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
    /// A place and the best position that it had.
    best: Option<(Held, u64)>,
    /// To the waiting room.
    pub connection: Connection,
}

impl Tab {
    /// The first tab of an identity. Its key is no other run's, whatever the seed: it would have a
    /// place of that run.
    pub fn new(stage: &Arc<Stage>, visitor: u32, identity: u32) -> Self {
        let connection = Connection::new(stage, &stage.site.public, visitor);
        let (stage, key) = (Arc::clone(stage), rand::random());
        Self { stage, visitor, identity, key, token: None, best: None, connection }
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
    pub(super) fn line(&self, call: Call) -> Line {
        let holds = self.token.as_ref().map(|token| token.place);
        let position = self.position().filter(|_| call == Call::Place);
        let now = self.stage.record.now();
        Line { position, ..Line::sent(self.visitor, self.identity, call, now, holds) }
    }

    /// The best position so far of its place: what comes after is never worse.
    pub(super) fn position(&self) -> Option<u64> {
        let held = self.token.as_ref()?.place;
        self.best.filter(|(of, _)| *of == held).map(|(_, position)| position)
    }

    /// The place has this position, by an answer or the board.
    pub fn has_position(&mut self, position: u64) {
        let best = self.position().map_or(position, |best| best.min(position));
        self.best = self.token.as_ref().map(|token| (token.place, best));
    }

    /// Asks once. A join's token is kept, and each place until an answer ends it.
    pub async fn ask(&mut self, call: Call) -> Heard {
        self.connection.ready().await;
        let stage = Arc::clone(&self.stage);
        let _asking = stage.asking.read().await;
        let under_way = self.stage.record.request(self.line(call));
        if call == Call::Join {
            self.stage.present.lock().insert((self.visitor, self.key, None));
        }
        let token = self.token.as_ref().map(|token| token.text.clone());
        let heard = self.send(call, token.as_deref()).await;
        under_way.hears(&heard);
        let mut counts = stage.counts();
        counts.refused(&heard);
        if call == Call::Join {
            counts.joined(&heard);
        }
        drop(counts);
        self.learns(call, &heard);
        heard
    }

    /// Keeps what an answer shows of the place.
    pub(super) fn learns(&mut self, call: Call, heard: &Heard) {
        let stage = Arc::clone(&self.stage);
        let place = (self.visitor, self.key, self.token.clone().filter(|_| call != Call::Join));
        let mut present = stage.present.lock();
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
        drop(present);
        if let Shown::Waiting { position: Some(position) } = heard.shown {
            self.has_position(position);
        }
    }

    /// Sends a call with any token, which no record knows of.
    pub async fn send(&mut self, call: Call, token: Option<&str>) -> Heard {
        let request = self.request(call, token);
        heard(call, &self.exchange(call.into(), request).await)
    }

    /// Reads the board, which is the same for all visitors: so no record knows of it. Returns its
    /// status and body, if there is an answer.
    pub async fn board(&mut self) -> Option<(u16, Bytes)> {
        let stage = Arc::clone(&self.stage);
        let _asking = stage.asking.read().await;
        let request = complete(self.begun("GET", &self.of_queue("board")), Bytes::new());
        let answer = self.exchange(Kind::Board, request).await;
        if answer.as_ref().is_ok_and(|answer| answer.status != StatusCode::OK) {
            stage.counts().refused(&heard(Call::Place, &answer));
        }
        answer.ok().map(|answer| (answer.status.as_u16(), answer.body))
    }

    async fn exchange(&mut self, kind: Kind, request: Outgoing) -> Result<Answer, Fault> {
        self.connection.ready().await;
        let sent = Instant::now();
        let answer = self.connection.send(request, self.stage.args.patience).await;
        self.count(kind, sent, &answer);
        answer
    }

    /// Counts a request that was sent then, and its answer.
    pub(super) fn count(&self, kind: Kind, sent: Instant, answer: &Result<Answer, Fault>) {
        let status = answer.as_ref().ok().map(|answer| answer.status.as_u16());
        let refused = status.filter(|status| *status >= 400).map(|_| Fault::Status);
        let fault = answer.as_ref().err().copied().or(refused);
        let mut counts = self.stage.counts();
        counts.note(kind);
        counts.room.add(self.stage.elapsed(), sent, status, fault);
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
        let request = match (call, &self.stage.args.gate) {
            (Call::Authorize, Some(gate)) => self.begun(method, gate),
            _ => self.begun(method, &self.of_queue(path)),
        };
        let (request, body) = match (call, token) {
            (Call::Join, _) => {
                let request = request.header("content-type", "application/json");
                let key = format!("{:032x}", self.key);
                (request.header("idempotency-key", key), Bytes::from_static(b"{}"))
            }
            (Call::Place, Some(token)) => (self.with_position(request, token), Bytes::new()),
            (_, Some(token)) => (request.header("x-anteroom-token", token), Bytes::new()),
            (_, None) => (request, Bytes::new()),
        };
        complete(request, body)
    }

    /// A request for the own place as an event stream.
    pub(super) fn stream_request(&self) -> Outgoing {
        let request = self.begun("GET", &self.of_queue("token/events"));
        let token = self.token.as_ref().map_or("", |token| &token.text);
        complete(self.with_position(request, token), Bytes::new())
    }

    /// With a token, and if it is the own one, with the position.
    fn with_position(&self, request: Builder, token: &str) -> Builder {
        let request = request.header("x-anteroom-token", token);
        let is_own = self.token.as_ref().is_some_and(|own| own.text == token);
        match self.position().filter(|_| is_own) {
            Some(position) => request.header("x-anteroom-position", position),
            None => request,
        }
    }

    fn of_queue(&self, path: &str) -> String {
        format!("/v1/queues/{}/{path}", self.stage.queue())
    }

    fn begun(&self, method: &str, path: &str) -> Builder {
        let request = self.connection.route().target.request(method, path);
        request.header("x-forwarded-for", address::of(self.visitor).to_string())
    }
}

fn complete(request: Builder, body: Bytes) -> Outgoing {
    let request = request.body(Full::new(body));
    request.expect("a path that was parsed, numbers and a token are ASCII")
}

/// What an answer shows, or that there was none.
pub(super) fn heard(call: Call, answer: &Result<Answer, Fault>) -> Heard {
    match answer {
        Ok(answer) => {
            let header = |name: &str| answer.headers.get(name).and_then(|it| it.to_str().ok());
            Heard::answer(call, answer.status.as_u16(), header, &answer.body)
        }
        Err(fault) => Heard::nothing(fault),
    }
}
