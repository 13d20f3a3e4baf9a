//! The table of attacks.

/// What an attacker has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Nothing,
    /// A place in the queue `concert` whose turn has come.
    Concert,
}

/// One attack.
pub struct Case {
    pub name: &'static str,
    pub holds: Holds,
    /// The first line: method and target, and the version unless it is HTTP/1.1. `{host}` is the
    /// address of the gateway.
    pub line: &'static str,
    /// More lines. `Host` is the gateway's own if there is none here.
    pub headers: &'static [&'static str],
    /// An honest request with something false in it: it must pass, without what is false.
    pub must_pass: bool,
}

impl Case {
    /// The request as it goes over the wire. `{xNN}` is a byte that a text cannot have.
    pub fn bytes(&self, host: &str, token: &str) -> Vec<u8> {
        let line = self.line.replace("{host}", host);
        // HTTP/0.9 has nothing but this.
        if line.split(' ').count() == 2 && self.headers == ["none"] {
            return format!("{line}\r\n").into_bytes();
        }
        let mut text = format!("{line} HTTP/1.1\r\n");
        if !self.headers.iter().any(|header| header.starts_with("Host:")) {
            text.push_str(&format!("Host: {host}\r\n"));
        }
        if !self.headers.iter().any(|header| header.starts_with("Connection:")) {
            text.push_str("Connection: close\r\n");
        }
        if self.holds == Holds::Concert {
            text.push_str(&format!("X-Anteroom-Token: {token}\r\n"));
        }
        for header in self.headers {
            text.push_str(header);
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        let mut bytes = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("{x") {
            bytes.extend(before.as_bytes());
            bytes.push(u8::from_str_radix(&after[..2], 16).expect("a byte in hexadecimal"));
            rest = &after[3..];
        }
        bytes.extend(rest.as_bytes());
        bytes
    }
}

/// A client without a place requests a path.
const fn path(line: &'static str) -> Case {
    Case { name: line, holds: Holds::Nothing, line, headers: &[], must_pass: false }
}

/// A client without a place sends more headers.
const fn stranger(
    name: &'static str,
    line: &'static str,
    headers: &'static [&'static str],
) -> Case {
    Case { name, holds: Holds::Nothing, line, headers, must_pass: false }
}

/// A visitor with a place in `concert` requests another queue's part of the site, or breaks its own
/// request.
const fn concert(name: &'static str, line: &'static str, headers: &'static [&'static str]) -> Case {
    Case { name, holds: Holds::Concert, line, headers, must_pass: false }
}

