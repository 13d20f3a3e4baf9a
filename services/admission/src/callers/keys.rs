//! Who may call the service port: keys of backends and operators.
//!
//! A key travels as `Authorization: Bearer ark1.…`; the configuration knows only its SHA-256
//! digest, under a name that the audit log shows. Operators may do what backends may, and
//! `/v1/admin` is for operators; viewers may read there. Scopes such as `queues:shop` narrow a key
//! to what they name.
//!
//! The page of the console sends a cookie instead, the proof that its user signed in with a key. A
//! key in the request takes precedence.
//!
//! Without any key the port asks for none: it then listens on loopback only (the configuration sees
//! to that), answers only peers on this machine that call it by a loopback name, and refuses what
//! came through a proxy or from any web page but the console, for both bring strangers to a
//! loopback address.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use anteroom_authorize::callers::single::single;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_config::{KeyConfig, Role, Scope};
use anteroom_core::session::{Session, SessionKeys};
use http::HeaderMap;
use http::header::{AUTHORIZATION, HOST, HeaderName};
use http::uri::Authority;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use super::RequestHead;
use super::sender::Sender;
use super::session::{self, ProvenSession};

/// What every key begins with.
pub const KEY_PREFIX: &str = "ark1.";
/// Keys are 48 characters; what is much longer is not worth a digest.
const MAX_KEY: usize = 128;
/// The name of every caller in the audit log while no keys are configured.
const NO_KEY: &str = "(no keys configured)";

/// What a call needs of the caller's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// To read the public state of an entity: each role has it.
    State,
    /// What the protected service does.
    Serve,
    /// To read what operators read.
    View,
    /// To change what operators change.
    Operate,
}

impl Permission {
    fn is_of(self, role: Role) -> bool {
        match self {
            Self::State => true,
            Self::Serve => role != Role::Viewer,
            Self::View => role != Role::Backend,
            Self::Operate => role == Role::Operator,
        }
    }
}

/// What the service port takes for a key.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The configured keys.
    pub keys: &'a BTreeMap<String, KeyConfig>,
    /// Who signs the cookie of the console; `None` if there is no console.
    pub sessions: Option<&'a SessionKeys>,
}

/// Who calls, once their key is known.
#[derive(Clone, Debug)]
pub struct Caller {
    name: String,
    /// Absent while no keys are configured: then every caller has all permissions.
    key: Option<KeyConfig>,
    /// Present if the console's cookie shows the key.
    proven: Option<ProvenSession>,
}

impl Caller {
    /// Knows the caller by their key, or by the cookie of the console.
    ///
    /// # Errors
    ///
    /// `key_missing` or `key_invalid`; while no keys are configured, `key_missing` for other
    /// machines, `forwarded_refused` (also for names that are not this machine's) and
    /// `origin_refused`.
    pub fn of(access: Access<'_>, head: &RequestHead<'_>) -> Result<Self, Problem> {
        let Access { keys, sessions } = access;
        if keys.is_empty() {
            let sender = unguarded(head)?;
            let is_allowed =
                sender == Sender::Program || sender == Sender::OwnPage && sessions.is_some();
            return if is_allowed { Ok(Self::unnamed()) } else { Err(other_page()) };
        }
        if !head.headers.contains_key(AUTHORIZATION)
            && let Some(sessions) = sessions
            && let Some(proven) = session::of(head, sessions)?
        {
            return Self::signed_in(keys, proven);
        }
        let text = bearer(head.headers).ok_or_else(|| Problem::new(Code::KEY_MISSING))?;
        let (name, key) = find(keys, text).ok_or_else(|| Problem::new(Code::KEY_INVALID))?;
        Ok(Self { name: name.to_owned(), key: Some(key.clone()), proven: None })
    }

