//! A running sample, and those who call it.

use anteroom_testkit::Process;
use reqwest::{Client, Method, RequestBuilder, StatusCode, header::HeaderMap, redirect::Policy};
use serde_json::Value;
use tempfile::TempDir;

/// A running sample. It ends with this guard.
pub struct Shop {
    pub process: Process,
    pub url: String,
    client: Client,
    _folder: TempDir,
}

impl Shop {
    pub fn new(process: Process, folder: TempDir, port: &str) -> Self {
        let url = format!("http://127.0.0.1:{port}");
        Self { process, url, client: client(), _folder: folder }
    }

    pub fn call(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.call(Method::GET, path)
    }

    pub fn post(&self, path: &str) -> RequestBuilder {
        self.call(Method::POST, path)
    }
}

/// What a browser sends that opens a page or submits a form.
pub fn navigates(call: RequestBuilder) -> RequestBuilder {
    call.header("accept", "text/html,*/*;q=0.8").header("sec-fetch-mode", "navigate")
}

/// A client that follows no redirect and keeps no cookies.
pub fn client() -> Client {
    Client::builder().redirect(Policy::none()).no_proxy().build().unwrap()
}

/// An answer, read whole.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub async fn of(request: RequestBuilder) -> Self {
        let answer = request.send().await.expect("an answer");
        let (status, headers) = (answer.status(), answer.headers().clone());
        Self { status, headers, text: answer.text().await.expect("a body") }
    }

    /// Checks the status.
    #[track_caller]
    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Checks that it is Anteroom's own refusal, in full.
    #[track_caller]
    pub fn refuses(&self, status: u16, code: &str) -> &Self {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let body = self.is(status).json();
        assert_eq!((&body["status"], &body["code"]), (&status.into(), &code.into()), "{body}");
        assert_eq!(self.header("x-anteroom-refusal"), code);
        assert_ne!(self.header("x-anteroom-room"), "");
        assert_eq!(self.header("cache-control"), "private, no-store");
        self
    }

    /// Checks that the waiting room is not available.
    #[track_caller]
    pub fn is_unavailable(&self) {
        let retry_after = self.is(503).header("retry-after");
        assert_eq!(retry_after, "5", "{self:?}");
        assert!(!self.text.contains("Seats"), "{self:?}");
    }

    /// A header as text; empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("ASCII"))
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The cookies that it sets: `name=value`, and the attributes in order.
    pub fn cookies(&self) -> Vec<String> {
        let lines = self.headers.get_all("set-cookie").iter();
        let mut cookies: Vec<_> = lines.map(|line| sorted(line.to_str().unwrap())).collect();
        cookies.sort_unstable();
        cookies
    }
}

fn sorted(cookie: &str) -> String {
    let mut parts: Vec<_> = cookie.split(';').map(str::trim).collect();
    parts[1..].sort_unstable();
    parts.join("; ")
}
