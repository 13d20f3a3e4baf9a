//! What all pages have in common. All that is filled in is escaped, and the Content-Security-Policy
//! lets nothing in but the one style and the one script whose digests it names.

use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Response;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY};
use hyper::body::Bytes;
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const LOGO: &str = "<svg class=\"logo\" viewBox=\"0 0 32 24\" aria-hidden=\"true\">\
    <path d=\"M3 1h26a2 2 0 0 1 2 2v5a4 4 0 0 0 0 8v5a2 2 0 0 1-2 2H3a2 2 0 0 1-2-2v-5\
    a4 4 0 0 0 0-8V3a2 2 0 0 1 2-2z\"/><path class=\"tear\" d=\"M21 5v14\"/></svg>";

static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
        digest(STYLE),
        digest(SCRIPT),
    );
    // Base64 and constants are always a header value.
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// How wide the card of a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One column of text.
    Column,
    /// As wide as its content, for the plan of a large hall.
    Content,
}

/// A page with this card. The title is escaped already.
pub fn page(title: &str, width: Width, card: &str) -> Response<Bytes> {
    let class = match width {
        Width::Column => "",
        Width::Content => " class=\"wide\"",
    };
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header><p>{LOGO}Ticket shop</p></header>\n<main{class}>\n{card}</main>\n\
         <footer><p>This is a sample: no money moves.</p></footer>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n"
    );
    let mut answer = Response::new(Bytes::from(html));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY.clone());
    // The address of a reservation is a secret, so no other site gets it. Not no-referrer: with
    // that, browsers send `Origin: null` with the forms.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    answer
}

/// How long the visit lasts; nothing without a visit that can end.
pub fn visit_clock(visit: Option<Duration>) -> String {
    visit.map_or_else(String::new, |visit| {
        format!(
            "<p class=\"clock\" data-over=\"Your visit has ended. Reload the page to continue.\">\
             Your visit ends in {} <small>Each step extends it.</small></p>\n",
            time_left(visit)
        )
    })
}

/// The way out for a visitor who has a visit.
pub fn leave(visit: Option<Duration>) -> &'static str {
    match visit {
        Some(_) => {
            "<form class=\"leave\" method=\"post\" action=\"/finish\">\
             <button>Leave without a seat</button></form>\n"
        }
        None => "",
    }
}

/// A time that the script counts down. A second that has begun counts, so 0:00 is the end.
pub fn time_left(span: Duration) -> String {
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    let clock = format!("{}:{:02}", seconds / 60, seconds % 60);
    format!("<time data-left=\"{seconds}\">{clock}</time>")
}

/// Text for a place in HTML.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            char => safe.push(char),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_ends_at_zero() {
        for (millis, left) in [(0, "0\">0:00"), (1, "1\">0:01"), (60_000, "60\">1:00")] {
            let time = time_left(Duration::from_millis(millis));
            assert_eq!(time, format!("<time data-left=\"{left}</time>"));
        }
    }

    /// The README has this size.
    #[test]
    fn style_and_script_are_small() {
        assert!(STYLE.len() + SCRIPT.len() <= 8 << 10, "{}", STYLE.len() + SCRIPT.len());
    }
}
