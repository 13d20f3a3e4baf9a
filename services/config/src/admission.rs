//! `[admission]`: the ports, the secrets and the bounds of the HTTP face.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use ipnet::IpNet;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use crate::{
    cookie_domain, error::Fault, networks, origin::AllowedOrigin, origin::web_address, parse,
    parse::FromText, secrets, section::differing,
};

/// The section `[admission]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct AdmissionConfig {
    /// The public port: visitors and gateways.
    #[serde(deserialize_with = "parse::parsed")]
    pub listen: SocketAddr,
    /// The service port: backends and operators.
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
    /// The secrets with which backends sign identities, those of the file included.
    #[serde(deserialize_with = "parse::list::<_, _, { secrets::MAX_SECRETS }>")]
    pub identity_secrets: Vec<SecretString>,
    /// A file with one identity secret a line.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub identity_secrets_file: Option<PathBuf>,
    /// Whether published secrets and placeholders may stand here.
    #[serde(deserialize_with = "parse::flag")]
    pub development: bool,
    /// Networks of the proxies in front.
    #[serde(deserialize_with = "parse::list::<_, _, 256>")]
    pub trusted_proxies: Vec<IpNet>,
    /// Origins that may make changing calls with the cookie.
    #[serde(deserialize_with = "parse::list::<_, _, 256>")]
    pub allowed_origins: Vec<AllowedOrigin>,
    /// Where the documentation of errors is.
    #[serde(deserialize_with = "parse::parsed")]
    pub docs_url: DocsUrl,
    /// Whether the service port has the operator console.
    #[serde(deserialize_with = "parse::flag")]
    pub console: bool,
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
    #[serde(deserialize_with = "parse::span::<_, _, 100, 300_000>")]
    pub first_byte_timeout: Duration,
    /// From the first byte of a request to the end of its head; also the longest idle time.
    #[serde(deserialize_with = "parse::span::<_, _, 1_000, 600_000>")]
    pub header_timeout: Duration,
    /// From the end of the head to the answer; a body that comes late has its own time besides.
    #[serde(deserialize_with = "parse::span::<_, _, 100, 300_000>")]
    pub request_timeout: Duration,
    /// How long a client may take no byte of an answer.
    #[serde(deserialize_with = "parse::span::<_, _, 1_000, 300_000>")]
    pub write_timeout: Duration,
    /// How long the ports go on taking connections after SIGTERM.
    #[serde(deserialize_with = "parse::span::<_, _, 0, 120_000>")]
    pub drain_delay: Duration,
    /// How long requests under way may take to end after that.
    #[serde(deserialize_with = "parse::span::<_, _, 0, 600_000>")]
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

/// Where the documentation of errors is: an address, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocsUrl(Option<Url>);

impl DocsUrl {
    /// The address as text, empty for none.
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("", Url::as_str)
    }
}

impl FromText for DocsUrl {
    const RULE: &'static str = "must be an http or https address such as \
        \"https://docs.example/errors\", without credentials, query or fragment; or \"\" for none";

    fn from_text(text: &str) -> Option<Self> {
        if text.is_empty() {
            Some(Self(None))
        } else {
            web_address(text).map(|url| Self(Some(url)))
        }
    }
}

impl AdmissionConfig {
    /// How long a request's body may take: one of 16 KiB has no excuse for taking longer than a
    /// head, or than all the rest of the request may.
    pub fn body_timeout(&self) -> Duration {
        self.header_timeout.min(self.request_timeout)
    }

    /// What is allowed, but not for production.
    pub(crate) fn warnings(&self, has_keys: bool) -> impl Iterator<Item = String> {
        let warn = |holds: bool, warning: &str| holds.then(|| warning.to_owned());
        [
            warn(
                self.token_secrets.is_empty(),
                "admission.token_secrets is empty: tokens are valid in this process only, until it \
                 ends; allowed on a loopback address only",
            ),
            warn(
                !has_keys,
                "no [keys.*] are declared: every client of the service port has all permissions; \
                 allowed on a loopback address only",
            ),
            warn(
                !self.secure_cookies,
                "admission.secure_cookies is false: cookies are sent over plain HTTP",
            ),
            warn(
                self.development,
                "admission.development is true: public development secrets are accepted; remove it \
                 in production",
            ),
            networks::warning(&self.trusted_proxies, "admission.trusted_proxies"),
        ]
        .into_iter()
        .flatten()
        .chain(secrets::weak(&self.token_secrets, "admission.token_secrets"))
        .chain(secrets::weak(&self.identity_secrets, "admission.identity_secrets"))
    }

    /// Keys that take effect only after a restart, and differ from those that are in force.
    pub(crate) fn needs_restart(&self, running: &Self) -> impl Iterator<Item = &'static str> {
        differing!(
            "admission",
            self,
            running,
            [
                listen,
                service_listen,
                metrics_listen,
                development,
                console,
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
    pub(crate) fn read_secrets(&mut self) -> Result<(), Fault> {
        let file = self.token_secrets_file.as_deref();
        secrets::read_signing(&mut self.token_secrets, file, "admission.token_secrets")?;
        let file = self.identity_secrets_file.as_deref();
        secrets::read_signing(&mut self.identity_secrets, file, "admission.identity_secrets")
    }

    /// The rules between the keys of this section.
    pub(crate) fn check(&self) -> Result<(), Fault> {
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
        let both = |secret: &SecretString| secrets::contains(&self.token_secrets, secret);
        Fault::unless(
            !self.identity_secrets.iter().any(both),
            &secrets::key_of(self.identity_secrets_file.as_deref(), "admission.identity_secrets"),
            "must not hold a secret of admission.token_secrets: backends that sign identities \
             could then make tokens. Make one for each with \"head -c 33 /dev/urandom | base64\"",
        )?;
        networks::check(&self.trusted_proxies, "admission.trusted_proxies")?;
        let Some(domain) = &self.cookie_domain else { return Ok(()) };
        cookie_domain::check(domain, "admission.cookie_domain")?;
        Fault::unless(
            self.secure_cookies,
            "admission.cookie_domain",
            "must be absent while admission.secure_cookies is false",
        )
    }

    /// What must hold before the ports are opened; other services do not know these secrets.
    pub(crate) fn check_serving(&self, has_keys: bool) -> Result<(), Fault> {
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
