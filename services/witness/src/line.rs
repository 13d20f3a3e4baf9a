//! A line of the record: one request and its answer as seen from outside.

use serde::{Deserialize, Serialize};

use crate::{Heard, Token};

/// What was requested. A call of a backend or an operator that ends a place, or may do so, is
/// recorded as a leave of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the operations of the queue")]
pub enum Call {
    Join,
    Place,
    Claim,
    Authorize,
    Renew,
    Leave,
}

/// The place that a token names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Held {
    /// The life of the queue.
    pub epoch: u64,
    /// The place's number.
    pub ticket: u64,
}

/// What an answer says of the place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Nothing: no answer, or one that says nothing of the place.
    Nothing,
    /// In line; at the gate without a position.
    Waiting {
        /// 1 = next.
        position: Option<u64>,
    },
    /// Its turn has come and is held this long.
    Ready {
        /// Rounded up to whole milliseconds.
        left_ms: u64,
    },
    /// Its session lasts this long.
    Active {
        /// Rounded up to whole milliseconds; at the gate down to whole seconds.
        left_ms: u64,
    },
    /// The place is over.
    Gone {
        /// Why; where the token is denied, the code.
        reason: String,
    },
}

/// One request and what came of it. Times are microseconds of the record's own clock, which is
/// monotonic.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The visitor's number.
    pub visitor: u32,
    /// Whose place it is: two visitors of one identity share it.
    pub identity: u32,
    /// What was requested.
    pub call: Call,
    /// Which process got the request.
    pub door: u8,
    /// When the request was sent, or a moment before.
    pub sent: u64,
    /// When the answer was there, or waiting for it was given up.
    pub received: u64,
    /// The place of the token that went with the request.
    pub holds: Option<Held>,
    /// The best position so far of that place, if it went with the request. On an event stream: the
    /// position before this event.
    pub position: Option<u64>,
    /// Absent when no whole answer came.
    pub status: Option<u16>,
    /// The code of a refusal, or what became of the connection.
    pub code: String,
    /// The ticket that the answer names.
    pub ticket: Option<u64>,
    /// What the answer says of the place.
    pub shown: Shown,
    /// The place of the token that came with the answer.
    pub given: Option<Held>,
    /// A fingerprint of that token.
    pub token: Option<u64>,
}

impl Line {
    /// A request that goes out at `sent` with the token of this place, of which nothing is heard
    /// yet.
    pub fn sent(visitor: u32, identity: u32, call: Call, sent: u64, holds: Option<Held>) -> Self {
        Self {
            visitor,
            identity,
            call,
            door: 0,
            sent,
            received: sent,
            holds,
            position: None,
            status: None,
            code: "cut short".to_owned(),
            ticket: None,
            shown: Shown::Nothing,
            given: None,
            token: None,
        }
    }

    /// Adds what was heard, at `received`.
    #[must_use]
    pub fn heard(self, heard: &Heard, received: u64) -> Self {
        Self {
            received,
            status: heard.status,
            code: heard.code.clone(),
            ticket: heard.ticket,
            shown: heard.shown.clone(),
            given: heard.token.as_ref().map(|token| token.place),
            token: heard.token.as_ref().map(Token::fingerprint),
            ..self
        }
    }

    /// The place that the answer is about.
    pub fn place(&self) -> Option<Held> {
        self.given.or(self.holds)
    }
}
