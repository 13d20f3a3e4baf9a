//! Who calls: a client's address behind its proxies, the cookie that carries a token, and the
//! origins from which a browser may call.

pub mod client_address;
pub mod cookies;
pub mod origin;
pub mod single;

/// Headers of a request, in this order.
#[cfg(test)]
fn headers(pairs: &[(&'static str, &'static str)]) -> http::HeaderMap {
    let mut headers = http::HeaderMap::new();
    for &(name, value) in pairs {
        headers.append(name, http::HeaderValue::from_static(value));
    }
    headers
}
