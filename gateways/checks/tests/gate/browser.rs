//! A browser by hand: the headers that real ones send, a cookie store, and no redirects followed
//! by itself.

use std::collections::BTreeMap;

use anteroom_testkit::{Answer, client};
use http::Method;
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Client, RequestBuilder};

/// The cookie of the tests' queue.
pub const COOKIE_NAME: &str = "__Host-anteroom_concert";

/// What the gate's answers have besides.
pub trait AtGate {
    fn is_problem(&self, status: u16, code: &str);
    fn leads(&self, status: u16) -> &str;
    fn cookies(&self) -> Vec<&str>;
}

impl AtGate for Answer {
    /// Checks the status and, of a problem, its code.
    #[track_caller]
    fn is_problem(&self, status: u16, code: &str) {
        self.refuses(status, code);
        assert_eq!(self.json()["type"], format!("urn:anteroom:problem:{code}"));
        assert_eq!(self.header("cache-control"), "no-store");
        assert!(!self.header("x-request-id").is_empty());
    }

    /// Checks that it leads somewhere, and says where.
    #[track_caller]
    fn leads(&self, status: u16) -> &str {
        assert_eq!(self.is(status).header("cache-control"), "no-store");
        self.header("location")
    }

    /// The cookies that it sets, with all their attributes.
    fn cookies(&self) -> Vec<&str> {
        let cookies = self.headers.get_all(SET_COOKIE).iter();
        cookies.map(|cookie| cookie.to_str().expect("ASCII")).collect()
    }
}

/// One visitor's browser on one site.
pub struct Browser {
    pub client: Client,
    /// Scheme, host and port of the site …
    pub origin: String,
    /// … and where the tests reach it.
    url: String,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    pub fn new(origin: &str, url: &str) -> Self {
        let (origin, url) = (origin.to_owned(), url.to_owned());
        Self { client: client(), origin, url, cookies: BTreeMap::new() }
    }

    /// The token, which no script of a real one could read.
    pub fn token(&self) -> Option<&str> {
        self.cookies.get(COOKIE_NAME).map(String::as_str)
    }

    pub fn set_cookie(&mut self, name: &str, value: &str) {
        self.cookies.insert(name.to_owned(), value.to_owned());
    }

    /// Looks at a page.
    pub async fn navigate(&mut self, path: &str) -> Answer {
        self.open(Method::GET, path).await
    }

    pub async fn open(&mut self, method: Method, path: &str) -> Answer {
        let request = self
            .request(method, path)
            .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-dest", "document")
            .header("sec-fetch-site", "none");
        self.send(request).await
    }

    /// Submits a page's form.
    pub async fn submit(&mut self, path: &str, form: &str) -> Answer {
        let request = self
            .request(Method::POST, path)
            .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-dest", "document")
            .header("sec-fetch-site", "same-origin")
            .header("origin", &self.origin)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form.to_owned());
        self.send(request).await
    }

    /// What a page's script does.
    pub async fn fetch(&mut self, method: Method, path: &str) -> Answer {
        let request = self.script(method, path);
        self.send(request).await
    }

    /// A request as a page's script sends it.
    pub fn script(&self, method: Method, path: &str) -> RequestBuilder {
        let changes = method != Method::GET && method != Method::HEAD;
        let mut request = self
            .request(method, path)
            .header("accept", "*/*")
            .header("sec-fetch-mode", "cors")
            .header("sec-fetch-dest", "empty")
            .header("sec-fetch-site", "same-origin");
        if changes {
            request = request.header("origin", &self.origin);
        }
        request
    }

    /// A request that another site's page makes this browser send, cookies and all.
    pub fn misled(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, path)
            .header("accept", "*/*")
            .header("sec-fetch-site", "cross-site")
            .header("origin", "https://evil.example")
    }

    /// Joins the tests' queue as the page does.
    pub async fn join(&mut self) -> Answer {
        self.fetch(Method::POST, "/v1/queues/concert/tokens").await
    }

    /// The status of the place.
    pub async fn status(&mut self) -> String {
        let place = self.fetch(Method::GET, "/v1/queues/concert/token").await;
        assert_eq!(place.status, 200, "{place:?}");
        place.json()["status"].as_str().expect("a status").to_owned()
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if !self.cookies.is_empty() {
            let cookies: Vec<_> =
                self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.header(COOKIE, cookies.join("; "));
        }
        request
    }

    /// Sends it and keeps the cookies of the answer.
    pub async fn send(&mut self, request: RequestBuilder) -> Answer {
        let answer = Answer::of(request).await;
        for cookie in answer.cookies() {
            let (pair, attributes) = cookie.split_once(';').unwrap_or((cookie, ""));
            let (name, value) = pair.split_once('=').expect("a cookie");
            if attributes.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// The path of where an answer leads, on this same site.
    pub fn path<'a>(&self, answer: &'a Answer) -> &'a str {
        let to = answer.headers[LOCATION].to_str().expect("ASCII");
        to.strip_prefix(&self.origin).unwrap_or_else(|| panic!("leads away: {to}"))
    }
}
