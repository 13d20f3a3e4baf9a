//! The visitor behind a request, as far as the request itself shows: the token, where it came from,
//! and whether a browser sent it. Nothing here calls Redis, so a forged token costs no command.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use anteroom_core::queue::{MAX_TICKET, TOKEN_PREFIX, Ticket, Token};
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, ORIGIN, SET_COOKIE};

use crate::callers::client_address::client_address;
use crate::callers::origin::SEC_FETCH_SITE;
use crate::callers::single::{Differs, single};
use crate::defences::{RequestFor, Unit};
use crate::problem::{Code, Problem};
use crate::process::{Process, Settings};
use crate::queue::metrics::JoinRefusal;
use crate::queue::state::QueueState;

/// The header that a token travels in.
pub const TOKEN: HeaderName = HeaderName::from_static("x-anteroom-token");
/// The header in which a client sends the position of its last answer.
pub const POSITION: HeaderName = HeaderName::from_static("x-anteroom-position");
/// How many cookies of the queue's name are looked at. More than one comes only where a sibling
/// host or another path set its own; a header has room for hundreds, and each costs a digest.
const MOST_COOKIES: usize = 4;

/// The headers that identify a visitor, each with one value.
struct VisitorHeaders<'a> {
    token: Option<&'a HeaderValue>,
    origin: Option<&'a HeaderValue>,
    site: Option<&'a HeaderValue>,
}

impl<'a> VisitorHeaders<'a> {
    fn of(headers: &'a HeaderMap) -> Result<Self, Differs> {
        Ok(Self {
            token: single(headers, &TOKEN)?,
            origin: single(headers, &ORIGIN)?,
            site: single(headers, &SEC_FETCH_SITE)?,
        })
    }

    /// At the gate, which refuses with 401 and 403 only, lines that differ count as none.
    fn at_gate(headers: &'a HeaderMap) -> Self {
        Self {
            token: single(headers, &TOKEN).unwrap_or_default(),
            origin: single(headers, &ORIGIN).unwrap_or_default(),
            site: single(headers, &SEC_FETCH_SITE).unwrap_or_default(),
        }
    }
}

/// A request of a visitor of one queue.
pub struct Visitor {
    /// The queue.
    pub queue: Arc<QueueState>,
    /// The token that came.
    pub held: Held,
    /// Whether the token came as the queue's cookie.
    pub by_cookie: bool,
    /// Whether a browser asks: then a token is given as a cookie, never in a body.
    pub is_browser: bool,
    /// Whether a changing call may come from where this one came.
    origin_allowed: bool,
    /// The client's address, behind the trusted proxies.
    pub address: IpAddr,
    /// The position of the client's last answer, if it sent one: an answer is never worse.
    pub last_position: Option<u64>,
    /// When the request came. All checks use it, because a reading of the clock costs 0.3 % of a
    /// request.
    came_at: Instant,
}

/// The token of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// None came.
    Nothing,
    /// We signed it for this queue.
    Valid(Token),
    /// We did not.
    Forged,
}

impl Visitor {
    /// Reads the headers of a request from this peer.
    ///
    /// # Errors
    ///
    /// 400 if a header that identifies the visitor has several values, or the last position is no
    /// number.
    pub fn of(
        process: &Process,
        queue: Arc<QueueState>,
        headers: &HeaderMap,
        peer: IpAddr,
    ) -> Result<Self, Problem> {
        let last_position = last_position(headers)?;
        let of_visitor = VisitorHeaders::of(headers)?;
        Ok(Self { last_position, ..Self::read(process, queue, headers, &of_visitor, peer) })
    }

    /// The same at the gate.
    pub fn at_gate(
        process: &Process,
        queue: Arc<QueueState>,
        headers: &HeaderMap,
        peer: IpAddr,
    ) -> Self {
        Self::read(process, queue, headers, &VisitorHeaders::at_gate(headers), peer)
    }

    fn read(
        process: &Process,
        queue: Arc<QueueState>,
        headers: &HeaderMap,
        of_visitor: &VisitorHeaders<'_>,
        peer: IpAddr,
    ) -> Self {
        let settings = &process.settings();
        let VisitorHeaders { token, origin, site } = *of_visitor;
        let (held, by_cookie) = held(settings, &queue, token, headers);
        let is_browser = by_cookie || origin.is_some() || site.is_some();
        // Another site's page can make a browser send its cookie, or join and be given one; a token
        // in a header it would have to know.
        let could_be_misled = by_cookie || (is_browser && matches!(held, Held::Nothing));
        let public_url = queue.config.public_url.url();
        let origin_allowed =
            !could_be_misled || settings.origins.allow_change(site, origin, public_url);
        let trusted = &settings.trusted_proxies;
        let came_at = Instant::now();
        if let Some(forwarding) = &process.forwarding {
            forwarding.note(peer, headers, trusted, came_at);
        }
        let address = client_address(peer, headers, trusted);
        let last_position = None;
        Self { queue, held, by_cookie, is_browser, origin_allowed, address, last_position, came_at }
    }