    /// The caller of a session, if its key is still one of these.
    fn signed_in(
        keys: &BTreeMap<String, KeyConfig>,
        proven: ProvenSession,
    ) -> Result<Self, Problem> {
        let session = &proven.session;
        let key = keys.get(session.key()).filter(|key| session.is_of(&key.digest.0));
        let key = key.ok_or_else(session::ended)?.clone();
        Ok(Self { name: session.key().to_owned(), key: Some(key), proven: Some(proven) })
    }

    /// Whether the page of the console, which has no secrets, may be shown to who sends a request.
    ///
    /// # Errors
    ///
    /// While no keys are configured, as [`of`](Self::of), but a user may type the address.
    pub fn may_see_page(access: Access<'_>, head: &RequestHead<'_>) -> Result<(), Problem> {
        if access.keys.is_empty() && unguarded(head)? == Sender::OtherPage {
            return Err(other_page());
        }
        Ok(())
    }

    /// Every caller, while no keys are configured.
    fn unnamed() -> Self {
        Self { name: NO_KEY.to_owned(), key: None, proven: None }
    }

    /// The session of the caller, if the console's cookie shows the key.
    pub fn session(&self) -> Option<&Session> {
        self.proven.as_ref().map(|proven| &proven.session)
    }

    /// A new session of the caller's key at this time since 1970; `None` while no keys are
    /// configured.
    pub fn begin_session(&self, now: Duration) -> Option<Session> {
        self.key.as_ref().map(|key| Session::begin(&self.name, &key.digest.0, now))
    }

    /// The name of the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the key, if keys are configured.
    pub fn key_name(&self) -> Option<&str> {
        self.key.is_some().then_some(&*self.name)
    }

    /// The role of the caller: without keys each is an operator.
    pub fn role(&self) -> Role {
        self.key.as_ref().map_or(Role::Operator, |key| key.role)
    }

    /// What the caller may touch; empty for everything of the role.
    pub fn scopes(&self) -> &[Scope] {
        self.key.as_ref().map_or(&[], |key| &key.scopes)
    }

    /// The same caller by these keys, which are in force now: for a call that lasts.
    ///
    /// # Errors
    ///
    /// `key_invalid` if none of them is the caller's; `key_missing` if there were none before.
    pub fn recheck(&self, keys: &BTreeMap<String, KeyConfig>) -> Result<Self, Problem> {
        let Some(own) = &self.key else {
            let is_unguarded = keys.is_empty().then(|| self.clone());
            return is_unguarded.ok_or_else(|| Problem::new(Code::KEY_MISSING));
        };
        if let Some(proven) = &self.proven {
            return Self::signed_in(keys, proven.clone());
        }
        let found = keys.iter().find(|(_, key)| key.digest == own.digest);
        let (name, key) = found.ok_or_else(|| Problem::new(Code::KEY_INVALID))?;
        Ok(Self { name: name.clone(), key: Some(key.clone()), proven: None })
    }

    /// Whether the caller has a session, and its cookie proves it no longer: for a call that lasts.
    pub fn session_has_ended(&self, access: Access<'_>) -> bool {
        let is_valid =
            |proven: &ProvenSession| access.sessions.is_some_and(|keys| proven.is_valid(keys));
        self.proven.as_ref().is_some_and(|proven| !is_valid(proven))
    }

    /// Whether the caller's role allows a call.
    ///
    /// # Errors
    ///
    /// `key_forbidden` if it does not.
    pub fn may(&self, permission: Permission) -> Result<(), Problem> {
        if self.key.as_ref().is_none_or(|key| permission.is_of(key.role)) {
            return Ok(());
        }
        let takes = match permission {
            Permission::State | Permission::Serve => "a backend or an operator",
            Permission::View => "an operator or a viewer",
            Permission::Operate => "an operator",
        };
        Err(Problem::new(Code::KEY_FORBIDDEN).detail(format!("this call takes the key of {takes}")))
    }

    /// Whether the caller may touch the thing of this name in `section`, such as `queues`.
    ///
    /// # Errors
    ///
    /// `key_forbidden` when the key has scopes and none of them names it.
    pub fn touches(&self, section: &str, name: &str) -> Result<(), Problem> {
        if self.sees(section, name) {
            Ok(())
        } else {
            Err(Problem::new(Code::KEY_FORBIDDEN).detail("none of the key's scopes covers this"))
        }
    }

