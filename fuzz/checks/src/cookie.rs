//! The queue's own cookies are found, and no others.

use anteroom_authorize::callers::cookies::Cookies;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

const QUEUE: &str = "shop";

/// The first byte says how cookies are guarded; each further line is one `Cookie`.
pub fn check(data: &[u8]) {
    let (mode, rest) = crate::with_mode(data);
    let cookies = match mode % 3 {
        0 => Cookies::new(true, None),
        1 => Cookies::new(true, Some("shop.example")),
        _ => Cookies::new(false, None),
    };
    let mut headers = HeaderMap::new();
    for line in rest.split(|&byte| byte == b'\n') {
        let Ok(value) = HeaderValue::from_bytes(line) else { return };
        headers.append(COOKIE, value);
    }
    let found: Vec<_> = cookies.read(&headers, QUEUE).collect();
    assert_eq!(found, expected(&cookies.name(QUEUE), rest));
    for value in found {
        // Read again from the pair that a browser would send back.
        let set = cookies.set(QUEUE, value).expect("it came in a header");
        let pair = set.as_bytes().split(|&byte| byte == b';').next().unwrap_or_default();
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_bytes(pair).expect("part of a header"));
        assert_eq!(cookies.read(&headers, QUEUE).collect::<Vec<_>>(), [value]);
    }
}

/// What is behind `name=`, in pairs that are UTF-8.
fn expected<'a>(name: &str, lines: &'a [u8]) -> Vec<&'a str> {
    let pairs = lines.split(|&byte| b"\n;".contains(&byte));
    let texts = pairs.filter_map(|pair| std::str::from_utf8(pair.trim_ascii()).ok());
    texts.filter_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).collect()
}
