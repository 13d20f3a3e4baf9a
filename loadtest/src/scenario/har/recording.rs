//! What is read of a recording.

use jiff::Timestamp;
use serde::Deserialize;
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
    pub time: Option<f64>,
    /// The load of a page that it belongs to.
    #[serde(rename = "pageref")]
    pub page: Option<String>,
    pub request: Message,
    pub response: Option<Message>,
}

/// A request or an answer.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Message {
    pub method: String,
    url: String,
    status: i64,
    #[serde(rename = "redirectURL")]
    redirect_url: Option<String>,
    pub headers: Vec<Field>,
    #[serde(alias = "postData")]
    pub content: Option<Body>,
}

/// A header, or a field of a form.
#[derive(Deserialize)]
pub struct Field {
    pub name: String,
    pub value: Option<String>,
}

/// Its text, or the fields of a form.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Body {
    pub mime_type: Option<String>,
    pub text: Option<String>,
    /// `base64`, of some recorders.
    #[serde(alias = "_encoding")]
    pub encoding: Option<String>,
    pub params: Option<Vec<Field>>,
}

/// A request says what it is about by these. A browser adds the others, or they may be secret.
const KEPT_HEADERS: [&str; 5] =
    ["accept", "accept-language", "content-type", "x-requested-with", "if-match"];
/// Media types and endings of files that a cache serves.
const STATIC_TYPES: &str = "image/ font/ audio/ video/ text/css javascript application/wasm";
const STATIC_ENDINGS: &str = "css js mjs map png jpg jpeg gif svg webp avif ico woff woff2 wasm";

impl Message {
    /// Its headers, their names in lower case; the `Location` is said twice in a recording.
    pub fn headers(&self) -> impl Iterator<Item = (String, &str)> {
        let value = |field: &'_ Field| field.name.to_ascii_lowercase();
        let own = self.headers.iter().map(move |it| (value(it), it.value.as_deref()));
        let location = self.redirect_url.iter().map(|url| ("location".to_owned(), Some(&**url)));
        let all = own.chain(location.filter(|(_, url)| *url != Some("")));
        all.map(|(name, value)| (name, value.unwrap_or_default()))
    }

    pub fn kind(&self) -> &str {
        self.content.as_ref().and_then(|it| it.mime_type.as_deref()).unwrap_or_default()
    }
}

impl Entry {
    /// Where it goes, if it can be a step.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    pub fn address(&self) -> Result<Url, &'static str> {
        const NO_HTTP: &str = "not over HTTP";
        let url: Url = self.request.url.parse().map_err(|_| NO_HTTP)?;
        let (path, kind) = (url.path().to_ascii_lowercase(), self.kind());
        let (_, ending) = path.rsplit_once('.').unwrap_or_default();
        if !matches!(url.scheme(), "http" | "https") || self.status() == 101 {
            Err(NO_HTTP)
        } else if !METHODS.contains(&self.request.method.as_str()) {
            // Such as an `OPTIONS` that a browser asks first by itself.
            Err("other methods")
        } else if !(100..600).contains(&self.status()) {
            Err("no answer")
        } else if STATIC_TYPES.split(' ').any(|part| kind.contains(part))
            || STATIC_ENDINGS.split(' ').any(|known| known == ending)
        {
            Err("static files")
        } else {
            Ok(url)
        }
    }

    fn kind(&self) -> String {
        self.response.as_ref().map_or("", Message::kind).to_ascii_lowercase()
    }

    /// Of its answer; 0 or -1 for none.
    pub fn status(&self) -> i64 {
        self.response.as_ref().map_or(0, |response| response.status)
    }

    /// Whether it asked for what is not there; no visitor needs that.
    pub fn is_lost(&self) -> bool {
        matches!(self.status(), 404 | 410) && ["GET", "HEAD"].contains(&&*self.request.method)
    }

    /// Whether it was answered elsewhere.
    pub fn is_redirect(&self) -> bool {
        (300..400).contains(&self.status()) && self.status() != 304
    }

    /// Whether a person saw its answer as a page of its own.
    pub fn is_page(&self) -> bool {
        let mut headers = self.request.headers();
        let framed =
            headers.any(|(name, value)| name == "sec-fetch-dest" && value.contains("frame"));
        !self.is_redirect() && self.kind().starts_with("text/html") && !framed
    }

    /// The headers of the request that a step keeps, each once, and the names of the others.
    pub fn headers(&self) -> (Vec<(String, &str)>, Vec<String>) {
        let (mut kept, mut left_out) = (Vec::<(String, &str)>::new(), Vec::new());
        // Not every recorder writes the type of a body twice.
        let kind = [("content-type".to_owned(), self.request.kind())];
        let kind = kind.into_iter().filter(|(_, kind)| !kind.is_empty());
        // Some of HTTP/2 are no headers: `:path`.
        let own = self.request.headers().filter(|(name, _)| !name.starts_with(':'));
        for (name, value) in own.chain(kind) {
            let sent = value.parse::<hyper::header::HeaderValue>().is_ok();
            let known = kept.iter().any(|(known, _)| *known == name);
            if sent && !known && KEPT_HEADERS.contains(&name.as_str()) {
                kept.push((name, value));
            } else if !known {
                left_out.push(name);
            }
        }
        (kept, left_out)
    }
}
