use std::collections::BTreeMap;
use std::net::IpAddr;

use anteroom_authorize::problem::Code;
use http::header::HOST;
use http::{HeaderMap, HeaderValue, Method, Uri};

use super::{HERE, headers, keys, of, sessions};
use crate::callers::RequestHead;
use crate::callers::caller::{Access, Caller, NO_KEY, Permission};

fn without_keys(peer: Option<IpAddr>, pairs: &[(&'static str, &'static str)]) -> Option<Code> {
    let mut headers = headers(pairs);
    headers.append(HOST, HeaderValue::from_static("localhost:8081"));
    of(&BTreeMap::new(), Method::POST, &headers, peer).err()
}

#[test]
fn without_keys_only_programs_on_this_machine_come_in() {
    assert_eq!(without_keys(HERE, &[]), None);
    assert_eq!(without_keys(Some("::1".parse().expect("an address")), &[]), None);
    assert_eq!(without_keys(HERE, &[("authorization", "Bearer ark1.any")]), None);
    for peer in [None, Some([10, 0, 0, 1].into())] {
        assert_eq!(without_keys(peer, &[]), Some(Code::KEY_MISSING));
    }
    for name in
        ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-x", "x-real-ip", "via"]
    {
        assert_eq!(without_keys(HERE, &[(name, "")]), Some(Code::FORWARDED_REFUSED), "{name}");
    }
    for name in ["origin", "sec-fetch-site"] {
        assert_eq!(without_keys(HERE, &[(name, "null")]), Some(Code::ORIGIN_REFUSED), "{name}");
    }
    let here = headers(&[("host", "127.0.0.1:8081")]);
    let caller = of(&BTreeMap::new(), Method::PATCH, &here, HERE).expect("admitted");
    assert!(caller.may(Permission::Operate).is_ok() && caller.touches("queues", "shop").is_ok());
    assert_eq!(caller.name(), NO_KEY);
}

/// A proxy on this machine that adds no header, and DNS rebinding.
#[test]
fn without_keys_only_names_of_this_machine_are_served() {
    let refusal = |hosts: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_static(host));
        }
        of(&BTreeMap::new(), Method::GET, &headers, HERE).err()
    };
    for host in [
        "localhost",
        "LocalHost:8081",
        "127.0.0.1",
        "127.0.0.1:8081",
        "127.255.0.9:1",
        "[::1]",
        "[::1]:8081",
    ] {
        assert_eq!(refusal(&[host]), None, "{host}");
    }
    for host in [
        "",
        "shop.example",
        "shop.example:8081",
        "localhost.evil.example",
        "evil.localhost",
        "127.0.0.1.evil.example",
        "evil@localhost",
        "localhost@evil.example",
        "localhost, evil.example",
        "localhost:8081:8081",
        "localhost:port",
        "10.0.0.1:8081",
        "0.0.0.0:8081",
        "2130706433",
        "[::]:8081",
        "[::ffff:127.0.0.1]:8081",
        "::1",
        "anteroom_admission",
    ] {
        assert_eq!(refusal(&[host]), Some(Code::FORWARDED_REFUSED), "{host}");
    }
    for hosts in [&[][..], &["localhost", "localhost"], &["localhost", "evil.example"]] {
        assert_eq!(refusal(hosts), Some(Code::FORWARDED_REFUSED), "{hosts:?}");
    }
    // With a key any name of this port is right.
    let named = headers(&[("authorization", "Bearer ark1.back"), ("host", "anteroom:8081")]);
    assert!(of(&keys(), Method::GET, &named, None).is_ok());
}

#[test]
fn without_keys_the_console_s_own_page_comes_in_and_a_user_sees_it() {
    let page = |site, origin: Option<&'static str>| {
        let origin = origin.map(|origin| ("origin", origin));
        let pairs = [("host", "localhost:8081"), ("sec-fetch-site", site)].into_iter();
        let headers = headers(&pairs.chain(origin).collect::<Vec<_>>());
        let (uri, sessions, none) = (Uri::from_static("/"), sessions(), BTreeMap::new());
        let access = Access { keys: &none, sessions: Some(&sessions) };
        let (method, headers) = (&Method::GET, &headers);
        let head = RequestHead { method, uri: &uri, headers, peer: HERE };
        (Caller::of(access, &head).is_ok(), Caller::may_see_page(access, &head).is_ok())
    };
    assert_eq!(page("same-origin", None), (true, true));
    assert_eq!(page("same-origin", Some("http://localhost:8081")), (true, true));
    assert_eq!(page("none", None), (false, true), "a typed address");
    for site in ["same-site", "cross-site"] {
        assert_eq!(page(site, None), (false, false), "{site}");
    }
    for origin in ["http://localhost:8080", "http://127.0.0.1:8081", "null"] {
        assert_eq!(page("same-origin", Some(origin)), (false, false), "{origin}");
    }
}
