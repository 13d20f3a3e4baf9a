//! No open redirect: whatever is requested, a visitor goes to a path of the same host, or to an
//! origin that the configuration names.

use anteroom_authorize::queue::gate::GateRequest;
use anteroom_authorize::queue::return_to::{ReturnTo, room};
use http::{HeaderValue, Request};
use url::Url;

const ORIGINS: [&str; 2] = ["https://shop.example", "http://localhost:3000"];
const HEADERS: [&str; 3] = ["x-forwarded-uri", "x-original-uri", "x-original-url"];

/// The first byte says whether queries are kept and how the gateway names the original path; the
/// rest is what it names, and also the `return_to` of the waiting page's own address.
pub fn check(data: &[u8]) {
    let (mode, rest) = crate::with_mode(data);
    let keep_query = mode & 1 == 1;
    if let Ok(text) = std::str::from_utf8(rest) {
        leads_home(text, keep_query);
    }
    let mut request = Request::builder().uri("/v1/queues/concert/authorize");
    match (HEADERS.get(usize::from(mode >> 1) % 4), HeaderValue::from_bytes(rest)) {
        (Some(name), Ok(value)) => request = request.header(*name, value),
        (Some(_), Err(_)) => return,
        (None, _) => {
            let Ok(path) = std::str::from_utf8(rest) else { return };
            request = request.uri(format!("/v1/queues/concert/authorize/{path}"));
        }
    }
    if let Ok(request) = request.body(())
        && let (parts, ()) = request.into_parts()
        && let Some(path) = GateRequest::Http(&parts).path()
    {
        leads_home(path, keep_query);
    }
}

fn leads_home(text: &str, keep_query: bool) {
    let rule = ReturnTo::new(ORIGINS, keep_query);
    let Some(to) = rule.parse(text) else { return };
    assert_eq!(rule.parse(&to).as_ref(), Some(&to), "taken as it is");
    assert!(to.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\'), "{to:?}");
    assert!(!to.contains('#') && (keep_query || !to.contains('?')), "{to:?}");
    HeaderValue::from_str(&to).expect("it fits a Location");
    let home = Url::parse("https://tickets.example/queues/concert").expect("an address");
    let target = home.join(&to).expect("a browser can follow it");
    if to.starts_with('/') {
        assert!(!to.starts_with("//"), "{to:?}");
        assert_eq!(target.origin(), home.origin(), "{to:?}");
    } else {
        let origin = target.origin().ascii_serialization();
        assert!(ORIGINS.contains(&origin.as_str()), "{to:?}");
        assert!(target.username().is_empty() && target.password().is_none(), "{to:?}");
    }
    // Carried in the waiting page's address and read again.
    let room = Url::parse(&room(&home, "concert", Some(&to))).expect("an address");
    assert_eq!(room.origin(), home.origin());
    let carried = room.query_pairs().find(|(name, _)| name == "return_to");
    assert_eq!(carried.map(|(_, value)| value.into_owned()), Some(to));
}
