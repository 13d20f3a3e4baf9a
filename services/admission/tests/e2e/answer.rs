//! One answer of admission, held to what every answer must be.

use reqwest::header::HeaderMap;
use serde_json::Value;

/// An answer, read whole.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    /// Reads an answer of the public or the service port and checks what all of them have in
    /// common; the answer to a HEAD has no body.
    pub async fn of(response: reqwest::Response, is_head: bool) -> Self {
        let is_board = response.url().path().ends_with("/board");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("a body");
        let answer = Self { status, headers, text };
        // Files of the waiting page are sandboxed; they and the board alone may be kept.
        let is_file = answer.header("content-security-policy") == "default-src 'none'; sandbox";
        let kept = match status {
            _ if is_file => "public, max-age=31536000, immutable",
            200 | 304 if is_board => "public, max-age=1, stale-while-revalidate=5",
            _ => "no-store",
        };
        assert_eq!(answer.header("cache-control"), kept, "{:?}", answer.headers);
        assert!(!answer.header("x-request-id").is_empty(), "{answer:?}");
        if is_head {
            assert_eq!(answer.text, "");
        } else if status == 429 && answer.header("content-type") == "application/json" {
            answer.check_decision();
        } else if status >= 400 && !answer.header("content-type").starts_with("text/html") {
            answer.check_problem();
        }
        answer
    }

    /// A header as text; empty when it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("ASCII"))
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The stable code of a refusal; empty when it is none.
    pub fn code(&self) -> String {
        let json: Value = serde_json::from_str(&self.text).unwrap_or_default();
        json["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Checks status and code of a refusal.
    #[track_caller]
    pub fn refuses(&self, status: u16, code: &str) -> &Self {
        assert_eq!((self.status, &*self.code()), (status, code), "{self:?}");
        self
    }

    /// Checks the status.
    #[track_caller]
    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Checks that the body is a place in this status, and that its numbers agree.
    #[track_caller]
    pub fn place(&self, status: &str) -> Value {
        let place = self.json();
        assert_eq!(place["status"], status, "{self:?}");
        let number = |name: &str| place[name].as_u64().unwrap_or_else(|| panic!("{name}: {place}"));
        assert!(number("ticket") >= 1, "{place}");
        let poll_after_ms = number("poll_after_ms");
        assert!((1_000..=20_000).contains(&poll_after_ms), "{place}");
        assert_eq!(self.header("retry-after"), poll_after_ms.div_ceil(1_000).to_string());
        if status == "waiting" {
            assert_eq!(number("ahead") + 1, number("position"), "{place}");
            assert!(place["expires_in_ms"].is_null(), "{place}");
            // The rules alone, before the first tick, say nothing of slow times.
            if !place["eta_p90_ms"].is_null() {
                assert!(number("eta_p90_ms") >= number("eta_ms"), "{place}");
            }
        } else {
            assert_eq!((number("ahead"), number("position")), (0, 0), "{place}");
            assert!(place["eta_ms"].is_null() && place["eta_p90_ms"].is_null(), "{place}");
            assert!(number("expires_in_ms") > 0, "{place}");
        }
        place
    }

    /// The token in the body of a join.
    #[track_caller]
    pub fn token(&self) -> String {
        let token = self.json()["token"].as_str().map(str::to_owned);
        let token = token.unwrap_or_else(|| panic!("no token: {self:?}"));
        assert!(token.starts_with("art1."), "{token}");
        token
    }

    /// That there are no units left of a limit is no problem, but a decision.
    fn check_decision(&self) {
        let body = self.json();
        assert_eq!(body["allowed"], false, "{body}");
        let retry_after = body["retry_after_ms"].as_u64().expect("a time");
        assert!(retry_after > 0, "{body}");
        assert_eq!(self.header("retry-after"), retry_after.div_ceil(1_000).to_string());
    }

    fn check_problem(&self) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let body = self.json();
        assert_eq!(body["status"], self.status, "{body}");
        let code = body["code"].as_str().expect("a code");
        assert_eq!(body["type"], format!("urn:anteroom:problem:{code}"));
        assert!(body["title"].as_str().is_some_and(|title| !title.is_empty()), "{body}");
        let retry_after = body["retry_after_ms"].as_u64();
        let seconds = retry_after.map(|ms| ms.div_ceil(1_000).max(1).to_string());
        assert_eq!(self.header("retry-after"), seconds.unwrap_or_default(), "{body}");
        if self.status == 401 {
            assert_eq!(self.header("www-authenticate"), "Bearer realm=\"anteroom\"");
        }
    }
}