    /// Refuses a changing call that another site's page sent with the visitor's cookie.
    pub fn may_change(&self) -> Result<(), Problem> {
        if self.origin_allowed { Ok(()) } else { Err(Problem::new(Code::ORIGIN_REFUSED)) }
    }

    /// The valid token, unless its place has too many requests.
    pub fn holder(&self) -> Result<&Token, Problem> {
        match &self.held {
            Held::Valid(token) => {
                self.may_request(RequestFor::Place(token.place))?;
                Ok(token)
            }
            Held::Forged => Err(self.token_invalid()),
            Held::Nothing => Err(Problem::new(Code::TOKEN_MISSING)),
        }
    }

    /// Takes room for one new place from the visitor's address.
    pub fn may_join(&self) -> Result<Unit<'_>, Problem> {
        self.queue.joins_per_address.take(self.address, self.came_at).map_err(|after| {
            self.queue.metrics.join_refused(JoinRefusal::AddressRate);
            Problem::new(Code::JOIN_LIMITED).retry_after(after)
        })
    }

    /// The client's address, unless it is exempt from bounds by address.
    pub fn counted_address(&self) -> Option<IpAddr> {
        let exempt = &self.queue.config.exempt;
        let address = self.address.to_canonical();
        (!exempt.iter().any(|net| net.contains(&address))).then_some(address)
    }

    /// Counts one request for one place.
    pub fn may_request(&self, of: RequestFor) -> Result<(), Problem> {
        self.queue
            .requests_per_place
            .check(of, self.came_at)
            .map_err(|after| Problem::new(Code::SLOW_DOWN).retry_after(after))
    }

    /// 401, and takes a dead cookie away: the page cannot, and would be refused for ever.
    pub fn token_invalid(&self) -> Problem {
        let problem = Problem::new(Code::TOKEN_INVALID);
        match self.no_cookie() {
            Some(cookie) => problem.header(SET_COOKIE, cookie),
            None => problem,
        }
    }

    /// The `Set-Cookie` that gives a token to the browser.
    pub fn cookie(&self, token: &str) -> Result<HeaderValue, Problem> {
        let cookie = self.queue.cookies.set(self.queue.name(), token);
        cookie.map_err(|error| Problem::new(Code::INTERNAL).cause(error.to_string()))
    }

    /// The `Set-Cookie` that takes the token away again, if it came as one.
    pub fn no_cookie(&self) -> Option<HeaderValue> {
        let name = self.queue.name();
        self.by_cookie.then(|| self.queue.cookies.clear(name).ok()).flatten()
    }
}

/// The token in the header, then in the cookie, then in `Authorization: Bearer art1.…`. The first
/// of these that is there decides, valid or not.
fn held(
    settings: &Settings,
    queue: &QueueState,
    in_header: Option<&HeaderValue>,
    headers: &HeaderMap,
) -> (Held, bool) {
    let verify =
        |text: &str| settings.tokens.verify(queue.name(), text).map_or(Held::Forged, Held::Valid);
    if let Some(token) = in_header {
        return (verify(token.to_str().unwrap_or_default()), false);
    }
    let mut found = None;
    for text in queue.cookies.read(headers, queue.name()).take(MOST_COOKIES) {
        match verify(text) {
            Held::Valid(token) => return (Held::Valid(token), true),
            held => found = Some(held),
        }
    }
    if let Some(held) = found {
        return (held, true);
    }
    (bearer(headers).map_or(Held::Nothing, verify), false)
}

/// The position of the client's last answer; 0 is that of a place which was not in line.
fn last_position(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = single(headers, &POSITION)? else { return Ok(None) };
    let digits = value.to_str().ok().filter(|text| text.bytes().all(|it| it.is_ascii_digit()));
    let position = digits.and_then(|text| text.parse::<Ticket>().ok());
    let position = position.filter(|position| *position <= MAX_TICKET).ok_or_else(|| {
        Problem::new(Code::BAD_REQUEST).detail(format!(
            "{POSITION} must be the position of the last answer, a whole number from 0 to \
             {MAX_TICKET}: correct it, or leave it out"
        ))
    })?;
    Ok(Some(position).filter(|position| *position > 0))
}

/// A Bearer value that is ours; any other belongs to the protected service.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim_start();
    (scheme.eq_ignore_ascii_case("bearer") && token.starts_with(TOKEN_PREFIX)).then_some(token)
}
