//! Where a visitor goes when its turn has come.
//!
//! `return_to` comes from the outside (the path that the gate refused, or a parameter of the
//! waiting page), so it is parsed, and only two forms lead anywhere: one path with a single leading
//! `/` on the waiting page's own host, or an address whose origin is in `return_to_origins`.
//! Userinfo, `\`, `//` and control characters are refused: browsers and proxies do not agree on
//! what they mean. A query goes along only with `return_query`; a fragment never does.

use url::{Origin, Url};

/// Longest `return_to`, in bytes: room pages carry it in their own address.
const MAX_LEN: usize = 2048;

/// The rule for `return_to` of one queue.
#[derive(Clone, Debug)]
pub struct ReturnTo {
    origins: Vec<Origin>,
    keep_query: bool,
}

impl ReturnTo {
    /// `origins` are those of `return_to_origins`; `keep_query` is `return_query`.
    pub fn new<'a>(origins: impl IntoIterator<Item = &'a str>, keep_query: bool) -> Self {
        // Checked origins are addresses, so none is lost here.
        let origins = origins.into_iter().filter_map(|text| Some(Url::parse(text).ok()?.origin()));
        Self { origins: origins.collect(), keep_query }
    }

    /// The place to go to, as it may stand in a `Location` or a link; `None` when refused.
    pub fn parse(&self, text: &str) -> Option<String> {
        let unreadable = |char: char| char.is_control() || char == '\\';
        if text.len() > MAX_LEN || text.contains(unreadable) {
            return None;
        }
        // Only the path and what comes before it: in a query `//` is common and harmless.
        let head = text.split(['?', '#']).next().unwrap_or_default();
        let to =
            if head.starts_with('/') { self.path(text, head) } else { self.address(text, head) };
        // Escaping makes it longer, and the waiting page reads it once more.
        to.filter(|to| to.len() <= MAX_LEN)
    }

    fn path(&self, text: &str, head: &str) -> Option<String> {
        if head.contains("//") {
            return None;
        }
        // The parser escapes what must be escaped, and takes dot segments out.
        let base = Url::parse("http://localhost").ok()?;
        let url = base.join(text).ok().filter(|url| url.origin() == base.origin())?;
        let query = url.query().filter(|_| self.keep_query);
        Some(query.map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path())))
    }

    fn address(&self, text: &str, head: &str) -> Option<String> {
        // Behind the first colon: parsers also take one slash, or none, for the two of an address.
        let (_, rest) = head.split_once(':')?;
        let rest = rest.strip_prefix("//")?;
        let mut url = Url::parse(text).ok()?;
        let userinfo = rest.split('/').next()?.contains('@');
        if userinfo
            // A third slash is none to a parser, which then finds the host, and a user, behind it.
            || rest.starts_with('/')
            || rest.contains("//")
            || !self.origins.contains(&url.origin())
        {
            return None;
        }
        url.set_fragment(None);
        if !self.keep_query {
            url.set_query(None);
        }
        Some(url.into())
    }
}

/// The address of a queue's waiting page, which later leads to `return_to`.
///
/// `public_url` is the only source of absolute addresses: what a request claims about its own host
/// is not believed.
pub fn room(public_url: &Url, queue: &str, return_to: Option<&str>) -> String {
    let base = public_url.as_str().trim_end_matches('/');
    with_return_to(format!("{base}/queues/{queue}"), return_to)
}

/// The address of a page that later leads to `return_to`.
pub fn with_return_to(mut page: String, return_to: Option<&str>) -> String {
    if let Some(return_to) = return_to {
        page.push_str("?return_to=");
        page.extend(url::form_urlencoded::byte_serialize(return_to.as_bytes()));
    }
    page
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::*;

    fn rule(keep_query: bool) -> ReturnTo {
        ReturnTo::new(["https://shop.example", "http://localhost:3000"], keep_query)
    }

    #[test]
    fn a_path_and_an_allowed_origin_are_taken() {
        for (text, expected) in [
            ("/", "/"),
            ("/seats", "/seats"),
            ("/seats/", "/seats/"),
            ("/a/../seats", "/seats"),
            ("/caf\u{e9} 1", "/caf%C3%A9%201"),
            ("/seats?row=1&next=https://evil.example", "/seats"),
            ("/seats#top", "/seats"),
            ("https://shop.example", "https://shop.example/"),
            ("HTTPS://Shop.Example:443/seats", "https://shop.example/seats"),
            ("https://shop.example/seats?row=1#top", "https://shop.example/seats"),
            ("http://localhost:3000/x", "http://localhost:3000/x"),
        ] {
            assert_eq!(rule(false).parse(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn the_query_goes_along_when_it_may() {
        for (text, expected) in [
            ("/seats?row=1&q=//x", "/seats?row=1&q=//x"),
            ("/seats?q=\"<>#top", "/seats?q=%22%3C%3E"),
            ("https://shop.example/seats?row=1#top", "https://shop.example/seats?row=1"),
        ] {
            assert_eq!(rule(true).parse(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let long = format!("/{}", "x".repeat(MAX_LEN));
        for text in [
            "",
            "seats",
            "?x",
            "//evil.example",
            "///evil.example",
            "/a//b",
            "/.//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/a\nSet-Cookie: x",
            "/a\u{7f}",
            " /seats",
            "https://evil.example",
            "https:/shop.example",
            "https:shop.example",
            "http://shop.example",
            "https://shop.example:8443",
            "https://shop.example.evil.example",
            "https://shop.example@evil.example",
            "https://evil@shop.example/",
            "https://@shop.example/",
            "https://shop.example//evil",
            "https://shop.example\\@evil.example",
            "javascript:alert(1)",
            "javascript://shop.example/%0aalert(1)",
            "data:text/html,x",
            &long,
        ] {
            assert_eq!(rule(true).parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_room_s_address_comes_from_public_url() {
        for base in ["https://shop.example", "https://shop.example/"] {
            let base = base.parse().expect("a URL");
            assert_eq!(room(&base, "shop", None), "https://shop.example/queues/shop");
            assert_eq!(
                room(&base, "shop", Some("/seats?row=1&x")),
                "https://shop.example/queues/shop?return_to=%2Fseats%3Frow%3D1%26x"
            );
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_a_browser_stays_on_the_hosts_it_may(
            text in "[/\\\\.:@?#%a-z\\PC]{0,24}",
        ) {
            for text in [text.clone(), format!("/{text}"), format!("https://shop.example{text}")] {
                if let Some(to) = rule(true).parse(&text) {
                    let here = Url::parse("https://room.example/queues/shop")?;
                    let there = here.join(&to)?;
                    let host = there.host_str();
                    let known = [Some("room.example"), Some("shop.example"), Some("localhost")];
                    prop_assert!(known.contains(&host), "{} leads to {}", text, there);
                    // What we give is taken again, unchanged.
                    let again = rule(true).parse(&to);
                    prop_assert!(again.as_deref() == Some(&*to), "{} then {:?}", to, again);
                }
            }
        }
    }
}
