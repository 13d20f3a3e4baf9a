//! The console's cookie, which counts as the API key with which its user signed in.

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
use super::sender::Sender;

/// The name of the cookie on a loopback host, where it can travel without TLS.
pub const COOKIE: &str = "anteroom_console";
/// Its name on every other host: no sibling host can set one of this name.
const HOST_COOKIE: &str = "__Host-anteroom_console";
/// Servers on other ports of the host may have set some for other paths. Each costs a signature.
const MOST_COOKIES: usize = 16;

/// A session, and the text that proves it.
#[derive(Clone, Debug)]
pub struct ProvenSession {
    /// What the text says.
    pub session: Session,
    text: SecretString,
}

impl ProvenSession {
    /// What a text proves now.
    fn read(text: &str, keys: &SessionKeys) -> Option<Self> {
        let session = keys.verify(text, since_1970())?;
        Some(Self { session, text: text.into() })
    }

    /// Its key, if that is still one of these.
    pub fn key<'a>(&self, keys: &'a BTreeMap<String, KeyConfig>) -> Option<&'a KeyConfig> {
        keys.get(self.session.key()).filter(|key| self.session.is_of(&key.digest.0))
    }

    /// Whether the text still proves it: its time is not over, and its secret still there.
    pub fn is_valid(&self, keys: &SessionKeys) -> bool {
        keys.verify(self.text.expose_secret(), since_1970()).is_some()
    }
}

/// The session that the cookies of a request prove, the newest if there are several of the keys in
/// force; `None` without a cookie.
///
/// # Errors
///
/// `key_missing` for a request that no page of this port sent, and `key_invalid` for a session that
/// has ended.
pub fn of(
    head: &RequestHead<'_>,
    secrets: &SessionKeys,
    keys: &BTreeMap<String, KeyConfig>,
) -> Result<Option<ProvenSession>, Problem> {
    let name = name_on(head.host());
    if cookies::values(head.headers, [name]).next().is_none() {
        return Ok(None);
    }
    if Sender::of(head) != Sender::OwnPage {
        return Err(Problem::new(Code::KEY_MISSING).detail(
            "the cookie of the console counts only for requests of its own page: \
             `Sec-Fetch-Site: same-origin`, and an `Origin` that equals `Host` if the call changes \
             something",
        ));
    }
    let texts = cookies::values(head.headers, [name]);
    let texts = texts.filter(|text| text.starts_with(SESSION_PREFIX)).take(MOST_COOKIES);
    let proven = texts.filter_map(|text| ProvenSession::read(text, secrets));
    let valid = proven.filter(|proven| proven.key(keys).is_some());
    valid.max_by_key(|proven| proven.session.times()).map(Some).ok_or_else(ended)
}

/// The name of the cookie for a browser that calls this host.
fn name_on(host: Option<&str>) -> &'static str {
    if host.is_some_and(is_loopback_name) { COOKIE } else { HOST_COOKIE }
}

/// The refusal of a session that is over, or whose key was replaced.
pub fn ended() -> Problem {
    Problem::new(Code::KEY_INVALID).detail("the session of the console has ended: sign in again")
}

/// The `Set-Cookie` that gives this text to a browser which called this host. Over plain HTTP a
/// browser keeps no `Secure` cookie, so a loopback host sets one without.
///
/// # Errors
///
/// When the text cannot stand in a header.
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
