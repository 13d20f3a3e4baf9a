//! `[admission]`: the ports, the secrets and the bounds of the HTTP face.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use ipnet::IpNet;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::{Fault, parse, parse::FromText, secrets, section::differing};

/// The section `[admission]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct AdmissionConfig {
    /// Where visitors and gateways come in.
    #[serde(deserialize_with = "parse::parsed")]
    pub listen: SocketAddr,
    /// Where backends and operators come in.
    #[serde(deserialize_with = "parse::parsed")]
    pub service_listen: SocketAddr,
    /// Where the metrics port listens.
    #[serde(deserialize_with = "parse::parsed")]
    pub metrics_listen: SocketAddr,
    /// The secrets that sign tokens, those of `token_secrets_file` included: the first signs, all
    /// verify. Empty only while `listen` is a loopback address.
    #[serde(deserialize_with = "parse::list::<_, _, { secrets::MAX_SECRETS }>")]
    pub token_secrets: Vec<SecretString>,
    /// A file with one token secret a line.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub token_secrets_file: Option<PathBuf>,
    /// The secrets under which backends vouch for a visitor, those of the file included.
    #[serde(deserialize_with = "parse::list::<_, _, { secrets::MAX_SECRETS }>")]
    pub identity_secrets: Vec<SecretString>,
    /// A file with one identity secret a line.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub identity_secrets_file: Option<PathBuf>,
    /// Networks of the proxies in front.
    #[serde(deserialize_with = "parse::list::<_, _, 256>")]
    pub trusted_proxies: Vec<IpNet>,
    /// Origins that may make changing calls with the cookie.
    #[serde(deserialize_with = "parse::list::<_, _, 256>")]
    pub allowed_origins: Vec<Origin>,
    /// The domain that gets the cookie, with all hosts below it.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub cookie_domain: Option<String>,
    /// Whether the cookie is for HTTPS only.
    #[serde(deserialize_with = "parse::flag")]
    pub secure_cookies: bool,
    /// Most open connections, on the public and on the service port each.
    #[serde(deserialize_with = "parse::whole::<_, _, 1, 1_000_000>")]
    pub max_connections: usize,
    /// Most requests under way, on each of these ports.
    #[serde(deserialize_with = "parse::whole::<_, _, 1, 1_000_000>")]
    pub max_concurrent_requests: usize,
    /// From the connection to its first byte.
    #[serde(deserialize_with = "parse::span::<_, 100, 300_000>")]
    pub first_byte_timeout: Duration,
    /// From the first byte of a request to the end of its head; also the longest idle time.
    #[serde(deserialize_with = "parse::span::<_, 1_000, 600_000>")]
    pub header_timeout: Duration,
    /// From the end of the head to the answer; a body that comes late has its own time besides.
    #[serde(deserialize_with = "parse::span::<_, 100, 300_000>")]
    pub request_timeout: Duration,
    /// How long a client may take no byte of an answer.
    #[serde(deserialize_with = "parse::span::<_, 1_000, 300_000>")]
    pub write_timeout: Duration,
    /// How long the ports go on taking connections after SIGTERM.
    #[serde(deserialize_with = "parse::span::<_, 0, 120_000>")]
    pub drain_delay: Duration,
    /// How long requests under way may take to end after that.
    #[serde(deserialize_with = "parse::span::<_, 0, 600_000>")]
    pub drain_timeout: Duration,
    /// Most event streams of this process.
    #[serde(deserialize_with = "parse::whole::<_, _, 0, 1_000_000>")]
    pub sse_max: usize,
    /// Most event streams of one client address in this process; 0: no such bound. Absent: a
    /// quarter of all.
    #[serde(default, deserialize_with = "parse::some_whole::<_, _, 0, 1_000_000>")]
    pub sse_per_address: Option<usize>,
    /// Most calls that may wait for the store, per operation and queue.
    #[serde(deserialize_with = "parse::whole::<_, _, 1, 1_000_000>")]
    pub lane_bound: usize,
}

/// The origin of a web page, in the form in which browsers send it: `https://shop.example`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin(String);

