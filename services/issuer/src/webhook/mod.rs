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
//! The body, which is signed, has the key too. Both are the same in all attempts: a receiver that
//! has issued already answers 200, or 409. The status alone decides, see [`Answer`]. Of the body at
//! most [`MOST_OF_A_BODY`] is read, and nothing of it counts. Redirects are not followed, proxies
//! of the environment are not used, and the time-out lasts from the connection to the last byte.

mod answer;
mod resolver;
pub mod signature;

use std::{error, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, Error, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use jiff::Timestamp;
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt as _;
use secrecy::SecretString;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, timeout_at};

pub use answer::{Answer, Failure};
use anteroom_config::{Endpoint, Guard};
use resolver::Resolver;

/// So much of an answer is read, so that its connection can be used again.
pub const MOST_OF_A_BODY: usize = 64 * 1024;
/// A head of an answer has at most so many bytes. hyper reads informational answers (1xx) in one go
/// for as long as there are any, up to 128 buffers of this size: a receiver that sends them without
/// end takes the thread for some milliseconds at a time.
const MOST_OF_A_HEAD: usize = 32 * 1024;
/// How long an idle connection is kept; a name may lead elsewhere by then.
const IDLE: Duration = Duration::from_secs(30);
/// The longest text of an error, in bytes: Redis stores it.
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

type HttpClient = Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>;

/// A receiver and the way to it.
#[derive(Debug)]
pub struct Webhook {
    client: HttpClient,
    uri: Uri,
    timeout: Duration,
    secrets: Vec<SecretString>,
}

impl Webhook {
    /// A client for one receiver. Each of `secrets` signs.
    ///
    /// # Errors
    ///
    /// When TLS cannot be set up, such as on a machine without certificates of authorities.
    pub fn new(
        endpoint: Endpoint,
        timeout: Duration,
        secrets: Vec<SecretString>,
    ) -> Result<Self, Box<dyn error::Error + Send + Sync>> {
        let uri = endpoint.url.as_str().parse()?;
        Ok(Self { client: client(endpoint.guard)?, uri, timeout, secrets })
    }

    /// Asks the receiver to issue. `attempt` is the number of this try, from 1.
    pub async fn issue(&self, application: &Application<'_>, attempt: u32) -> Answer {
        let end = Instant::now() + self.timeout;
        let now = Timestamp::now();
        let request = self.request(application, attempt, now);
        match timeout_at(end, self.client.request(request)).await {
            Ok(Ok(response)) => {
                let answer = answer(&response, now);
                // So that its connection can be used again; a longer one is closed.
                let rest = Limited::new(response.into_body(), MOST_OF_A_BODY).collect();
                let _ = timeout_at(end, rest).await;
                answer
            }
            Ok(Err(error)) if error.is_connect() => {
                failed(Failure::Unreachable, text("cannot connect", &error))
            }
            Ok(Err(error)) => failed(Failure::BrokeOff, text("the answer broke off", &error)),
            Err(_) => failed(Failure::TimedOut, "no answer in time".to_owned()),
        }
    }

    fn request(
        &self,
        application: &Application<'_>,
        attempt: u32,
        now: Timestamp,
    ) -> Request<Full<Bytes>> {
        let key = application.idempotency_key();
        let body = Body { application, idempotency_key: &key };
        let body = serde_json::to_vec(&body).expect("texts and numbers are JSON");
        // A clock before 1970 is wrong in any case.
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let signature = signature::sign(&self.secrets, seconds, &body);
        let mut request = Request::post(self.uri.clone())
            .header(USER_AGENT, concat!("anteroom-issuer/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "*/*")
            .header(CONTENT_TYPE, "application/json")
            .header("idempotency-key", key)
            .header("x-anteroom-attempt", attempt);
        if let Some(signature) = signature {
            request = request.header(signature::HEADER, signature);
        }
        request.body(Full::from(body)).expect("names and values of the headers are ASCII")
    }
}

/// It follows no redirects and uses no proxies of the environment.
fn client(guard: Guard) -> Result<HttpClient, rustls::Error> {
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    let mut tcp = HttpConnector::new_with_resolver(Resolver(guard));
    tcp.set_nodelay(true);
    tcp.enforce_http(false);
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    let client = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .http1_max_buf_size(MOST_OF_A_HEAD)
        .build(connector.enable_http1().wrap_connector(tcp));
    Ok(client)
}

fn answer(response: &Response<Incoming>, now: Timestamp) -> Answer {
    let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    Answer::of(response.status(), after.and_then(|value| answer::retry_after(value, now)))
}

fn failed(failure: Failure, error: String) -> Answer {
    Answer::Failed { failure, error, retry_after: None }
}

/// What happened, without the address, whose query may hold a secret.
fn text(what: &str, error: &Error) -> String {
    let causes = std::iter::successors(error::Error::source(error), |error| error.source());
    // The last one says what happened, those before it where.
    let mut text = causes.last().map_or(what.to_owned(), |cause| format!("{what}: {cause}"));
    let end = (0..=text.len().min(LONGEST_ERROR)).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or_default());
    text
}

#[cfg(test)]
mod tests {
    use anteroom_config::EndpointError;
    use tokio::{net::TcpListener, time::timeout};

    use super::*;

    /// `localhost` is a name that leads to a private address: the rule of the address that
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
