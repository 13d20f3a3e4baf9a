//! Reads an answer of the public port as the witness understands it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;

use crate::{Call, Held, Shown};

/// A token as visitors hold it, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    /// As it travels.
    pub text: String,
    /// The place that it names.
    pub place: Held,
}

impl Token {
    /// Reads `art1.` and base64url of key id (4 bytes), queue (a length byte, then the name), epoch
    /// (8), place id (14), ticket (8) and more.
    pub fn read(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix("art1.")?).ok()?;
        let place = bytes.get(5 + usize::from(*bytes.get(4)?)..)?;
        let number = |at: usize| Some(u64::from_be_bytes(place.get(at..at + 8)?.try_into().ok()?));
        let place = Held { epoch: number(0)?, ticket: number(22)? };
        Some(Self { text: text.to_owned(), place })
    }

    /// Distinguishes tokens without showing them.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        hasher.finish()
    }
}

/// What was heard of one request: the part of a [`Line`](crate::Line) that comes from the answer.
#[derive(Debug)]
pub struct Heard {
    /// Absent when no whole answer came.
    pub status: Option<u16>,
    /// The code of a refusal, or what became of the connection.
    pub code: String,
    /// The ticket that the answer names.
    pub ticket: Option<u64>,
    /// What it says of the place.
    pub shown: Shown,
    /// The token in the body of a join.
    pub token: Option<Token>,
    /// When to look again.
    pub poll_after_ms: Option<u64>,
    /// While the head of the line has a smaller ticket, the board is enough.
    pub board_until_ticket: Option<u64>,
}

impl Heard {
    /// No whole answer came.
    pub fn nothing(why: impl ToString) -> Self {
        Self {
            status: None,
            code: why.to_string(),
            ticket: None,
            shown: Shown::Nothing,
            token: None,
            poll_after_ms: None,
            board_until_ticket: None,
        }
    }

    /// Reads an answer; `header` looks a header up.
    pub fn answer<'a>(
        call: Call,
        status: u16,
        header: impl Fn(&str) -> Option<&'a str>,
        body: &[u8],
    ) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let mut heard = Self { status: Some(status), code: text("code"), ..Self::nothing("") };
        let retry_after = || Some(1_000 * header("retry-after")?.parse::<u64>().ok()?);
        heard.poll_after_ms = body["poll_after_ms"].as_u64();
        heard.poll_after_ms =
            heard.poll_after_ms.or(body["retry_after_ms"].as_u64()).or_else(retry_after);
        heard.board_until_ticket = body["board_until_ticket"].as_u64();
        heard.shown = match (call, status, heard.code.as_str()) {
            (Call::Authorize, 200, _) => {
                let number = |name| header(name).and_then(|value| value.parse::<u64>().ok());
                heard.ticket = number("x-anteroom-visitor");
                match number("x-anteroom-expires-in") {
                    Some(left) => Shown::Active { left_ms: 1_000 * left },
                    // A pass without a place or without an end proves nothing.
                    None => Shown::Nothing,
                }
            }
            (Call::Leave, 204, _) => Shown::Gone { reason: "left".to_owned() },
            (_, 200 | 201, _) => {
                heard.ticket = body["ticket"].as_u64();
                heard.token = Token::read(&text("token"));
                standing(&body)
            }
            (_, 409, "not_ready") | (Call::Authorize, 403, "not_admitted") => {
                Shown::Waiting { position: None }
            }
            (_, 410, _) | (Call::Authorize, 403, "place_gone") => {
                Shown::Gone { reason: text("reason") }
            }
            // The token is none of the room's, or there is no such room. A join shows none.
            (Call::Join, ..) => Shown::Nothing,
            (_, 401 | 404, "") => Shown::Gone { reason: format!("status {status}") },
            (_, 401 | 404, code) => Shown::Gone { reason: code.to_owned() },
            _ => Shown::Nothing,
        };
        heard
    }
}

/// The status of a *place*.
fn standing(body: &Value) -> Shown {
    let left_ms = body["expires_in_ms"].as_u64().unwrap_or(0);
    match body["status"].as_str() {
        Some("waiting") => Shown::Waiting { position: body["position"].as_u64() },
        Some("ready") => Shown::Ready { left_ms },
        Some("active") => Shown::Active { left_ms },
        _ => Shown::Nothing,
    }
}
