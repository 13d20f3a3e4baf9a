//! Who is let in, and what is known of the visit.

use std::time::Duration;

use http::header::{HeaderMap, HeaderValue, SET_COOKIE};
use http::{Response, StatusCode};
use hyper::body::Bytes;
use url::Url;

use crate::anteroom::Anteroom;
use crate::options::GateMode;

const PLACE: &str = "x-anteroom-place";
const EXPIRES_IN: &str = "x-anteroom-expires-in";
const ROOM: &str = "x-anteroom-room";

/// What decides before a visitor chooses a seat.
pub struct Gate {
    mode: GateMode,
    anteroom: Anteroom,
}

/// What the gate says of a visitor who is in.
#[derive(Debug, Default)]
pub struct Visit {
    /// The handle of the place; none where the visit has none.
    pub place: Option<String>,
    /// Until the visit ends, unless it is used again.
    pub expires_in: Option<Duration>,
    /// For the visitor's browser.
    pub cookies: Vec<HeaderValue>,
}

/// What the gate says of a request.
pub enum Verdict {
    Passes(Visit),
    /// Anteroom's own answer, and where it says that the waiting page is.
    Refused(Response<Bytes>, Option<Url>),
    /// There was no answer that a gate gives: no visitor passes.
    Unknown,
}

impl Gate {
    pub fn new(mode: GateMode, anteroom: Anteroom) -> Self {
        Self { mode, anteroom }
    }

    /// May the visitor with these headers pass?
    pub async fn ask(&self, headers: &HeaderMap) -> Verdict {
        match (self.mode, &self.anteroom.authorize) {
            (GateMode::Headers, _) => Verdict::Passes(Visit::of(headers)),
            (GateMode::Ask, Some(url)) => match self.anteroom.authorize(url, headers).await {
                Ok(answer) => judge(answer),
                Err(reason) => {
                    tracing::warn!(reason, "the authorize check does not answer");
                    Verdict::Unknown
                }
            },
            // The command line has an address wherever it says ask.
            (GateMode::Ask, None) => Verdict::Unknown,
            (GateMode::Off, _) => Verdict::Passes(Visit::default()),
        }
    }

    /// The visit is over; whether Anteroom knows.
    pub async fn finish(&self, visit: Visit) -> bool {
        match visit.place {
            Some(place) => self.anteroom.finish(&place).await,
            None => true,
        }
    }
}

/// Exactly 200 passes, 401 and 403 refuse.
fn judge(answer: Response<Bytes>) -> Verdict {
    match answer.status() {
        StatusCode::OK => Verdict::Passes(Visit::of(answer.headers())),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let room = single(answer.headers(), ROOM).and_then(|room| Url::parse(room).ok());
            Verdict::Refused(answer, room)
        }
        status => {
            tracing::warn!(%status, "the authorize check returned an unexpected status");
            Verdict::Unknown
        }
    }
}

impl Visit {
    /// From an answer of the gate, or from a request that a gateway let through.
    fn of(headers: &HeaderMap) -> Self {
        let expires_in = single(headers, EXPIRES_IN).and_then(|seconds| seconds.parse().ok());
        Self {
            place: single(headers, PLACE).map(str::to_owned),
            expires_in: expires_in.map(Duration::from_secs),
            cookies: headers.get_all(SET_COOKIE).iter().cloned().collect(),
        }
    }
}

/// The value of a header that is there once and is not blank.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), HeaderValue::from_static(value))
        });
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn a_header_that_is_blank_or_there_twice_does_not_count() {
        let visit = |pairs: &[_]| Visit::of(&headers(pairs));
        let known = visit(&[(PLACE, "handle"), (EXPIRES_IN, "58")]);
        assert_eq!(known.place.as_deref(), Some("handle"));
        assert_eq!(known.expires_in, Some(Duration::from_secs(58)));
        for pairs in [&[][..], &[(PLACE, "")], &[(PLACE, "a"), (PLACE, "b")]] {
            assert_eq!(visit(pairs).place, None, "{pairs:?}");
        }
        assert_eq!(visit(&[(EXPIRES_IN, "soon")]).expires_in, None);
    }

    #[test]
    fn exactly_200_passes_and_401_and_403_refuse() {
        for status in 200..600 {
            let mut answer = Response::new(Bytes::new());
            *answer.status_mut() = StatusCode::from_u16(status).expect("a status");
            let verdict = judge(answer);
            assert_eq!(matches!(verdict, Verdict::Passes(_)), status == 200, "{status}");
            let refuses = status == 401 || status == 403;
            assert_eq!(matches!(verdict, Verdict::Refused(..)), refuses, "{status}");
        }
    }
}
