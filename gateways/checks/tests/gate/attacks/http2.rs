//! The same over HTTP/2, where an attack has more forms: the method, the host and the path are
//! headers, and a value may hold what ends a line in HTTP/1.

use super::cases::Holds;
use super::{Attacked, answered, arrived};
use crate::raw;

/// One attack: what it changes of an honest `GET /seats`. `{host}` is the address of the gateway.
struct Case {
    holds: Holds,
    /// In the place of the honest ones.
    pseudo: &'static [(&'static str, &'static str)],
    headers: &'static [(&'static str, &'static str)],
    must_pass: bool,
}

/// A client without a place.
const fn stranger(
    pseudo: &'static [(&'static str, &'static str)],
    headers: &'static [(&'static str, &'static str)],
) -> Case {
    Case { holds: Holds::Nothing, pseudo, headers, must_pass: false }
}

/// A client without a place requests a path.
const fn path(path: &'static [(&'static str, &'static str)]) -> Case {
    stranger(path, &[])
}

/// A visitor with a place in `concert` requests what another queue protects, or breaks its own
/// request.
const fn concert(
    pseudo: &'static [(&'static str, &'static str)],
    headers: &'static [(&'static str, &'static str)],
) -> Case {
    Case { holds: Holds::Concert, pseudo, headers, must_pass: false }
}

const CASES: &[Case] = &[
    Case { holds: Holds::Concert, pseudo: &[], headers: &[], must_pass: true },
    Case {
        holds: Holds::Concert,
        pseudo: &[],
        headers: &[("x-anteroom-visitor", "admin"), ("x_anteroom_visitor", "admin")],
        must_pass: true,
    },
    stranger(&[], &[]),
    // --- a closed path in the form of an open one ---
    path(&[(":path", "/public/..;/seats")]),
    path(&[(":path", "/public/../seats")]),
    path(&[(":path", "/public/%2e%2e/seats")]),
    path(&[(":path", "/public/..%2fseats")]),
    path(&[(":path", "/public/..%5cseats")]),
    path(&[(":path", "/public/..\\seats")]),
    path(&[(":path", "/public//../seats")]),
    path(&[(":path", "//seats")]),
    path(&[(":path", "/public/x#/../../seats")]),
    path(&[(":path", "/public/%ef%bc%8e%ef%bc%8e/seats")]),
    path(&[(":path", "seats")]),
    path(&[(":path", "public/../seats")]),
    path(&[(":path", "")]),
    path(&[(":path", "*")]),
    path(&[(":path", "http://{host}/public/../seats")]),
    path(&[(":path", "/public/logo HTTP/1.1\r\nhost: x\r\n\r\nGET /seats")]),
    path(&[(":path", "/public/logo\n/seats")]),
    path(&[(":path", "/public/\t../seats")]),
    path(&[(":path", "/public/logo"), (":path", "/seats")]),
    path(&[(":path", "/seats"), (":path", "/public/logo")]),
    stranger(&[(":path", "/public/logo")], &[(":path", "/seats")]),
    stranger(&[(":path", "/seats")], &[(":path", "/public/logo")]),
    stranger(&[(":path", "/public/logo")], &[("x-original-url", "/seats")]),
    stranger(&[(":path", "/public/logo")], &[("x-anteroom-visitor", "admin")]),
    // --- more than one request ---
    path(&[(":method", "GET /seats HTTP/1.1\r\nx: x\r\n\r\nGET"), (":path", "/public/logo")]),
    path(&[(":scheme", "http://{host}/public/logo?")]),
    stranger(&[(":path", "/public/logo")], &[("transfer-encoding", "chunked")]),
    stranger(
        &[(":path", "/public/logo")],
        &[("x-note", "a\r\n\r\nGET /seats HTTP/1.1\r\nhost: x")],
    ),
    stranger(&[(":method", "CONNECT"), (":path", "/seats"), (":protocol", "websocket")], &[]),
    // --- the gate's own call ---
    path(&[(":path", "/v1/queues/concert/authorize?join=1")]),
    // --- another queue's host ---
    concert(&[(":authority", "vip.shop.example")], &[]),
    concert(&[(":authority", "VIP.shop.example")], &[]),
    concert(&[(":authority", "vip.shop.example:80")], &[]),
    concert(&[(":authority", "concert.shop.example")], &[("host", "vip.shop.example")]),
    concert(&[(":authority", "vip.shop.example")], &[("host", "concert.shop.example")]),
    concert(&[(":authority", "concert.shop.example"), (":authority", "vip.shop.example")], &[]),
    concert(&[(":authority", "vip.shop.example"), (":authority", "concert.shop.example")], &[]),
    concert(&[(":authority", "concert.shop.example@vip.shop.example")], &[]),
    concert(&[(":authority", "vip.shop.example@concert.shop.example")], &[]),
    concert(&[(":authority", "")], &[("host", "vip.shop.example")]),
    concert(&[(":authority", "concert.shop.example\r\nx-forwarded-host: vip.shop.example")], &[]),
    concert(
        &[(":authority", "concert.shop.example")],
        &[("host", "concert.shop.example"), ("host", "vip.shop.example")],
    ),
    concert(
        &[(":authority", "concert.shop.example")],
        &[("x-forwarded-host", "vip.shop.example"), ("x-host", "vip.shop.example")],
    ),
    // --- a false name ---
    concert(&[], &[("X-Anteroom-Visitor", "admin")]),
    concert(&[], &[("x-anteroom-visitor ", "admin")]),
    concert(&[], &[("x-note", "a\r\nx-anteroom-visitor: admin")]),
    concert(&[], &[("x-note: a\r\nx-anteroom-visitor", "admin")]),
    concert(&[], &[("connection", "x-anteroom-visitor, x-anteroom-place")]),
    concert(&[], &[("te", "x-anteroom-visitor")]),
];

