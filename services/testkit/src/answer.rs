//! One answer over HTTP, as a client that follows nothing gets it.

use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, StatusCode, redirect::Policy};
use serde_json::Value;

/// A client that follows no redirect and keeps no cookies.
///
/// # Panics
///
/// If there is no TLS library to use.
pub fn client() -> Client {
    Client::builder().redirect(Policy::none()).no_proxy().build().expect("a client")
}

/// An answer, read whole.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub text: String,
}

impl Answer {
    /// Sends a request and reads the answer.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub async fn of(request: RequestBuilder) -> Self {
        let answer = request.send().await.expect("an answer");
        let (status, headers) = (answer.status(), answer.headers().clone());
        Self { status, headers, text: answer.text().await.expect("a body") }
    }

    /// Checks the status.
    ///
    /// # Panics
    ///
    /// If it is another one.
    #[track_caller]
    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Checks that it is a problem of this code, in full.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[track_caller]
    pub fn refuses(&self, status: u16, code: &str) -> &Self {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let body = self.is(status).json();
        assert_eq!((&body["status"], &body["code"]), (&status.into(), &code.into()), "{body}");
        assert!(body["title"].as_str().is_some_and(|title| !title.is_empty()), "{body}");
        self
    }

    /// A header as text; empty when it is absent.
    ///
    /// # Panics
    ///
    /// If it is there twice, or is not ASCII.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next();
        assert!(values.next().is_none(), "{name} is there twice: {self:?}");
        value.map_or("", |value| value.to_str().expect("ASCII"))
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