    /// Whether the key's scopes cover the thing of this name in `section`.
    pub fn sees(&self, section: &str, name: &str) -> bool {
        let named = |scope: &Scope| scope.section == section && scope.name == name;
        self.scopes().is_empty() || self.scopes().iter().any(named)
    }

    /// A caller with this key.
    #[cfg(test)]
    pub fn with_key(name: &str, key: KeyConfig) -> Self {
        Self { name: name.to_owned(), key: Some(key), proven: None }
    }
}

/// The SHA-256 digest by which the configuration knows a key.
pub fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// The key with this text. All are compared, so that the time reveals nothing.
fn find<'a>(keys: &'a BTreeMap<String, KeyConfig>, text: &str) -> Option<(&'a str, &'a KeyConfig)> {
    if text.len() > MAX_KEY || !text.starts_with(KEY_PREFIX) {
        return None;
    }
    let given = digest(text);
    let (mut found, mut at) = (Choice::from(0), 0_u64);
    for (index, key) in (0_u64..).zip(keys.values()) {
        let same = key.digest.0.ct_eq(&given);
        at.conditional_assign(&index, same);
        found |= same;
    }
    let at = usize::try_from(at).ok().filter(|_| bool::from(found))?;
    keys.iter().nth(at).map(|(name, key)| (name.as_str(), key))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = single(headers, &AUTHORIZATION).ok()??.to_str().ok()?;
    let (scheme, key) = value.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim_start())
}

/// What sent a request to a port without configured keys, which answers this machine only.
fn unguarded(head: &RequestHead<'_>) -> Result<Sender, Problem> {
    let RequestHead { uri, headers, peer, .. } = head;
    // The port may still be bound to the address of an earlier configuration.
    if !peer.is_some_and(|peer| peer.to_canonical().is_loopback()) {
        return Err(Problem::new(Code::KEY_MISSING)
            .detail("no keys are configured, so this port serves its own machine only"));
    }
    if headers.keys().any(is_forwarding) {
        return Err(Problem::new(Code::FORWARDED_REFUSED)
            .detail("no keys are configured, so this port refuses what came through a proxy"));
    }
    // A proxy may add no header at all, and a stranger's name server may say that its name is here.
    let mut hosts = headers.get_all(HOST).iter();
    let is_here = hosts.next().and_then(|host| host.to_str().ok()).is_some_and(is_loopback_name);
    // A whole address in the request line takes precedence over `Host`.
    let named = uri.authority().map(Authority::as_str);
    if is_here && hosts.next().is_none() && named.is_none_or(is_loopback_name) {
        Ok(Sender::of(head))
    } else {
        Err(Problem::new(Code::FORWARDED_REFUSED).detail(
            "no keys are configured, so this port is called by localhost, 127.0.0.1 or [::1] only",
        ))
    }
}

/// The refusal of a page that is not the console.
pub fn other_page() -> Problem {
    Problem::new(Code::ORIGIN_REFUSED).detail(
        "this port refuses all web pages but its own console. In a request of the console `Origin` \
         equals `Host`: a proxy in front must pass `Host`",
    )
}

/// Whether a `Host` is a loopback name, with any port.
pub fn is_loopback_name(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    // Userinfo in front of the name, or anything but a port behind it, is no valid `Host`.
    let rest = authority.as_str().strip_prefix(name);
    let has_port = |rest: &str| rest.is_empty() || authority.port_u16().is_some();
    let is_loopback = name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
        || name == "[::1]";
    is_loopback && rest.is_some_and(has_port)
}

