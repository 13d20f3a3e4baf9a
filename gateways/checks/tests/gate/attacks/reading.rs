//! How servers read a path and a host: the strict way, and the most careless.
//!
//! Tomcat and its kin take `;parameters` out of each segment, decode, take `\` for `/`, and resolve
//! dot segments last. Others decode twice (once per layer), take overlong UTF-8 or full-width
//! characters (Unicode's NFKC), or cut blanks off a segment. Others again believe headers in which
//! a proxy in front names the address.

use crate::shop::Arrival;

/// What a request asks for: which part of the site.
#[derive(Debug, PartialEq, Eq)]
pub enum Area {
    /// What needs no place.
    Open,
    /// What the queue of this name protects.
    Queue(String),
}

/// Headers that some server takes the host from.
const NAME_A_HOST: [&str; 6] = [
    "host",
    "x-forwarded-host",
    "x-forwarded-server",
    "x-host",
    "x-original-host",
    "x-http-host-override",
];

/// Every part of the site that some server would take the request to be for.
pub fn areas(arrival: &Arrival) -> Vec<Area> {
    let path = arrival.path.split('?').next().unwrap_or_default();
    let named = ["x-original-url", "x-rewrite-url", "x-envoy-original-path", "x-forwarded-path"];
    let named = named.map(|name| arrival.header(name).concat());
    let mut paths = vec![strict(path), careless(path)];
    paths.extend(named.iter().filter(|path| !path.is_empty()).map(|path| careless(path)));
    let mut hosts: Vec<String> =
        NAME_A_HOST.iter().flat_map(|name| arrival.header(name)).map(str::to_owned).collect();
    for forwarded in arrival.header("forwarded") {
        hosts.extend(forwarded.split_once("host=").map(|(_, host)| host.to_owned()));
    }
    let by_path = paths.iter().map(|path| area(path));
    let by_host = hosts.iter().filter_map(|host| {
        let (name, _) = host.split_once(".shop.example")?;
        Some(Area::Queue(name.to_owned()))
    });
    by_path.chain(by_host).collect()
}

fn area(path: &str) -> Area {
    let mut segments = path.split('/').skip(1);
    match segments.next() {
        Some("public") if segments.next().is_some() => Area::Open,
        Some("shows") => Area::Queue(segments.next().unwrap_or_default().to_owned()),
        _ => Area::Queue("concert".to_owned()),
    }
}

/// As the standard says: nothing is decoded before the segments are separated.
fn strict(path: &str) -> String {
    resolved(&path.replace("%2e", ".").replace("%2E", "."))
}

/// As the most careless server does.
fn careless(path: &str) -> String {
    let mut path = path.as_bytes().to_vec();
    loop {
        let once = decoded(&without_parameters(&path));
        if once == path {
            break;
        }
        path = once;
    }
    let text: String = path.iter().map(|&byte| char::from(byte)).collect();
    let segments = text.replace('\\', "/");
    let trimmed: Vec<&str> = segments
        .split('/')
        .map(|segment| segment.trim_end_matches([' ', '\0', '\r', '\n']))
        .collect();
    resolved(&trimmed.join("/"))
}

fn without_parameters(path: &[u8]) -> Vec<u8> {
    let segments = path.split(|&byte| byte == b'/');
    let names =
        segments.map(|segment| segment.split(|&byte| byte == b';').next().unwrap_or(segment));
    names.collect::<Vec<_>>().join(&b'/')
}

/// Percent-decoding; overlong, full-width and small forms of ASCII included.
fn decoded(path: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match code.filter(|_| first == b'%').and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = &bytes[..];
    while let Some((&first, after)) = rest.split_first() {
        (rest, _) = match (first, after) {
            (0xc0 | 0xc1, [low, after @ ..]) => (after, plain.push((first & 1) << 6 | low & 0x3f)),
            (0xe0, [0x80 | 0x81, low, after @ ..]) => (after, plain.push(low & 0x3f)),
            (0xf0, [0x80, 0x80, low, after @ ..]) => (after, plain.push(low & 0x3f)),
            (0xf8, [0x80, 0x80, 0x80, low, after @ ..]) => (after, plain.push(low & 0x3f)),
            // Full-width: U+FF01 to U+FF5E are ASCII, 0xfee0 further.
            (0xef, [0xbc, low @ 0x81..=0xbf, after @ ..]) => (after, plain.push(low - 0x60)),
            (0xef, [0xbd, low @ 0x80..=0x9e, after @ ..]) => (after, plain.push(low - 0x20)),
            (0xef, [0xb9, 0x92, after @ ..]) => (after, plain.push(b'.')),
            (0xef, [0xb9, 0xa8, after @ ..]) => (after, plain.push(b'\\')),
            (0xef, [0xb9, 0xaa, after @ ..]) => (after, plain.push(b'%')),
            // Leaders: one dot, and two.
            (0xe2, [0x80, 0xa4, after @ ..]) => (after, plain.push(b'.')),
            (0xe2, [0x80, 0xa5, after @ ..]) => (after, plain.extend(b"..")),
            (0xef, [0xb8, 0xb0, after @ ..]) => (after, plain.extend(b"..")),
            _ => (after, plain.push(first)),
        };
    }
    plain
}

/// Without empty and dot segments.
fn resolved(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => _ = kept.pop(),
            segment => kept.push(segment),
        }
    }
    let tail = if path.ends_with('/') && !kept.is_empty() { "/" } else { "" };
    format!("/{}{tail}", kept.join("/"))
}

#[test]
fn a_careless_server_finds_the_seats() {
    for path in [
        "/public/..;/seats",
        "/public/..;a=b/seats",
        "/public/..%5cseats",
        "/public\\..\\seats",
        "/public/%2e%2e/seats",
        "/public/..%2fseats",
        "/public/%252e%252e%252fseats",
        "/public/..%253b/seats",
        "/public/%c0%ae%c0%ae%c0%afseats",
        "/public/..%e0%80%afseats",
        "/public/%ef%bc%8e%EF%BC%8E/%ef%bd%93eats",
        "/public/..%ef%bc%8fseats",
        "/public/..%ef%bc%bcseats",
        "/public/%e2%80%a4%e2%80%a4/seats",
        "/public/%e2%80%a5/seats",
        "/public/%ef%b9%92%ef%b9%92%ef%b9%a8seats",
        "/public/%ef%b8%b0/seats",
        "/public/%ef%bc%852e%ef%b9%aa2e/seats",
        "/public/%f0%80%80%ae%f8%80%80%80%ae/seats",
        "/public/..%20/seats",
        "/public//../seats",
        "/seats;jsessionid=1",
    ] {
        assert_eq!(careless(path), "/seats", "{path}");
    }
    assert_eq!(careless("/public/logo.png"), "/public/logo.png");
    assert_eq!(strict("/shows/vip/..%2fconcert/x"), "/shows/vip/..%2fconcert/x");
    assert_eq!(strict("/shows/vip/%2E./concert"), "/shows/concert");
}

#[test]
fn an_area_is_open_or_of_a_queue() {
    let queue = |name: &str| Area::Queue(name.to_owned());
    for (path, expected) in [
        ("/public/logo", Area::Open),
        ("/public/", Area::Open),
        ("/public", queue("concert")),
        ("/", queue("concert")),
        ("/seats", queue("concert")),
        ("/shows/vip/seats", queue("vip")),
    ] {
        assert_eq!(area(path), expected, "{path}");
    }
}
