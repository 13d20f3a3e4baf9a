//! Issuing by a webhook: one POST for each attempt, to a receiver that decides.
//!
//! ```text
//! POST /issue HTTP/1.1
//! content-type: application/json
//! idempotency-key: nZNsuLLHKzbLqVN0DlvvvQ
//! x-anteroom-attempt: 1
//! x-anteroom-signature: t=1795381200,v1=5257a869…
//!
//! {"event":"coupon","visitor_id":"ann","sequence":17,"idempotency_key":"nZNsuLLHKzb…"}
//! ```
//!
//! The key stands in the body as well, which is signed. Both are the same in all attempts: whoever
//! has done what they ask for answers 200 again, or 409. The status alone decides, by [`Answer`];
//! of the body at most [`MOST_OF_A_BODY`] is read, and nothing of it is believed. Redirects are not
//! followed, proxies of the environment are not used, and the time-out holds from the connection to
//! the last byte.

mod answer;
mod own_thread;
mod resolver;
pub mod signature;

use std::{error::Error as _, io, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use jiff::Timestamp;
use reqwest::{Client, RequestBuilder, Response, redirect::Policy};
use secrecy::SecretString;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

pub use answer::{Answer, Failure};
use anteroom_runtime::config::Endpoint;
use own_thread::OwnThread;
use resolver::Resolver;

/// So much of an answer is read, so that its connection can be used again.
pub const MOST_OF_A_BODY: usize = 64 * 1024;
/// How long an idle connection is kept; a name may lead elsewhere by then.
const IDLE: Duration = Duration::from_secs(30);
/// What the error of a time-out says.
const TOO_LATE: &str = "no answer in time";
/// How long behind its time-out a call is given up from outside, whatever keeps its thread busy.
const LATE: Duration = Duration::from_millis(500);
/// What an error says at most, in bytes: it stands in the store.
const LONGEST_ERROR: usize = 200;

/// One application, as its receiver sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Application<'a> {
    /// The event.
    pub event: &'a str,
    /// Who applied.
    pub visitor_id: &'a str,
    /// Its number in the order of applications.
    pub sequence: u64,
}

impl Application<'_> {
    /// What names it in all its attempts: 16 bytes of SHA-256 over event and visitor, of whom there
    /// is one application for ever. The event is a name, which holds no zero.
    pub fn idempotency_key(&self) -> String {
        let digest = Sha256::new()
            .chain_update("issue\0")
            .chain_update(self.event)
            .chain_update("\0")
            .chain_update(self.visitor_id)
            .finalize();
        URL_SAFE_NO_PAD.encode(&digest[..16])
    }
}

/// What is sent, and signed.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    application: &'a Application<'a>,
    idempotency_key: &'a str,
}

/// A receiver and the way to it.
#[derive(Clone, Debug)]
pub struct Webhook {
    client: Client,
    thread: Arc<OwnThread>,
    endpoint: Endpoint,
    timeout: Duration,
    secrets: Vec<SecretString>,
}

impl Webhook {
    /// A client for one receiver. Each of `secrets` signs.
    ///
    /// # Errors
    ///
    /// When TLS cannot be set up, as on a machine without certificates of authorities, or there is
    /// no thread for it.
    pub fn new(
        endpoint: Endpoint,
        timeout: Duration,
        secrets: Vec<SecretString>,
    ) -> io::Result<Self> {
        let client = Client::builder()
            .user_agent(concat!("anteroom-issuer/", env!("CARGO_PKG_VERSION")))
            .timeout(timeout)
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .http1_only()
            .tcp_nodelay(true)
            .pool_idle_timeout(IDLE)
            .dns_resolver(Arc::new(Resolver(endpoint.guard)))
            .build()
            .map_err(io::Error::other)?;
        let thread = Arc::new(OwnThread::start()?);
        Ok(Self { client, thread, endpoint, timeout, secrets })
    }

