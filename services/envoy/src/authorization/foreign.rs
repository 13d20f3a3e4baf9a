//! What the protected service must not get from a client.

use std::borrow::Cow;

use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE};

/// Some services take the host, the path or the method from these, and would serve a request that
/// was not checked. `proxy` is HTTP_PROXY for CGI (httpoxy).
const FOREIGN: [&str; 14] = [
    "x-host",
    "x-rewrite-url",
    "x-envoy-original-path",
    "x-method-override",
    "x-forwarded-uri",
    "x-forwarded-method",
    "x-forwarded-host",
    "x-forwarded-path",
    "x-forwarded-prefix",
    "x-forwarded-server",
    "x-forwarded-port",
    "x-real-ip",
    "forwarded",
    "proxy",
];
/// The same, by how they begin; and the headers of Anteroom, which only the check sets.
const FOREIGN_PREFIXES: [&str; 3] = ["x-original-", "x-http-", "x-anteroom-"];

/// The names of the headers that a request loses on its way to the service. `Cookie` is not among
/// them: see [`other_cookies`].
///
/// Some services (CGI, WSGI, PHP) read `x_anteroom_visitor` and `x.anteroom.visitor` as
/// `x-anteroom-visitor`, and not every Envoy drops headers with underscores.
pub fn names(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.iter().filter_map(|(name, value)| {
        let mut read = Cow::Borrowed(name.as_str());
        let is_other = |char: char| char != '-' && !char.is_ascii_alphanumeric();
        if read.contains(is_other) {
            read = Cow::Owned(read.replace(is_other, "-"));
        }
        let is_foreign = FOREIGN.contains(&&*read)
            || FOREIGN_PREFIXES.iter().any(|prefix| read.starts_with(prefix))
            || (name == AUTHORIZATION && is_token(value.as_bytes()));
        is_foreign.then_some(name.as_str())
    })
}

/// Whether an `Authorization` header carries a token of Anteroom, at any place: some services read
/// a list. They also take more than the blank for white space.
fn is_token(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    text.match_indices("bearer").any(|(at, scheme)| {
        let after = &text[at + scheme.len()..];
        let token = after.trim_start_matches(is_no_graphic);
        token.len() < after.len() && token.starts_with("art1.")
    })
}

fn is_no_graphic(char: char) -> bool {
    !char.is_ascii_graphic()
}

/// The `Cookie` header without the cookies of Anteroom, if it has one of them.
pub fn other_cookies(headers: &HeaderMap) -> Option<String> {
    let lines = headers.get_all(COOKIE).iter();
    let pairs: Vec<String> = lines
        .flat_map(|line| line.as_bytes().split(|&byte| byte == b';'))
        .map(|pair| String::from_utf8_lossy(pair.trim_ascii()).into_owned())
        .filter(|pair| !pair.is_empty())
        .collect();
    let kept: Vec<&str> = pairs.iter().map(String::as_str).filter(|pair| !is_own(pair)).collect();
    (kept.len() < pairs.len()).then(|| kept.join("; "))
}

fn is_own(pair: &str) -> bool {
    let pair = pair.trim_start_matches(is_no_graphic);
    let name = ["__Host-", "__Secure-"].iter().find_map(|prefix| pair.strip_prefix(prefix));
    name.unwrap_or(pair).starts_with("anteroom_")
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn the_service_gets_no_token_and_no_header_of_ours() {
        let request = headers(&[
            ("x-anteroom-token", "art1.x"),
            ("x-anteroom-visitor", "evil"),
            ("x-original-url", "/other"),
            ("authorization", "Bearer art1.x"),
            ("accept", "text/html"),
        ]);
        let mut gone: Vec<_> = names(&request).collect();
        gone.sort_unstable();
        assert_eq!(
            gone,
            ["authorization", "x-anteroom-token", "x-anteroom-visitor", "x-original-url"]
        );
        let own = headers(&[("authorization", "Bearer eyJ.own"), ("cookie", "a=b")]);
        assert_eq!(names(&own).count(), 0, "the service's own");
    }

    #[test]
    fn other_punctuation_hides_no_header() {
        let request = headers(&[
            ("x_anteroom_visitor", "evil"),
            ("x-anteroom_place", "1"),
            ("x_original_url", "/other"),
            ("x_forwarded-host", "evil"),
            ("x.anteroom.visitor", "evil"),
            ("x!http~method*override", "DELETE"),
            ("x_own", "a"),
        ]);
        let mut gone: Vec<_> = names(&request).collect();
        gone.sort_unstable();
        let expected = [
            "x!http~method*override",
            "x-anteroom_place",
            "x.anteroom.visitor",
            "x_anteroom_visitor",
            "x_forwarded-host",
            "x_original_url",
        ];
        assert_eq!(gone, expected);
    }

    #[test]
    fn nothing_before_a_token_hides_it() {
        let hidden = |value: &str| is_token(value.as_bytes());
        for before in ["", "\t", "\u{b}", "\u{a0}", "Basic x, ", "bearer "] {
            assert!(hidden(&format!("{before}Bearer art1.x")), "{before:?}");
            assert!(hidden(&format!("{before}BEARER\t \u{1f}art1.x")), "{before:?}");
        }
        assert!(!hidden("Bearerart1.x") && !hidden("Bearer x.art1.y"));
        for before in ["", "\t", "\u{b}", "\u{a0}"] {
            assert!(is_own(&format!("{before}__Host-anteroom_shop=x")), "{before:?}");
        }
    }

    #[test]
    fn the_cookies_of_the_service_stay() {
        let kept = |cookie| other_cookies(&headers(&[("cookie", cookie)]));
        assert_eq!(kept("a=b; session=art1.x"), None);
        assert_eq!(kept("a=b; __Host-anteroom_shop=art1.x; c=d").as_deref(), Some("a=b; c=d"));
        assert_eq!(kept("__Secure-anteroom_shop=art1.x").as_deref(), Some(""));
        assert_eq!(kept("anteroom_shop=art1.x;a=b").as_deref(), Some("a=b"));
    }
}
