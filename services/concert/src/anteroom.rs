//! Anteroom as a service without a gateway talks to it: may this visitor pass, and this visit is
//! over.

use std::time::Duration;

use http::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;
use url::Url;

/// Where a visitor's token may stand.
const TOKEN: [HeaderName; 3] = [HeaderName::from_static("x-anteroom-token"), COOKIE, AUTHORIZATION];
/// Of one try: above the second that admission itself gives to the store.
const PATIENCE: Duration = Duration::from_secs(2);
/// A connection may have broken unseen, and a second request is harmless.
const TRIES: usize = 2;
/// Below the 75 s after which admission closes an idle connection.
const IDLE: Duration = Duration::from_secs(60);
/// Longest answer that is read.
const MAX_ANSWER: usize = 64 << 10;

/// One queue of an Anteroom.
pub struct Anteroom {
    client: Client<HttpConnector, Empty<Bytes>>,
    /// The gate; none where a gateway calls it.
    pub authorize: Option<Url>,
    /// Where visits end; none where they last until their time is over.
    places: Option<Url>,
    key: Option<HeaderValue>,
}

impl Anteroom {
    /// `public` and `service` are the addresses of its two ports, `key` that of the service port.
    pub fn new(
        queue: &str,
        public: Option<&Url>,
        service: Option<&Url>,
        key: Option<HeaderValue>,
    ) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build_http();
        let below = |base: &Url, last: &str| {
            let mut url = base.clone();
            url.set_path(&format!("/v1/queues/{queue}/{last}"));
            url
        };
        let authorize = public.map(|url| below(url, "authorize"));
        let places = service.map(|url| below(url, "places"));
        Self { client, authorize, places, key }
    }

    /// Asks the gate about a visitor's request. It decides by the token alone; where the visitor
    /// wants to go is for the shop to say, which has an address of its own.
    ///
    /// # Errors
    ///
    /// There is no answer, in a word for the log.
    pub async fn authorize(
        &self,
        url: &Url,
        visitor: &HeaderMap,
    ) -> Result<Response<Bytes>, String> {
        let mut headers = HeaderMap::new();
        for name in TOKEN {
            for value in visitor.get_all(&name) {
                headers.append(name.clone(), value.clone());
            }
        }
        self.call(Method::GET, url, headers).await
    }

    /// Ends a visit, by the handle of its place; the slot goes to the next in line. Returns whether
    /// that was done: what fails is logged, and the visit then ends when its time is over.
    pub async fn finish(&self, place: &str) -> bool {
        let Some(mut url) = self.places.clone() else { return true };
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(place);
        }
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, key.clone());
        }
        let reason = match self.call(Method::DELETE, &url, headers).await {
            Ok(answer) if answer.status() == StatusCode::NO_CONTENT => return true,
            Ok(answer) => {
                format!("{}: {}", answer.status(), String::from_utf8_lossy(answer.body()))
            }
            Err(error) => error,
        };
        tracing::warn!(reason, "a visit could not be ended");
        false
    }

    /// The answer of the last try; earlier ones got none, or one that says to try again.
    async fn call(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
    ) -> Result<Response<Bytes>, String> {
        let mut request = Request::new(Empty::new());
        *request.method_mut() = method;
        *request.uri_mut() = url.as_str().parse().map_err(|_| "no address".to_owned())?;
        *request.headers_mut() = headers;
        let mut last = Err(String::new());
        for _ in 0..TRIES {
            last = self.exchange(request.clone()).await;
            if last.as_ref().is_ok_and(|answer| !answer.status().is_server_error()) {
                break;
            }
        }
        last
    }

    async fn exchange(&self, request: Request<Empty<Bytes>>) -> Result<Response<Bytes>, String> {
        let exchange = async {
            let answer = self.client.request(request).await.map_err(|error| error.to_string())?;
            let (parts, body) = answer.into_parts();
            let body = Limited::new(body, MAX_ANSWER).collect().await;
            let body = body.map_err(|error| error.to_string())?.to_bytes();
            Ok(Response::from_parts(parts, body))
        };
        timeout(PATIENCE, exchange).await.unwrap_or(Err("no answer in time".to_owned()))
    }
}
