//! What is read of a recording; the rest, such as the bodies of answers, is passed over.

use jiff::Timestamp;
use serde::Deserialize;
use url::Url;

#[derive(Deserialize)]
pub struct Har {
    pub log: Log,
}

#[derive(Deserialize)]
pub struct Log {
    pub entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub started_date_time: Timestamp,
    /// Milliseconds.
    pub time: Option<f64>,
    /// The load of a page that it belongs to.
    #[serde(rename = "pageref")]
    pub page: Option<String>,
    pub request: Request,
    pub response: Option<Response>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub method: String,
    /// None for what is no address.
    #[serde(deserialize_with = "address")]
    pub url: Option<Url>,
    #[serde(default)]
    pub headers: Vec<Header>,
    pub post_data: Option<Body>,
}

#[derive(Deserialize)]
pub struct Header {
    pub name: String,
    pub value: String,
}

/// Its text, or the fields of a form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Body {
    pub mime_type: Option<String>,
    pub text: Option<String>,
    /// `base64`, of some recorders.
    #[serde(alias = "_encoding")]
    pub encoding: Option<String>,
    pub params: Option<Vec<Param>>,
}

#[derive(Deserialize)]
pub struct Param {
    pub name: String,
    pub value: Option<String>,
}

/// Recorders give 0 or -1 for the status of what was never answered.
#[derive(Deserialize)]
pub struct Response {
    status: i64,
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    mime_type: Option<String>,
}

fn address<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Url>, D::Error> {
    Ok(String::deserialize(from)?.parse().ok())
}

/// A request says what it is about by these; all others a browser adds, or they may be secret.
const KEPT_HEADERS: [&str; 5] =
    ["accept", "accept-language", "content-type", "x-requested-with", "if-match"];
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const STATIC_TYPES: [&str; 7] =
    ["image/", "font/", "audio/", "video/", "text/css", "javascript", "application/wasm"];
const STATIC_ENDINGS: [&str; 15] = [
    ".css", ".js", ".mjs", ".map", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif",
    ".ico", ".woff", ".woff2", ".wasm",
];

/// Why a request is no step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    Static,
    /// Such as an `OPTIONS` that a browser asks first by itself.
    Method,
    /// A web socket, an extension's or a page's own address.
    NoHttp,
    Unanswered,
    /// Another origin than the one that the recording is of.
    Origin(String),
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Static => f.write_str("for static files"),
            Self::Method => f.write_str("by other methods"),
            Self::NoHttp => f.write_str("not over HTTP"),
            Self::Unanswered => f.write_str("without an answer"),
            Self::Origin(origin) => write!(f, "of {origin}"),
        }
    }
}

impl Entry {
    /// Where it goes, if it can be a step.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    pub fn address(&self) -> Result<&Url, LeftOut> {
        let http = |url: &&Url| matches!(url.scheme(), "http" | "https");
        let url = self.request.url.as_ref().filter(http).ok_or(LeftOut::NoHttp)?;
        if self.status() == 101 {
            return Err(LeftOut::NoHttp);
        }
        if !METHODS.contains(&self.request.method.as_str()) {
            return Err(LeftOut::Method);
        }
        // What never came back tells nothing.
        if !(100..600).contains(&self.status()) {
            return Err(LeftOut::Unanswered);
        }
        let kind = self.kind();
        let path = url.path().to_ascii_lowercase();
        let of_static = STATIC_TYPES.iter().any(|part| kind.contains(part))
            || STATIC_ENDINGS.iter().any(|ending| path.ends_with(ending));
        if of_static { Err(LeftOut::Static) } else { Ok(url) }
    }

    fn kind(&self) -> String {
        let content = self.response.as_ref().and_then(|response| response.content.as_ref());
        let kind = content.and_then(|content| content.mime_type.as_deref());
        kind.unwrap_or_default().to_ascii_lowercase()
    }

    /// Of its answer, 0 for none.
    pub fn status(&self) -> i64 {
        self.response.as_ref().map_or(0, |response| response.status)
    }

    /// Whether it was answered elsewhere.
    pub fn is_redirect(&self) -> bool {
        (300..400).contains(&self.status()) && self.status() != 304
    }

    /// Whether a person saw its answer as a page of its own.
    pub fn is_page(&self) -> bool {
        let framed = |header: &Header| {
            header.name.eq_ignore_ascii_case("sec-fetch-dest") && header.value.contains("frame")
        };
        !self.is_redirect()
            && self.kind().starts_with("text/html")
            && !self.request.headers.iter().any(framed)
    }

    /// The headers that a step keeps, each once, their names in lower case.
    pub fn headers(&self) -> Vec<(String, &str)> {
        let mut kept: Vec<(String, &str)> = Vec::new();
        for Header { name, value } in &self.request.headers {
            let name = name.to_ascii_lowercase();
            let sent = value.parse::<hyper::header::HeaderValue>().is_ok();
            let new = kept.iter().all(|(known, _)| *known != name);
            if sent && new && KEPT_HEADERS.contains(&name.as_str()) {
                kept.push((name, value));
            }
        }
        kept
    }
}