/// A visitor who may pass sends false headers to the service.
const fn liar(name: &'static str, headers: &'static [&'static str]) -> Case {
    Case { name, holds: Holds::Concert, line: "GET /seats", headers, must_pass: true }
}

const NAVIGATION: &[&str] = &[
    "Accept: text/html",
    "Sec-Fetch-Mode: navigate",
    "Sec-Fetch-Dest: document",
    "Sec-Fetch-Site: none",
    "X-Anteroom-Gate: join",
];

pub const CASES: &[Case] = &[
    // --- a closed path in the form of an open one ---
    path("GET /public/..;/seats"),
    path("GET /public/..;a=b/seats"),
    path("GET /public/x/..;/..;/seats"),
    path("GET /public/.;/..;/seats"),
    path("GET /public/..;/seats?/public/logo"),
    path("GET http://{host}/public/..;/seats"),
    path("GET http://{host}/public/../seats"),
    path("GET http://{host}/seats"),
    path("GET https://{host}/seats"),
    path("GET //{host}/seats"),
    path("GET public/../seats"),
    path("GET *"),
    path("TRACE /seats"),
    path("GET /public/..%3b/seats"),
    path("GET /public/%2e%2e%3B/seats"),
    path("GET /public/..%253b/seats"),
    path("GET /public/..%5cseats"),
    path("GET /public/..%5Cseats"),
    path("GET /public/%2e%2e%5cseats"),
    path("GET /public/..\\seats"),
    path("GET /public/x\\..\\..\\seats"),
    path("GET /public/..%255cseats"),
    path("GET /public/%252e%252e/seats"),
    path("GET /public/%252E%252E%252Fseats"),
    path("GET /public/..%252fseats"),
    path("GET /public/..%25252fseats"),
    path("GET /public/%25%32%65%25%32%65/seats"),
    path("GET /public/%u002e%u002e/seats"),
    path("GET /public/%c0%ae%c0%ae/seats"),
    path("GET /public/..%c0%afseats"),
    path("GET /public/..%C1%9Cseats"),
    path("GET /public/..%e0%80%afseats"),
    path("GET /public/{xc0}{xae}{xc0}{xae}/seats"),
    path("GET /public/%EF%BC%8E%EF%BC%8E/seats"),
    path("GET /public/%ef%bc%8e./seats"),
    path("GET /public/.%EF%BC%8e%ef%bc%8fseats"),
    path("GET /public/..%EF%BC%BCseats"),
    path("GET /public/%E2%80%A4%E2%80%A4/seats"),
    path("GET /public/%E2%80%A5/seats"),
    path("GET /public/%EF%B9%92%EF%B9%92/seats"),
    path("GET /public/..%EF%B9%A8seats"),
    path("GET /public/%EF%B8%B0/seats"),
    path("GET /public/%EF%BC%852e%ef%bc%852E/seats"),
    path("GET /public/%EF%B9%AA2e%EF%B9%AA2e/seats"),
    path("GET /public/%F8%80%80%80%AE%F8%80%80%80%AE/seats"),
    path("GET /public/{xef}{xbc}{x8e}{xef}{xbc}{x8e}/seats"),
    path("GET /public/..%20/seats"),
    path("GET /public/..%0d/seats"),
    path("GET /public/..%00/seats"),
    path("GET /public/x#/../../seats"),
    path("GET /public/%2e%2e/seats"),
    path("GET /public/..%2fseats"),
    path("GET /public/%2E%2E%2Fseats"),
    path("GET /public/../seats"),
    path("GET /public/./../seats"),
    path("GET /public//../seats"),
    path("GET /public/x//..//../seats"),
    path("GET //public/..;/seats"),
    path("GET //seats"),
    path("GET /PUBLIC/seats"),
    path("GET /publicity"),
    path("GET /public"),
    path("GET /seats?/public/"),
    path("GET /seats#/public/"),
    path("POST /public/..;/orders"),
    path("OPTIONS /public/..;/orders"),
    path("GET /public/"),
    path("GET //public//logo"),
    path("GET /public/50%25"),
    path("GET /public/%EF%BC%81%E2%80%A6"),
    stranger("HTTP/0.9", "GET /seats", &["none"]),
    stranger("HTTP/0.9 with a path in disguise", "GET /public/..;/seats", &["none"]),
    // --- another address than the one that was judged, in a header ---
    stranger("X-Original-URL on an open path", "GET /public/logo", &["X-Original-URL: /seats"]),
    stranger("X-Rewrite-URL on an open path", "GET /public/logo", &["X-Rewrite-URL: /seats"]),
    stranger(
        "X-Envoy-Original-Path on an open path",
        "GET /public/logo",
        &["X-Envoy-Original-Path: /seats", "X-Forwarded-Path: /seats"],
    ),
    stranger("X-Original-URL to the gate", "GET /seats", &["X-Original-URL: /public/logo"]),
    stranger("X-Forwarded-Uri to the gate", "GET /seats", &["X-Forwarded-Uri: /public/logo"]),
    stranger(
        "a false name on an open path",
        "GET /public/logo",
        &[
            "X-Anteroom-Visitor: admin",
            "X-Anteroom-Visitor-Kind: identified",
            "X-Anteroom-Place: someone-elses",
            "X-Anteroom-Expires-In: 999",
            "X-Anteroom-Gate: join",
            "X-Anteroom-Room: https://evil.example",
            "X-Anteroom-Refusal: none",
            "X-Anteroom-Token: art1.x",
            "X_Anteroom_Visitor: admin",
        ],
    ),
    // --- the gate's own call, and joining without a gateway's header ---
    stranger("the gate's call", "GET /v1/queues/concert/authorize?join=1", NAVIGATION),
    stranger(
        "the gate's call behind a path",
        "GET /v1/queues/concert/authorize/x?join=1",
        NAVIGATION,
    ),
    stranger(
        "the gate's call in the form of a visitor's",
        "GET /v1/queues/concert/authorize/..%2ftoken?join=1",
        NAVIGATION,
    ),
    stranger(
        "the same, dots encoded",
        "GET /v1/queues/concert/authorize/%2e%2e/token?join=1",
        NAVIGATION,
    ),
    stranger(
        "the same in the form of the page",
        "GET /v1/queues/concert/authorize/..%2f..%2f..%2f..%2fqueues/concert?join=1",
        NAVIGATION,
    ),
    stranger(
        "the same, a stream",
        "GET /v1/queues/concert/authorize/..%2ftoken/events?join=1",
        NAVIGATION,
    ),
    stranger(
        "a wish to the gate in a header",
        "GET /seats?join=1",
        &["X-Anteroom-Gate: join, redirect", "Sec-Fetch-Mode: cors", "Accept: */*"],
    ),
    stranger("a wish to the gate, as a page is opened", "GET /seats", NAVIGATION),
    // --- another queue's part of the site ---
    stranger("a captured name that ends the path", "GET /shows/concert%3f/seats", &[]),
    stranger("a captured name with a query", "GET /shows/concert%3Fx=/seats", &[]),
    stranger("a captured name with a fragment", "GET /shows/concert%23/seats", &[]),
    stranger("a captured name with a line", "GET /shows/concert%0a/seats", &[]),
    stranger("a captured name with a header", "GET /shows/concert%20HTTP%0d%0aX:%20/seats", &[]),
    stranger("an invalid captured name", "GET /shows/_/seats", &[]),
    concert("an invalid captured name, with a place", "GET /shows/CONCERT/seats", &[]),
    concert("another queue's path", "GET /shows/vip/seats", &[]),
    concert("another queue's path, parameters", "GET /shows/concert/..;/vip/seats", &[]),
    concert("another queue's path, backslash", "GET /shows/concert/..%5cvip/seats", &[]),
    concert("another queue's path, slash encoded", "GET /shows/concert/..%2fvip/seats", &[]),
    concert("another queue's path, raw", "GET /shows/vip/..%2fconcert/seats", &[]),
    concert(
        "another queue's path, raw, dots encoded",
        "GET /shows/vip/%2e%2e%2fconcert/seats",
        &[],
    ),
    concert("another queue's path, raw, from the rest", "GET /shows/vip/..%2f..%2fseats", &[]),
    concert("another queue's host", "GET /seats", &["Host: vip.shop.example"]),
    concert("another queue's host in capitals", "GET /seats", &["Host: VIP.shop.example"]),
    concert("another queue's host with a port", "GET /seats", &["Host: vip.shop.example:80"]),
    concert("another queue's host with a dot", "GET /seats", &["Host: vip.shop.example."]),
    concert(
        "another queue's host as a user",
        "GET /seats",
        &["Host: vip.shop.example@concert.shop.example"],
    ),
    concert(
        "another queue's host before a slash",
        "GET /seats",
        &["Host: vip.shop.example/concert.shop.example"],
    ),
    concert("another queue's host before a blank", "GET /seats", &["Host: vip.shop.example x"]),
    concert(
        "another queue's host in a list",
        "GET /seats",
        &["Host: vip.shop.example, concert.shop.example"],
    ),
    concert("another queue's address", "GET http://vip.shop.example/seats", &[]),
    concert(
        "another queue's address as a user",
        "GET http://vip.shop.example@concert.shop.example/seats",
        &["Host: concert.shop.example"],
    ),
    concert(
        "another queue's address beside the host",
        "GET http://vip.shop.example/seats",
        &["Host: concert.shop.example"],
    ),
    concert(
        "another queue's host beside the address's",
        "GET http://concert.shop.example/seats",
        &["Host: vip.shop.example"],
    ),
    concert("two hosts", "GET /seats", &["Host: concert.shop.example", "Host: vip.shop.example"]),
    concert(
        "a forwarded host",
        "GET /seats",
        &["Host: concert.shop.example", "X-Forwarded-Host: vip.shop.example"],
    ),
    concert(
        "a host in other headers",
        "GET /seats",
        &[
            "Host: concert.shop.example",
            "X-Host: vip.shop.example",
            "X-Original-Host: vip.shop.example",
            "X-HTTP-Host-Override: vip.shop.example",
            "X-Forwarded-Server: vip.shop.example",
        ],
    ),
    concert(
        "a forwarded host, the standard's way",
        "GET /seats",
        &["Host: concert.shop.example", "Forwarded: for=1.2.3.4;host=vip.shop.example"],
    ),
    // --- a false name, by a visitor who may pass ---
    liar(
        "each header of ours",
        &[
            "X-Anteroom-Visitor: admin",
            "X-Anteroom-Visitor-Kind: identified",
            "X-Anteroom-Place: someone-elses",
            "X-Anteroom-Expires-In: 999999",
            "X-Anteroom-Gate: join, redirect",
            "X-Anteroom-Room: https://evil.example",
            "X-Anteroom-Refusal: none",
        ],
    ),
    liar("two of one", &["X-Anteroom-Visitor: admin", "x-anteroom-visitor: root"]),
    liar("underscores", &["X_Anteroom_Visitor: admin", "x-anteroom_visitor: admin"]),
    concert(
        "a header that the next hop should drop",
        "GET /seats",
        &["Connection: close, x-anteroom-visitor, x-anteroom-place, x-anteroom-token"],
    ),
    concert(
        "two tokens",
        "GET /seats",
        &["X-Anteroom-Token: art1.another", "X-Anteroom-Visitor: admin"],
    ),
    stranger(
        "a length and chunks",
        "POST /public/logo",
        &[
            "Content-Length: 4",
            "Transfer-Encoding: chunked",
            "",
            "0",
            "",
            "GET /seats HTTP/1.1",
            "Host: {host}",
        ],
    ),
    stranger(
        "chunks in disguise",
        "POST /public/logo",
        &[
            "Content-Length: 4",
            "Transfer-Encoding : chunked",
            "",
            "0",
            "",
            "GET /seats HTTP/1.1",
            "Host: {host}",
        ],
    ),
    stranger(
        "two lengths",
        "POST /public/logo",
        &["Content-Length: 0", "Content-Length: 44", "", "GET /seats HTTP/1.1", "Host: {host}"],
    ),
    concert("a folded line", "GET /seats", &["X-Note: a", " X-Anteroom-Visitor: admin"]),
    concert("a blank before the colon", "GET /seats", &["X-Anteroom-Visitor : admin"]),
];
