//! The headers that we own at the gate, and the answer that lets a visitor pass.

use std::time::Duration;

use anteroom_core::queue::Token;
use bytes::Bytes;
use http::Response;
use http::header::{HeaderMap, HeaderName, HeaderValue, SET_COOKIE};

use crate::queue::metrics::GateAnswer;

const VISITOR: HeaderName = HeaderName::from_static("x-anteroom-visitor");
const KIND: HeaderName = HeaderName::from_static("x-anteroom-visitor-kind");
const PLACE: HeaderName = HeaderName::from_static("x-anteroom-place");
const EXPIRES_IN: HeaderName = HeaderName::from_static("x-anteroom-expires-in");
/// The address of the waiting page.
pub const ROOM: HeaderName = HeaderName::from_static("x-anteroom-room");
/// The code of the refusal: NGINX drops its body, and has only headers to answer from.
pub const REFUSAL: HeaderName = HeaderName::from_static("x-anteroom-refusal");
/// All headers that Anteroom sets at the gate.
pub const OWN_HEADERS: [HeaderName; 6] = [VISITOR, KIND, PLACE, EXPIRES_IN, ROOM, REFUSAL];
/// Nothing to say.
pub const BLANK: HeaderValue = HeaderValue::from_static("");

/// Who passes, and by which rule.
#[derive(Debug)]
pub struct Pass {
    /// The rule.
    pub by: GateAnswer,
    visitor: HeaderValue,
    /// A ticket and a visitor_id may look alike.
    kind: HeaderValue,
    place: HeaderValue,
    expires_in: HeaderValue,
    /// The token of a place that a join has just given.
    pub cookie: Option<HeaderValue>,
}

impl Pass {
    pub fn unnamed(by: GateAnswer) -> Self {
        Self { by, visitor: BLANK, kind: BLANK, place: BLANK, expires_in: BLANK, cookie: None }
    }

    pub fn named(by: GateAnswer, token: &Token, expires_in: Option<Duration>) -> Self {
        // One piece of memory holds the texts of all three headers.
        let mut text = token.place.to_handle();
        let place = 0..text.len();
        if let Some(left) = expires_in {
            text.push_str(itoa::Buffer::new().format(left.as_secs()));
        }
        let expires_in = place.end..text.len();
        let kind = match &token.visitor_id {
            Some(id) => {
                text.push_str(id);
                "identified"
            }
            None => {
                text.push_str(itoa::Buffer::new().format(token.place.ticket));
                "anonymous"
            }
        };
        let visitor = expires_in.end..text.len();
        let text = Bytes::from(text);
        // UTF-8 without control characters always fits; a blank one would only lose the name.
        let value = |range| HeaderValue::from_maybe_shared(text.slice(range)).unwrap_or(BLANK);
        Self {
            by,
            visitor: value(visitor),
            kind: HeaderValue::from_static(kind),
            place: value(place),
            expires_in: value(expires_in),
            cookie: None,
        }
    }

    pub fn into_answer(self) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        let headers = response.headers_mut();
        // Ours, and what the shell adds.
        headers.reserve(9);
        headers.insert(VISITOR, self.visitor);
        headers.insert(KIND, self.kind);
        headers.insert(PLACE, self.place);
        headers.insert(EXPIRES_IN, self.expires_in);
        headers.insert(ROOM, BLANK);
        headers.insert(REFUSAL, BLANK);
        if let Some(cookie) = self.cookie {
            headers.append(SET_COOKIE, cookie);
        }
        response
    }
}

/// Says nothing in every header of ours.
pub fn blank(headers: &mut HeaderMap) {
    for name in OWN_HEADERS {
        headers.insert(name, BLANK);
    }
}