/// The pseudo-headers of a case.
fn pseudo(case: &Case, scheme: &str, host: &str) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for (name, honest) in
        [(":method", "GET"), (":scheme", scheme), (":authority", host), (":path", "/seats")]
    {
        let own = case.pseudo.iter().filter(|(other, _)| *other == name);
        let before = all.len();
        all.extend(own.map(|(name, value)| (*name, value.replace("{host}", host))));
        if all.len() == before {
            all.push((name, honest.to_owned()));
        }
    }
    let others = case.pseudo.iter().filter(|(name, _)| all.iter().all(|(known, _)| known != name));
    let others: Vec<_> = others.map(|(name, value)| (*name, (*value).to_owned())).collect();
    all.extend(others);
    all
}

impl Attacked<'_> {
    /// Plays the whole table; returns what went wrong, a line for each case.
    pub(super) async fn play_http2(&self) -> Vec<String> {
        let place = self.join().await;
        let mut wrong = Vec::new();
        for case in CASES {
            let scheme = if self.tls.is_some() { "https" } else { "http" };
            let pseudo = pseudo(case, scheme, self.fast);
            let mut all: Vec<(&str, &str)> =
                pseudo.iter().map(|(name, value)| (*name, &**value)).collect();
            if case.holds == Holds::Concert {
                all.push(("x-anteroom-token", &place.token));
            }
            all.extend(case.headers);
            let before = self.shop.arrivals().len();
            let status = match self.tls {
                Some(tls) => raw::http2(tls.connect().await.expect("TLS"), &all).await,
                None => raw::http2(raw::connect(self.fast).await, &all).await,
            };
            let arrivals = self.shop.arrivals().split_off(before);
            let held = (case.holds == Holds::Concert).then_some(place.ticket);
            let verdict =
                arrived(&arrivals, held).and_then(|()| answered(case.must_pass, status, &arrivals));
            if let Err(why) = verdict {
                wrong.push(format!("{:?} {:?}: {why}", case.pseudo, case.headers));
            }
        }
        wrong
    }
}
