//! Which caller a request has, on a port with these keys and a console.

mod by_cookie;
mod by_key;
mod without_keys;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use anteroom_authorize::problem::Code;
use anteroom_config::{Digest, KeyConfig, Role, Scope};
use anteroom_core::session::SessionKeys;
use http::{HeaderMap, HeaderValue, Method, Uri};
use secrecy::SecretString;

use super::RequestHead;
use super::caller::{Access, Caller};
use super::keys::digest;

const HERE: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));

/// Headers of a request, in this order.
fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for &(name, value) in pairs {
        headers.append(name, HeaderValue::from_static(value));
    }
    headers
}

fn keys() -> BTreeMap<String, KeyConfig> {
    let scope = |section: &str, name: &str| Scope { section: section.into(), name: name.into() };
    let key = |text, role, scopes| KeyConfig { digest: Digest(digest(text)), role, scopes };
    BTreeMap::from([
        ("back".into(), key("ark1.back", Role::Backend, vec![])),
        ("narrow".into(), key("ark1.narrow", Role::Backend, vec![scope("queues", "shop")])),
        ("ops".into(), key("ark1.ops", Role::Operator, vec![])),
        ("ops-pools".into(), key("ark1.pools", Role::Operator, vec![scope("pools", "shop")])),
        ("screen".into(), key("ark1.screen", Role::Viewer, vec![])),
    ])
}

fn sessions() -> SessionKeys {
    SessionKeys::new(&[SecretString::from("s".repeat(32))]).expect("there is a secret")
}

/// The caller of a request with this method and these headers, on a port with a console.
fn of(
    keys: &BTreeMap<String, KeyConfig>,
    method: Method,
    headers: &HeaderMap,
    peer: Option<IpAddr>,
) -> Result<Caller, Code> {
    let (uri, sessions) = (Uri::from_static("/v1/admin/queues/shop"), sessions());
    let head = RequestHead { method: &method, uri: &uri, headers, peer };
    let caller = Caller::of(Access { keys, sessions: Some(&sessions) }, &head);
    caller.map_err(|problem| problem.code())
}

fn caller(authorization: &'static str) -> Result<Caller, Code> {
    of(&keys(), Method::GET, &headers(&[("authorization", authorization)]), None)
}
