use std::collections::BTreeMap;
use std::time::Duration;

use anteroom_authorize::durations::since_1970;
use anteroom_authorize::problem::Code;
use anteroom_core::session::{Session, SessionKeys};
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, Uri};
use secrecy::SecretString;

use super::{HERE, headers, keys, of, sessions};
use crate::callers::RequestHead;
use crate::callers::caller::{Access, Caller, Permission};

const OWN_PAGE: [(&str, &str); 3] = [
    ("host", "console.example"),
    ("sec-fetch-site", "same-origin"),
    ("origin", "https://console.example"),
];

fn with_cookie(session: &Session, pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    with_cookies(&[&sessions().sign(session)], pairs)
}

fn with_cookies(texts: &[&str], pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = headers(pairs);
    for text in texts {
        let cookie = format!("a=b; __Host-anteroom_console={text}; anteroom_console={text}");
        headers.append(http::header::COOKIE, cookie.parse().expect("a header"));
    }
    headers
}

#[test]
fn the_cookie_of_the_console_counts_as_its_key_for_its_own_page_only() {
    let session = super::caller("Bearer ark1.ops").expect("a key").begin_session(since_1970());
    let session = session.expect("there are keys");
    let of = |method, pairs: &[_]| of(&keys(), method, &with_cookie(&session, pairs), None);
    for method in [Method::GET, Method::PATCH] {
        let caller = of(method, &OWN_PAGE).expect("signed in");
        assert_eq!(caller.name(), "ops");
        assert!(caller.may(Permission::Operate).is_ok());
        assert_eq!(caller.session(), Some(&session));
    }
    for pairs in [&[][..], &OWN_PAGE[..1], &[OWN_PAGE[0], OWN_PAGE[2]]] {
        assert_eq!(of(Method::GET, pairs).err(), Some(Code::KEY_MISSING), "{pairs:?}");
    }
    assert!(of(Method::GET, &OWN_PAGE[..2]).is_ok());
    assert_eq!(of(Method::PATCH, &OWN_PAGE[..2]).err(), Some(Code::ORIGIN_REFUSED));
    let key = ("authorization", "Bearer ark1.screen");
    let [host, site, origin] = OWN_PAGE;
    let both = of(Method::GET, &[host, site, origin, key]).expect("the key");
    assert_eq!((both.name(), both.session()), ("screen", None), "a key takes precedence");
    let wrong = ("authorization", "Bearer ark1.wrong");
    let wrong = of(Method::GET, &[host, site, origin, wrong]);
    assert_eq!(wrong.err(), Some(Code::KEY_INVALID), "even a wrong one");
}

#[test]
fn a_session_ends_with_its_key() {
    let own_key = &keys()["ops"].digest.0;
    let of = |session: &Session| {
        let headers = with_cookie(session, &OWN_PAGE);
        of(&keys(), Method::GET, &headers, None).map(|caller| caller.name().to_owned())
    };
    let now = since_1970();
    assert_eq!(of(&Session::begin("ops", own_key, now)), Ok("ops".into()));
    for (name, digest) in [("ops", &[1; 32]), ("gone", own_key), ("screen", own_key)] {
        assert_eq!(of(&Session::begin(name, digest, now)), Err(Code::KEY_INVALID), "{name}");
    }
    let long_ago = now - Duration::from_secs(1_801);
    assert_eq!(of(&Session::begin("ops", own_key, long_ago)), Err(Code::KEY_INVALID));
}

/// A server on another port of the host sets cookies for paths of the console: browsers send
/// those first.
#[test]
fn of_several_sessions_the_newest_counts_and_other_texts_hide_none() {
    let (keys, now) = (keys(), since_1970());
    let begin = |name: &str, ago| {
        let session = Session::begin(name, &keys[name].digest.0, now - Duration::from_secs(ago));
        sessions().sign(&session)
    };
    let (older, own) = (begin("screen", 60), begin("ops", 1));
    let of = |texts: &[&str]| {
        let headers = with_cookies(texts, &OWN_PAGE);
        of(&keys, Method::GET, &headers, None).map(|caller| caller.name().to_owned())
    };
    assert_eq!(of(&[&older, &own]), Ok("ops".into()));
    assert_eq!(of(&[&own, &older]), Ok("ops".into()));
    assert_eq!(of(&[&["x"; 100][..], &[&own]].concat()), Ok("ops".into()));
    assert_eq!(of(&["acs1.x", "acs1.", &own]), Ok("ops".into()));
    assert_eq!(of(&["acs1.x", "x"]), Err(Code::KEY_INVALID));
    // Nor does a newer one whose key is no longer there, or the value of another cookie.
    let removed = Session::begin("removed", &[1; 32], now);
    assert_eq!(of(&[&own, &sessions().sign(&removed)]), Ok("ops".into()));
    let other = format!("x,__Host-anteroom_console={}", begin("screen", 0));
    assert_eq!(of(&[&own, &other]), Ok("ops".into()));
    assert_eq!(of(&[&other]), Err(Code::KEY_INVALID));
}

#[test]
fn a_call_that_lasts_ends_with_its_session() {
    let mut keys = keys();
    let session = Session::begin("ops", &keys["ops"].digest.0, since_1970());
    let signed_in = with_cookie(&session, &OWN_PAGE);
    let caller = of(&keys, Method::GET, &signed_in, None).expect("signed in");
    let access = Access { keys: &keys, sessions: Some(&sessions()) };
    assert!(!caller.session_has_ended(access));
    let other = SessionKeys::new(&[SecretString::from("t".repeat(32))]).expect("a secret");
    assert!(caller.session_has_ended(Access { keys: &keys, sessions: Some(&other) }));
    assert!(caller.session_has_ended(Access { keys: &keys, sessions: None }));
    let by_key = super::caller("Bearer ark1.ops").expect("a key");
    assert!(!by_key.session_has_ended(Access { keys: &keys, sessions: Some(&other) }));

    let key = keys.remove("ops").expect("a key");
    keys.insert("renamed".into(), key);
    let refusal = caller.recheck(&keys).err().map(|problem| problem.code());
    assert_eq!(refusal, Some(Code::KEY_INVALID), "as for each other call of the session");
    assert_eq!(by_key.recheck(&keys).expect("the same key").name(), "renamed");
}

#[test]
fn without_a_console_there_is_no_cookie() {
    let session = Session::begin("ops", &keys()["ops"].digest.0, since_1970());
    let (keys, headers) = (keys(), with_cookie(&session, &OWN_PAGE));
    let (method, uri) = (Method::GET, Uri::from_static("/v1/queues/shop"));
    let head = RequestHead { method: &method, uri: &uri, headers: &headers, peer: HERE };
    let refused = Caller::of(Access { keys: &keys, sessions: None }, &head);
    assert_eq!(refused.err().map(|problem| problem.code()), Some(Code::KEY_MISSING));
    let mut here = headers.clone();
    here.insert(HOST, HeaderValue::from_static("localhost:8081"));
    here.insert(ORIGIN, HeaderValue::from_static("http://localhost:8081"));
    let head = RequestHead { method: &method, uri: &uri, headers: &here, peer: HERE };
    let none = BTreeMap::new();
    let refused = Caller::of(Access { keys: &none, sessions: None }, &head);
    assert_eq!(refused.err().map(|problem| problem.code()), Some(Code::ORIGIN_REFUSED));
}
