//! The cookie of the console. It counts as the API key with which its user signed in.

use std::collections::BTreeMap;
use std::time::Duration;

use anteroom_authorize::callers::cookies::{self, sensitive};
use anteroom_authorize::durations::since_1970;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_config::KeyConfig;
use anteroom_core::session::{SESSION_PREFIX, Session, SessionKeys};
use http::header::{HeaderValue, InvalidHeaderValue};
use secrecy::{ExposeSecret as _, SecretString};

use super::RequestHead;
use super::loopback::is_loopback_name;
use super::sender::{self, Sender};

/// The name of the cookie on a loopback host, where browsers send it without TLS.
pub const COOKIE: &str = "anteroom_console";
/// Its name on every other host. No sibling host can set a cookie of this name.
const HOST_COOKIE: &str = "__Host-anteroom_console";
/// The most cookies of this name that are read: servers on other ports of the host can have set
/// some. Verifying a cookie takes time.
const MOST_COOKIES: usize = 16;

/// A session, and the text that proves it.
#[derive(Clone, Debug)]
pub struct ProvenSession {
    /// The content of the text.
    pub session: Session,
    text: SecretString,
}

impl ProvenSession {
    /// The session of a text that is valid now.
    fn read(text: &str, keys: &SessionKeys) -> Option<Self> {
        let session = keys.verify(text, since_1970())?;
        Some(Self { session, text: text.into() })
    }

    /// Its API key, if that is still configured.
    pub fn key<'a>(&self, keys: &'a BTreeMap<String, KeyConfig>) -> Option<&'a KeyConfig> {
        keys.get(self.session.key()).filter(|key| self.session.is_of(&key.digest.0))
    }

    /// Whether the text is still valid: the session has not ended, and its secret is configured.
    pub fn is_valid(&self, keys: &SessionKeys) -> bool {
        keys.verify(self.text.expose_secret(), since_1970()).is_some()
    }
}

/// The session of a request with a cookie of the console. If there are several, the newest whose
/// API key is still configured. `None` without a cookie.
///
/// # Errors
///
/// `key_missing` if the request is not from a page of this port, `origin_refused` if its `Origin`
/// is not this host, and `key_invalid` if the session has ended.
pub fn of(
    head: &RequestHead<'_>,
    secrets: &SessionKeys,
    keys: &BTreeMap<String, KeyConfig>,
) -> Result<Option<ProvenSession>, Problem> {
    let name = name_on(head.host());
    if cookies::values(head.headers, [name]).next().is_none() {
        return Ok(None);
    }
    match Sender::of(head) {
        Sender::OwnPage => {}
        Sender::OtherHost => return Err(sender::other_page()),
        Sender::Program | Sender::User | Sender::OtherPage => {
            return Err(Problem::new(Code::KEY_MISSING).detail(
                "the cookie of the console counts only for requests of its own page: \
                 `Sec-Fetch-Site: same-origin`, and an `Origin` that equals `Host` if the call \
                 changes something",
            ));
        }
    }
    let texts = cookies::values(head.headers, [name]);
    let texts = texts.filter(|text| text.starts_with(SESSION_PREFIX)).take(MOST_COOKIES);
    let proven = texts.filter_map(|text| ProvenSession::read(text, secrets));
    let valid = proven.filter(|proven| proven.key(keys).is_some());
    valid.max_by_key(|proven| proven.session.times()).map(Some).ok_or_else(ended)
}

/// The name of the cookie on this host.
fn name_on(host: Option<&str>) -> &'static str {
    if host.is_some_and(is_loopback_name) { COOKIE } else { HOST_COOKIE }
}

/// The refusal of a session that has ended, or whose key was replaced.
pub fn ended() -> Problem {
    Problem::new(Code::KEY_INVALID).detail("the session of the console has ended: sign in again")
}

/// The `Set-Cookie` with this text for a browser that called this host. On a loopback host it has
/// no `Secure`, because browsers do not store `Secure` cookies over plain HTTP.
///
/// # Errors
///
/// If a header cannot have this text.
pub fn set(
    text: &str,
    max_age: Duration,
    host: Option<&str>,
) -> Result<HeaderValue, InvalidHeaderValue> {
    let name = name_on(host);
    let secure = if name == COOKIE { "" } else { "; Secure" };
    let max_age = max_age.as_secs();
    sensitive(&format!(
        "{name}={text}; Path=/; HttpOnly; SameSite=Strict{secure}; Max-Age={max_age}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_secure_unless_the_host_is_a_loopback_one() {
        let (plain, secure) = (("anteroom_console", ""), ("__Host-anteroom_console", "; Secure"));
        for (host, (name, secure)) in [
            (Some("localhost:8081"), plain),
            (Some("127.0.0.1:8081"), plain),
            (Some("[::1]:8081"), plain),
            (Some("console.example"), secure),
            (Some("localhost.evil.example"), secure),
            (None, secure),
        ] {
            let cookie = set("acs1.x", Duration::from_secs(1_800), host).expect("a header");
            let expected =
                format!("{name}=acs1.x; Path=/; HttpOnly; SameSite=Strict{secure}; Max-Age=1800");
            assert_eq!(cookie, expected, "{host:?}");
            assert!(cookie.is_sensitive());
        }
    }
}
