//! A running sample, and those who call it.

use anteroom_testkit::Process;
pub use anteroom_testkit::{Answer, client};
use reqwest::{Client, Method, RequestBuilder};
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

/// What an answer of a sample has beside that of any service.
pub trait Sample {
    /// Checks that it is Anteroom's own refusal, with the headers that it goes with.
    fn refuses_visitor(&self, status: u16, code: &str) -> &Self;
    /// Checks that the waiting room is not available.
    fn is_unavailable(&self);
    /// The cookies that it sets: `name=value`, and the attributes in order.
    fn cookies(&self) -> Vec<String>;
}

impl Sample for Answer {
    #[track_caller]
    fn refuses_visitor(&self, status: u16, code: &str) -> &Self {
        self.refuses(status, code);
        assert_eq!(self.header("x-anteroom-refusal"), code);
        assert_ne!(self.header("x-anteroom-room"), "");
        assert_eq!(self.header("cache-control"), "private, no-store");
        self
    }

    #[track_caller]
    fn is_unavailable(&self) {
        let retry_after = self.is(503).header("retry-after");
        assert_eq!(retry_after, "5", "{self:?}");
        assert_eq!(self.header("cache-control"), "private, no-store");
        assert!(!self.text.contains("Seats"), "{self:?}");
    }

    fn cookies(&self) -> Vec<String> {
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