    /// Asks the receiver to issue. `attempt` is the number of this try, from 1.
    pub async fn issue(&self, application: &Application<'_>, attempt: u32) -> Answer {
        let key = application.idempotency_key();
        let body = Body { application, idempotency_key: &key };
        let body = serde_json::to_vec(&body).expect("texts and numbers are JSON");
        let now = Timestamp::now();
        let mut request = self
            .client
            .post(self.endpoint.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("idempotency-key", key)
            .header("x-anteroom-attempt", attempt);
        // The clock of a machine that stands before 1970 is no clock.
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        if let Some(signature) = signature::sign(&self.secrets, seconds, &body) {
            request = request.header(signature::HEADER, signature);
        }
        let call = call(request.body(body), now);
        let answered = self.thread.run(self.timeout + LATE, call).await;
        answered.unwrap_or_else(|| failed(Failure::TimedOut, TOO_LATE))
    }
}

async fn call(request: RequestBuilder, now: Timestamp) -> Answer {
    match request.send().await {
        Ok(response) => {
            let asked = response.headers().get(RETRY_AFTER);
            let asked = asked.and_then(|value| value.to_str().ok());
            let asked = asked.and_then(|value| answer::retry_after(value, now));
            let answer = Answer::of(response.status(), asked);
            drain(response).await;
            answer
        }
        Err(error) => failed(failure(&error), told(&error)),
    }
}

fn failed(failure: Failure, error: impl Into<String>) -> Answer {
    Answer::Failed { failure, error: error.into(), retry_after: None }
}

/// Reads the rest of an answer, as far as it is worth it.
async fn drain(mut response: Response) {
    let mut left = MOST_OF_A_BODY;
    while let Ok(Some(chunk)) = response.chunk().await {
        match left.checked_sub(chunk.len()) {
            Some(rest) => left = rest,
            // Dropped, and so is its connection.
            None => return,
        }
    }
}

fn failure(error: &reqwest::Error) -> Failure {
    if error.is_timeout() {
        Failure::TimedOut
    } else if error.is_connect() {
        Failure::Unreachable
    } else {
        Failure::BrokeOff
    }
}

/// What happened, without the address, whose query may hold a secret.
fn told(error: &reqwest::Error) -> String {
    let what = match failure(error) {
        Failure::TimedOut => return TOO_LATE.to_owned(),
        Failure::Unreachable => "cannot connect",
        _ => "the answer broke off",
    };
    let mut cause = error.source();
    let mut told = what.to_owned();
    while let Some(error) = cause {
        cause = error.source();
        // The last one says what happened, those before it where.
        if cause.is_none() {
            told = format!("{what}: {error}");
        }
    }
    let most = (0..=told.len().min(LONGEST_ERROR)).rev().find(|at| told.is_char_boundary(*at));
    told.truncate(most.unwrap_or_default());
    told
}

#[cfg(test)]
mod tests {
    use anteroom_runtime::config::EndpointError;
    use tokio::{net::TcpListener, time::timeout};

    use super::*;

    /// `localhost` stands for a name that leads to a private address: the rule of the address that
    /// names this machine itself does not hold for it here.
    #[tokio::test]
    async fn nothing_is_sent_to_a_name_that_leads_to_a_private_address() {
        let listener = TcpListener::bind(("localhost", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let url = format!("https://localhost:{port}/");
        let own = Endpoint::parse(&url, false).expect("an address");
        let guard = Endpoint::parse("https://shop.example/", false).expect("an address").guard;
        let endpoint = Endpoint { guard, ..own };
        let webhook = Webhook::new(endpoint, Duration::from_secs(60), Vec::new()).expect("TLS");
        let ann = Application { event: "coupon", visitor_id: "ann", sequence: 1 };
        let answer = webhook.issue(&ann, 1).await;
        assert_eq!(answer.name(), "unreachable");
        let Answer::Failed { error, .. } = answer else { panic!("it was answered") };
        assert_eq!(error, format!("cannot connect: {}", EndpointError::Private));
        let taken = timeout(Duration::ZERO, listener.accept()).await;
        assert!(taken.is_err(), "a connection was made");
    }

    #[test]
    fn an_application_has_one_key_and_one_body() {
        let ann = Application { event: "coupon", visitor_id: "ann \"1\"", sequence: 17 };
        assert_eq!(ann.idempotency_key(), ann.idempotency_key());
        assert_eq!(ann.idempotency_key().len(), 22);
        let again = Application { sequence: 18, ..ann };
        assert_eq!(ann.idempotency_key(), again.idempotency_key(), "one for ever");
        for other in
            [Application { event: "coupons", ..ann }, Application { visitor_id: "ann", ..ann }]
        {
            assert_ne!(ann.idempotency_key(), other.idempotency_key());
        }
        assert_eq!(
            serde_json::to_string(&ann).expect("it is JSON"),
            r#"{"event":"coupon","visitor_id":"ann \"1\"","sequence":17}"#
        );
    }
}
