//! One visitor's calls: each goes out once, and is written down with what came of it.

use std::time::{Duration, Instant};

use anteroom_witness::{Call, Heard, Line, Shown, Token};
use http_body_util::Full;
use hyper::{Method, Request, body::Bytes};

use crate::PATIENCE;

use super::{
    Record,
    doors::{Doors, Out},
};

/// Where calls go and where they are written down.
#[derive(Clone)]
pub struct Scene {
    /// The admissions.
    pub doors: Doors,
    /// The record.
    pub record: Record,
    /// The queue's name.
    pub queue: String,
    /// How long a caller waits for an answer before it gives up.
    pub patience: Duration,
    /// Each caller asks another admission each time.
    pub alternate: bool,
    /// An admission that does not know `x-anteroom-position`: it gets none.
    pub without_position: Option<u8>,
}

impl Scene {
    /// A scene with a new record.
    pub fn new(doors: Doors, queue: &str) -> Self {
        Self {
            doors,
            record: Record::new(),
            queue: queue.to_owned(),
            patience: PATIENCE,
            alternate: false,
            without_position: None,
        }
    }
}

/// A visitor who calls. A clone is a second tab: the same identity with the same token.
#[derive(Clone)]
pub struct Caller {
    scene: Scene,
    /// The visitor's number.
    pub visitor: u32,
    /// Whose place it is; the Idempotency-Key is made of it.
    pub identity: u32,
    /// The token of the last join.
    pub token: Option<Token>,
    /// Whom it asks.
    pub door: u8,
    /// The best position so far, and the ticket that it belongs to.
    best: Option<(u64, u64)>,
}

impl Caller {
    /// A visitor who is an identity of its own.
    pub fn new(scene: &Scene, visitor: u32) -> Self {
        let door = u8::try_from(visitor % u32::from(scene.doors.count())).unwrap_or(0);
        Self { scene: scene.clone(), visitor, identity: visitor, token: None, door, best: None }
    }

    /// Asks once. A join's token is kept; a caller without an answer turns to the next door.
    pub async fn ask(&mut self, call: Call) -> Heard {
        let holds = self.token.as_ref().map(|token| token.place);
        let of_this = |best: &(u64, u64)| holds.is_some_and(|holds| holds.ticket == best.0);
        let best = self.best.filter(of_this).map(|(_, position)| position);
        let is_known = self.scene.without_position != Some(self.door);
        let position = best.filter(|_| call == Call::Place && is_known);
        let request = self.request(call, position);
        let record = &self.scene.record;
        let line = Line::sent(self.visitor, self.identity, call, record.now(), holds);
        let recorded = record.request(Line { door: self.door, position, ..line });
        let answer = self.scene.doors.send(self.door, request, self.scene.patience).await;
        let heard = match answer {
            Ok((status, headers, body)) => {
                let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
                Heard::answer(call, status.as_u16(), header, &body)
            }
            Err(error) => Heard::nothing(error),
        };
        recorded.hears(&heard);
        if let Some(token) = &heard.token {
            self.token = Some(token.clone());
        }
        if let (Shown::Waiting { position: Some(now) }, Some(ticket)) = (&heard.shown, heard.ticket)
        {
            let before = self.best.filter(|best| best.0 == ticket).map_or(*now, |best| best.1);
            self.best = Some((ticket, before.min(*now)));
        }
        if heard.shown == Shown::Nothing || self.scene.alternate {
            self.turn_to_the_next_door();
        }
        heard
    }

    /// Asks again and again until an answer is such.
    ///
    /// # Panics
    /// When it is not, for long.
    pub async fn ask_until(&mut self, call: Call, is: impl Fn(&Shown) -> bool) -> Shown {
        let end = Instant::now() + 2 * PATIENCE;
        loop {
            let heard = self.ask(call).await;
            if is(&heard.shown) {
                return heard.shown;
            }
            let visitor = self.visitor;
            assert!(Instant::now() < end, "visitor {visitor} asks {call:?}, last heard {heard:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// From now on it asks another admission, if there is one.
    pub fn turn_to_the_next_door(&mut self) {
        self.door = (self.door + 1) % self.scene.doors.count();
    }

    fn request(&self, call: Call, position: Option<u64>) -> Out {
        let (method, path) = match call {
            Call::Join => (Method::POST, "tokens"),
            Call::Place => (Method::GET, "token"),
            Call::Claim => (Method::POST, "token/claim"),
            Call::Authorize => (Method::GET, "authorize"),
            Call::Renew => (Method::POST, "token/renew"),
            Call::Leave => (Method::DELETE, "token"),
        };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/v1/queues/{}/{path}", self.scene.queue))
            .header("host", "room.test");
        if call == Call::Join {
            request = request
                .header("content-type", "application/json")
                .header("idempotency-key", format!("a-secret-of-the-visitor-{}", self.identity));
        } else if let Some(token) = &self.token {
            request = request.header("x-anteroom-token", &token.text);
        }
        if let Some(position) = position {
            request = request.header("x-anteroom-position", position);
        }
        let body = if call == Call::Join { Bytes::from_static(b"{}") } else { Bytes::new() };
        request.body(Full::new(body)).expect("a name and ASCII")
    }
}