/// A header that proxies add.
fn is_forwarding(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("x-forwarded-")
        || ["forwarded", "x-real-ip", "x-original-uri", "x-original-url", "via"].contains(&name)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use anteroom_config::Digest;
    use http::header::ORIGIN;
    use http::{HeaderValue, Method, Uri};
    use secrecy::SecretString;

    use super::*;

    /// Headers of a request, in this order.
    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for &(name, value) in pairs {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    fn keys() -> BTreeMap<String, KeyConfig> {
        let scope =
            |section: &str, name: &str| Scope { section: section.into(), name: name.into() };
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

    /// Who sends a request with this method and these headers to a port with a console.
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

    #[test]
    fn a_call_that_lasts_follows_the_keys_in_force() {
        let (mut keys, screen) = (keys(), caller("Bearer ark1.screen").expect("a key"));
        let now = |keys: &_| screen.recheck(keys).map_err(|problem| problem.code());
        assert_eq!(now(&keys).expect("the same").role(), Role::Viewer);
        let mut key = keys.remove("screen").expect("a key");
        assert_eq!(now(&keys).err(), Some(Code::KEY_INVALID));
        assert_eq!(now(&BTreeMap::new()).err(), Some(Code::KEY_INVALID));
        key.role = Role::Backend;
        keys.insert("renamed".into(), key);
        let renamed = now(&keys).expect("found by its digest");
        assert_eq!((renamed.name(), renamed.may(Permission::View).is_ok()), ("renamed", false));
        keys.insert("screen".into(), KeyConfig { digest: Digest([1; 32]), ..keys["ops"].clone() });
        assert_eq!(now(&keys).expect("by its digest alone").name(), "renamed");

        let headers = headers(&[("host", "localhost")]);
        let anyone = of(&BTreeMap::new(), Method::GET, &headers, HERE).expect("no key is needed");
        assert!(anyone.recheck(&BTreeMap::new()).is_ok());
        let problem = anyone.recheck(&keys).map_err(|problem| problem.code());
        assert_eq!(problem.err(), Some(Code::KEY_MISSING));
    }

    const HERE: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));

    fn without_keys(peer: Option<IpAddr>, pairs: &[(&'static str, &'static str)]) -> Option<Code> {
        let mut headers = headers(pairs);
        headers.append(HOST, HeaderValue::from_static("localhost:8081"));
        of(&BTreeMap::new(), Method::POST, &headers, peer).err()
    }

    #[test]
    fn every_key_is_found_by_its_text() {
        for (authorization, name) in [
            ("Bearer ark1.back", "back"),
            ("bearer  ark1.narrow", "narrow"),
            ("BEARER ark1.ops", "ops"),
            ("Bearer ark1.pools ", "ops-pools"),
        ] {
            assert_eq!(caller(authorization).expect(authorization).name(), name);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for wrong in ["Bearer ark1.bac", "Bearer back", "Bearer art1.x", "Bearer ark1.back, x"] {
            assert_eq!(caller(wrong).err(), Some(Code::KEY_INVALID), "{wrong}");
        }
        for none in ["", "Bearer", "Basic ark1.back", "ark1.back"] {
            assert_eq!(caller(none).err(), Some(Code::KEY_MISSING), "{none}");
        }
        let nothing = of(&keys(), Method::GET, &HeaderMap::new(), HERE);
        assert_eq!(nothing.err(), Some(Code::KEY_MISSING));
    }

    #[test]
    fn of_two_that_differ_neither_counts() {
        let two =
            |other| headers(&[("authorization", "Bearer ark1.back"), ("authorization", other)]);
        let of = |headers: &HeaderMap| of(&keys(), Method::GET, headers, None);
        assert_eq!(of(&two("Bearer ark1.ops")).err(), Some(Code::KEY_MISSING));
        assert_eq!(of(&two("Bearer ark1.back")).expect("the same").name(), "back");
    }

    #[test]
    fn role_and_scopes_decide() {
        let may = |key: &'static str| {
            let caller = caller(key).expect(key);
            let all = [Permission::State, Permission::Serve, Permission::View, Permission::Operate];
            let allowed = all.map(|permission| caller.may(permission).is_ok());
            (allowed, caller.touches("queues", "shop").is_ok())
        };
        assert_eq!(may("Bearer ark1.back"), ([true, true, false, false], true));
        assert_eq!(may("Bearer ark1.narrow"), ([true, true, false, false], true));
        assert_eq!(may("Bearer ark1.ops"), ([true; 4], true));
        assert_eq!(may("Bearer ark1.pools"), ([true; 4], false));
        assert_eq!(may("Bearer ark1.screen"), ([true, false, true, false], true));
        let narrow = caller("Bearer ark1.narrow").expect("a key");
        assert!(narrow.touches("queues", "shop2").is_err());
        assert!(narrow.touches("pools", "shop").is_err());
    }

    #[test]
    fn without_keys_only_programs_on_this_machine_come_in() {
        assert_eq!(without_keys(HERE, &[]), None);
        assert_eq!(without_keys(Some("::1".parse().expect("an address")), &[]), None);
        assert_eq!(without_keys(HERE, &[("authorization", "Bearer ark1.any")]), None);
        for peer in [None, Some([10, 0, 0, 1].into())] {
            assert_eq!(without_keys(peer, &[]), Some(Code::KEY_MISSING));
        }
        for name in [
            "forwarded",
            "x-forwarded-for",
            "x-forwarded-host",
            "x-forwarded-x",
            "x-real-ip",
            "via",
        ] {
            assert_eq!(without_keys(HERE, &[(name, "")]), Some(Code::FORWARDED_REFUSED), "{name}");
        }
        for name in ["origin", "sec-fetch-site"] {
            assert_eq!(without_keys(HERE, &[(name, "null")]), Some(Code::ORIGIN_REFUSED), "{name}");
        }
        let here = headers(&[("host", "127.0.0.1:8081")]);
        let caller = of(&BTreeMap::new(), Method::PATCH, &here, HERE).expect("let in");
        assert!(
            caller.may(Permission::Operate).is_ok() && caller.touches("queues", "shop").is_ok()
        );
        assert_eq!(caller.name(), NO_KEY);
    }

    /// A proxy on this machine that adds no header, and a name that was made to lead here.
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
        let session = caller("Bearer ark1.ops").expect("a key").begin_session(session::now());
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
        assert_eq!(of(Method::PATCH, &OWN_PAGE[..2]).err(), Some(Code::KEY_MISSING));
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
        let now = session::now();
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
        let (keys, now) = (keys(), session::now());
        let begin = |name: &str, ago| {
            let session =
                Session::begin(name, &keys[name].digest.0, now - Duration::from_secs(ago));
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
    }

    #[test]
    fn a_call_that_lasts_ends_with_its_session() {
        let mut keys = keys();
        let session = Session::begin("ops", &keys["ops"].digest.0, session::now());
        let signed_in = with_cookie(&session, &OWN_PAGE);
        let caller = of(&keys, Method::GET, &signed_in, None).expect("signed in");
        let access = Access { keys: &keys, sessions: Some(&sessions()) };
        assert!(!caller.session_has_ended(access));
        let other = SessionKeys::new(&[SecretString::from("t".repeat(32))]).expect("a secret");
        assert!(caller.session_has_ended(Access { keys: &keys, sessions: Some(&other) }));
        assert!(caller.session_has_ended(Access { keys: &keys, sessions: None }));
        let by_key = self::caller("Bearer ark1.ops").expect("a key");
        assert!(!by_key.session_has_ended(Access { keys: &keys, sessions: Some(&other) }));

        let key = keys.remove("ops").expect("a key");
        keys.insert("renamed".into(), key);
        let refusal = caller.recheck(&keys).err().map(|problem| problem.code());
        assert_eq!(refusal, Some(Code::KEY_INVALID), "as for each other call of the session");
        assert_eq!(by_key.recheck(&keys).expect("the same key").name(), "renamed");
    }

    #[test]
    fn without_a_console_there_is_no_cookie() {
        let session = Session::begin("ops", &keys()["ops"].digest.0, session::now());
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
}
