//! The cookie that carries a token.
//!
//! `__Host-anteroom_{queue}` belongs to exactly one host and travels over TLS only. With
//! `cookie_domain` it is `__Secure-anteroom_{queue}` for that domain and every host below it: each
//! of those hosts then sees the visitor's token, and may set a cookie of the same name. It can take
//! a visitor's place away from them or give them another's, but never forge one. With
//! `secure_cookies = false` (loopback only) it is plain `anteroom_{queue}`.

use anteroom_config::AdmissionConfig;
use http::header::{COOKIE, HeaderMap, HeaderValue, InvalidHeaderValue};

/// The longest life of a place: a waiting or active one lives at most this long.
const MAX_AGE_SECONDS: u32 = 7 * 24 * 60 * 60;

/// How the cookies of this deployment are named and guarded.
#[derive(Clone, Debug)]
pub struct Cookies {
    prefix: &'static str,
    attributes: String,
}

impl Cookies {
    /// Those of a configuration.
    pub fn of(config: &AdmissionConfig) -> Self {
        Self::new(config.secure_cookies, config.cookie_domain.as_deref())
    }

    /// `domain` widens the cookies to every host below it and implies `secure`.
    pub fn new(secure: bool, domain: Option<&str>) -> Self {
        let (prefix, guard) = match domain {
            Some(domain) => ("__Secure-", format!("; Secure; Domain={domain}")),
            None if secure => ("__Host-", "; Secure".to_owned()),
            None => ("", String::new()),
        };
        Self { prefix, attributes: format!("; Path=/; HttpOnly; SameSite=Lax{guard}") }
    }

    /// The name of a queue's cookie.
    pub fn name(&self, queue: &str) -> String {
        format!("{}anteroom_{queue}", self.prefix)
    }

    /// What the request's cookies of this queue hold, in order: more than one only where a sibling
    /// host or another path set its own. The first that verifies is the visitor's.
    pub fn read<'a>(
        &self,
        headers: &'a HeaderMap,
        queue: &'a str,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        values(headers, [self.prefix, "anteroom_", queue])
    }

    /// The `Set-Cookie` that gives a token to the browser.
    ///
    /// # Errors
    ///
    /// When the token, or the configured domain, cannot stand in a header.
    pub fn set(&self, queue: &str, token: &str) -> Result<HeaderValue, InvalidHeaderValue> {
        let (name, attributes) = (self.name(queue), &self.attributes);
        sensitive(&format!("{name}={token}{attributes}; Max-Age={MAX_AGE_SECONDS}"))
    }

    /// The `Set-Cookie` that takes the token away again.
    ///
    /// # Errors
    ///
    /// When the configured domain cannot stand in a header.
    pub fn clear(&self, queue: &str) -> Result<HeaderValue, InvalidHeaderValue> {
        sensitive(&format!("{}={}; Max-Age=0", self.name(queue), self.attributes))
    }
}

/// The values of the cookies of one name, in their order. The name is given in parts.
pub fn values<'a, const PARTS: usize>(
    headers: &'a HeaderMap,
    name: [&'a str; PARTS],
) -> impl Iterator<Item = &'a str> + use<'a, PARTS> {
    headers
        .get_all(COOKIE)
        .iter()
        // Another cookie's bytes outside ASCII must not hide ours. A comma separates nothing: it
        // may be in the value of a cookie that a sibling host has set.
        .flat_map(|line| line.as_bytes().split(|&byte| byte == b';'))
        .filter_map(move |pair| {
            let mut rest = pair.trim_ascii();
            for part in name {
                rest = rest.strip_prefix(part.as_bytes())?;
            }
            std::str::from_utf8(rest.strip_prefix(b"=")?).ok()
        })
}

/// A value that `Debug` does not show and HTTP/2 does not compress.
///
/// # Errors
///
/// If a header cannot have this value.
pub fn sensitive(value: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let mut value = HeaderValue::from_str(value)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cookies: &Cookies, lines: &[&[u8]]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(COOKIE, HeaderValue::from_bytes(line).expect("a header"));
        }
        cookies.read(&headers, "shop").map(str::to_owned).collect()
    }

    /// Browsers refuse `__Host-` from a sibling host, and allow commas in a value.
    #[test]
    fn promise_06_the_value_of_another_cookie_is_none_of_ours() {
        let cookies = Cookies::new(true, None);
        for line in ["z=1,__Host-anteroom_shop=art1.x", "z=1, __Host-anteroom_shop=art1.x"] {
            assert!(read(&cookies, &[line.as_bytes()]).is_empty(), "{line}");
            let own = format!("{line}; __Host-anteroom_shop=art1.own");
            assert_eq!(read(&cookies, &[own.as_bytes()]), ["art1.own"], "{line}");
        }
    }

    #[test]
    fn the_name_says_how_it_is_guarded() {
        for (secure, domain, expected) in [
            (
                true,
                None,
                "__Host-anteroom_shop=art1.x; Path=/; HttpOnly; SameSite=Lax; Secure; \
                 Max-Age=604800",
            ),
            (
                true,
                Some("example.com"),
                "__Secure-anteroom_shop=art1.x; Path=/; HttpOnly; SameSite=Lax; Secure; \
                 Domain=example.com; Max-Age=604800",
            ),
            (false, None, "anteroom_shop=art1.x; Path=/; HttpOnly; SameSite=Lax; Max-Age=604800"),
        ] {
            let cookies = Cookies::new(secure, domain);
            let set = cookies.set("shop", "art1.x").expect("a header");
            assert_eq!(set, expected);
            assert!(set.is_sensitive());
            // A browser removes a cookie only when name, path and domain are those it was set with.
            let clear = cookies.clear("shop").expect("a header");
            assert_eq!(clear, expected.replace("art1.x", "").replace("604800", "0"));
        }
    }

    #[test]
    fn it_is_found_among_others_in_any_line() {
        let cookies = Cookies::new(true, None);
        assert_eq!(read(&cookies, &[b"a=b; __Host-anteroom_shop=art1.x; c=d"]), ["art1.x"]);
        assert_eq!(read(&cookies, &[b"a=b", b"__Host-anteroom_shop=art1.x"]), ["art1.x"]);
        assert_eq!(read(&cookies, &[b"a=\xff;__Host-anteroom_shop=art1.x"]), ["art1.x"]);
        let two = b"__Host-anteroom_shop=art1.x; __Host-anteroom_shop=art1.y";
        assert_eq!(read(&cookies, &[two]), ["art1.x", "art1.y"]);
    }

    #[test]
    fn another_queue_s_and_another_guard_s_cookie_are_not_ours() {
        let cookies = Cookies::new(true, None);
        for line in [
            &b"anteroom_shop=art1.x"[..],
            b"__Secure-anteroom_shop=art1.x",
            b"__Host-anteroom_shop2=art1.x",
            b"__host-anteroom_shop=art1.x",
            b"x__Host-anteroom_shop=art1.x",
            b"__Host-anteroom_shop",
            b"",
        ] {
            assert!(read(&cookies, &[line]).is_empty());
        }
    }

    #[test]
    fn a_token_that_cannot_stand_in_a_header_is_an_error() {
        assert!(Cookies::new(true, None).set("shop", "a\r\nb").is_err());
    }
}
