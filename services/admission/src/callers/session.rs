//! The console's cookie, which counts as the API key with which its user signed in.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anteroom_authorize::callers::cookies::{self, sensitive};
use anteroom_authorize::problem::{Code, Problem};
use anteroom_core::session::{Session, SessionKeys};
use http::header::{HeaderValue, InvalidHeaderValue};

use super::RequestHead;
use super::keys::is_loopback_name;
use super::sender::Sender;

/// The name of the cookie.
pub const COOKIE: &str = "anteroom_console";
/// Another path or a sibling host may have set its own. Each costs a signature.
const MOST_COOKIES: usize = 4;

/// The session that the cookie of a request proves; `None` without a cookie.
///
/// # Errors
///
/// `key_missing` for a request that no page of this port sent, and `key_invalid` for a session that
/// has ended.
pub fn of(head: &RequestHead<'_>, keys: &SessionKeys) -> Result<Option<Session>, Problem> {
    let mut values = cookies::values(head.headers, [COOKIE]).take(MOST_COOKIES).peekable();
    if values.peek().is_none() {
        return Ok(None);
    }
    if Sender::of(head) != Sender::OwnPage {
        return Err(Problem::new(Code::KEY_MISSING).detail(
            "the cookie of the console counts only for requests of its own page: \
             `Sec-Fetch-Site: same-origin`, and an `Origin` that equals `Host` if the call changes \
             something",
        ));
    }
    let session = values.find_map(|text| keys.verify(text, now()));
    session.map(Some).ok_or_else(ended)
}

/// The refusal of a session that is over, or whose key was replaced.
pub fn ended() -> Problem {
    Problem::new(Code::KEY_INVALID).detail("the session of the console has ended: sign in again")
}

/// The time since 1970, by the clock of this process: it decides its sessions only.
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The `Set-Cookie` that gives this text to a browser which called this host. Without TLS a browser
/// takes a `Secure` cookie from no host, so there it is left out if the host is a loopback one.
///
/// # Errors
///
/// When the text cannot stand in a header.
pub fn set(
    text: &str,
    max_age: Duration,
    host: Option<&str>,
) -> Result<HeaderValue, InvalidHeaderValue> {
    let secure = if host.is_some_and(is_loopback_name) { "" } else { "; Secure" };
    let max_age = max_age.as_secs();
    sensitive(&format!(
        "{COOKIE}={text}; Path=/; HttpOnly; SameSite=Strict{secure}; Max-Age={max_age}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_secure_unless_the_host_is_a_loopback_one() {
        for (host, secure) in [
            (Some("localhost:8081"), ""),
            (Some("127.0.0.1:8081"), ""),
            (Some("[::1]:8081"), ""),
            (Some("console.example"), "; Secure"),
            (Some("localhost.evil.example"), "; Secure"),
            (None, "; Secure"),
        ] {
            let cookie = set("acs1.x", Duration::from_secs(1_800), host).expect("a header");
            let expected = format!(
                "anteroom_console=acs1.x; Path=/; HttpOnly; SameSite=Strict{secure}; Max-Age=1800"
            );
            assert_eq!(cookie, expected, "{host:?}");
            assert!(cookie.is_sensitive());
        }
    }
}
