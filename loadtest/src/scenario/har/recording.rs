//! What is read of a recording. A field that is missing or `null` is empty.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use url::Url;

use crate::scenario::file::METHODS;

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
    #[serde(default, deserialize_with = "or_default")]
    pub time: f64,
    /// The load of a page that it belongs to.
    #[serde(rename = "pageref")]
    pub page: Option<String>,
    pub request: Message,
    #[serde(default, deserialize_with = "or_default")]
    pub response: Message,
}

/// A request or an answer.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Message {
    pub method: String,
    url: String,
    /// 0 or -1 for no answer.
    pub status: i64,
    #[serde(rename = "redirectURL", deserialize_with = "or_default")]
    redirect_url: String,
    headers: Vec<Field>,
    #[serde(alias = "postData", deserialize_with = "or_default")]
    pub content: Body,
}

/// A header, or a field of a form.
#[derive(Deserialize)]
pub struct Field {
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub value: String,
}

/// Its text, or the fields of a form.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Body {
    #[serde(deserialize_with = "or_default")]
    pub mime_type: String,
    #[serde(deserialize_with = "or_default")]
    pub text: String,
    /// `base64`, of some recorders.
    #[serde(alias = "_encoding")]
    pub encoding: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub params: Vec<Field>,
}

fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Media types and endings of files that a cache serves.
const STATIC_TYPES: &str = "image/ font/ audio/ video/ text/css javascript application/wasm";
const STATIC_ENDINGS: &str = "css js mjs map png jpg jpeg gif svg webp avif ico woff woff2 wasm";

impl Message {
    /// Its headers, their names in lower case; the `Location` is said twice in a recording.
    pub fn headers(&self) -> impl Iterator<Item = (String, &str)> {
        let own = self.headers.iter().map(|it| (it.name.to_ascii_lowercase(), &*it.value));
        let location = Some(&*self.redirect_url).filter(|url| !url.is_empty());
        own.chain(location.map(|url| ("location".to_owned(), url)))
    }

    fn kind(&self) -> String {
        self.content.mime_type.to_ascii_lowercase()
    }
}

impl Entry {
    /// Where it goes, or why it cannot be a step.
    pub fn address(&self) -> Result<Url, &'static str> {
        const NO_HTTP: &str = "not over HTTP";
        let url: Url = self.request.url.parse().map_err(|_| NO_HTTP)?;
        let (path, kind) = (url.path().to_ascii_lowercase(), self.response.kind());
        let (_, ending) = path.rsplit_once('.').unwrap_or_default();
        let is_static = STATIC_TYPES.split(' ').any(|part| kind.contains(part))
            || STATIC_ENDINGS.split(' ').any(|known| known == ending);
        match self.response.status {
            101 => Err(NO_HTTP),
            _ if !matches!(url.scheme(), "http" | "https") => Err(NO_HTTP),
            // Such as an `OPTIONS` that a browser asks first by itself.
            _ if !METHODS.contains(&self.request.method.as_str()) => Err("other methods"),
            100..600 if is_static => Err("static files"),
            100..600 => Ok(url),
            _ => Err("no answer"),
        }
    }

    /// Whether it asked for what is not there; no visitor needs that.
    pub fn is_lost(&self) -> bool {
        let asked = (self.request.method.as_str(), self.response.status);
        matches!(asked, ("GET" | "HEAD", 404 | 410))
    }

    /// Whether it was answered elsewhere.
    pub fn is_redirect(&self) -> bool {
        (300..400).contains(&self.response.status) && self.response.status != 304
    }

    /// Whether a person saw its answer as a page of its own.
    pub fn is_page(&self) -> bool {
        let frame = |value: &str| value.contains("frame");
        let mut headers = self.request.headers();
        let framed = headers.any(|(name, value)| name == "sec-fetch-dest" && frame(value));
        self.response.kind().starts_with("text/html") && !self.is_redirect() && !framed
    }

    /// The headers of the request, and the type of its body, which not every recorder writes twice.
    pub fn headers(&self) -> impl Iterator<Item = (String, &str)> {
        let kind = Some(&*self.request.content.mime_type).filter(|kind| !kind.is_empty());
        let all = self.request.headers().chain(kind.map(|kind| ("content-type".to_owned(), kind)));
        // Some of HTTP/2 are no headers: `:path`.
        all.filter(|(name, _)| !name.starts_with(':'))
    }
}