impl Origin {
    /// Scheme, host and, unless it is the usual one, port.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromText for Origin {
    const RULE: &'static str = "must be origins such as \"https://shop.example\": scheme, host \
        and port, and nothing more";

    fn from_text(text: &str) -> Option<Self> {
        let url = web_address(text)?;
        (url.path() == "/").then(|| Self(url.origin().ascii_serialization()))
    }
}

/// An http or https address without credentials, query or fragment.
pub(super) fn web_address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    (["http", "https"].contains(&url.scheme()) && plain).then_some(url)
}

impl AdmissionConfig {
    /// How long a request's body may take: one of 16 KiB has no excuse for taking longer than a
    /// head, or than all the rest of the request may.
    pub fn body_timeout(&self) -> Duration {
        self.header_timeout.min(self.request_timeout)
    }

    /// What is allowed, but not for production.
    pub(super) fn warnings(&self, has_keys: bool) -> impl Iterator<Item = String> {
        let told = |holds: bool, warning: &str| holds.then(|| warning.to_owned());
        [
            told(
                self.token_secrets.is_empty(),
                "admission.token_secrets is empty: tokens end with this process and no other replica \
                 knows them; allowed on a loopback address only",
            ),
            told(
                !has_keys,
                "no [keys.*] are declared: whoever reaches the service port may do everything; \
                 allowed on a loopback address only",
            ),
            told(
                !self.secure_cookies,
                "admission.secure_cookies is false: cookies go over plain HTTP",
            ),
        ]
        .into_iter()
        .flatten()
    }

    /// Keys that take effect only after a restart, and differ from those that are in force.
    pub(super) fn needs_restart(&self, running: &Self) -> impl Iterator<Item = &'static str> {
        differing!(
            "admission",
            self,
            running,
            [
                listen,
                service_listen,
                metrics_listen,
                max_connections,
                max_concurrent_requests,
                first_byte_timeout,
                header_timeout,
                request_timeout,
                write_timeout,
                lane_bound,
            ]
        )
    }

    /// Reads the secrets from their files, if any are named.
    pub(super) fn read_secrets(&mut self) -> Result<(), Fault> {
        let file = self.token_secrets_file.as_deref();
        secrets::read_signing(&mut self.token_secrets, file, "admission.token_secrets")?;
        let file = self.identity_secrets_file.as_deref();
        secrets::read_signing(&mut self.identity_secrets, file, "admission.identity_secrets")
    }

    /// The rules between the keys of this section.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let ports = [
            ("admission.listen", self.listen),
            ("admission.service_listen", self.service_listen),
            ("admission.metrics_listen", self.metrics_listen),
        ];
        for (index, (key, address)) in ports.iter().enumerate() {
            let other = ports[..index].iter().find(|(_, other)| other == address);
            if let Some((other, _)) = other.filter(|_| address.port() != 0) {
                return Err(Fault::new(*key, format!("must be another port than {other}")));
            }
        }
        Fault::unless(
            self.secure_cookies || self.listen.ip().is_loopback(),
            "admission.secure_cookies",
            "may be false only while admission.listen is a loopback address",
        )?;
        let Some(domain) = &self.cookie_domain else { return Ok(()) };
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        };
        Fault::unless(
            domain.len() <= 253
                && domain.split('.').count() >= 2
                && domain.split('.').all(is_label),
            "admission.cookie_domain",
            "must be a domain in lower case such as \"shop.example\", without a dot in front",
        )?;
        Fault::unless(
            self.secure_cookies,
            "admission.cookie_domain",
            "must be absent while admission.secure_cookies is false",
        )
    }

    /// What must hold before the ports are opened; other services do not know these secrets.
    pub(super) fn check_serving(&self, has_keys: bool) -> Result<(), Fault> {
        Fault::unless(
            !self.token_secrets.is_empty() || self.listen.ip().is_loopback(),
            "admission.listen",
            "must be a loopback address while there are no admission.token_secrets",
        )?;
        Fault::unless(
            has_keys || self.service_listen.ip().is_loopback(),
            "admission.service_listen",
            "must be a loopback address while no [keys.*] are declared",
        )
    }
}
