//! What is read of a recording. A field that is missing or `null` is empty.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
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

/// A request and its answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub started_date_time: Timestamp,
    #[serde(flatten)]
    json: Value,
}

/// Media types and endings of files that a cache serves.
const STATIC_TYPES: &str = "image/ font/ audio/ video/ text/css javascript application/wasm";
const STATIC_ENDINGS: &str = "css js mjs map png jpg jpeg gif svg webp avif ico woff woff2 wasm";

impl Entry {
    /// Reads what some recorders write in another way: answers in base64, numbers in forms.
    pub fn normalize(&mut self) {
        if self.text("/response/content/encoding") == "base64" {
            let bytes = STANDARD.decode(self.text("/response/content/text")).unwrap_or_default();
            self.json["response"]["content"]["text"] = String::from_utf8(bytes).ok().into();
        }
        let params =
            self.json.pointer_mut("/request/postData/params").and_then(Value::as_array_mut);
        let values = params.into_iter().flatten().filter_map(|it| it.get_mut("value"));
        for value in values.filter(|value| value.is_number() || value.is_boolean()) {
            *value = value.to_string().into();
        }
    }

    /// The value at a JSON pointer.
    pub fn at(&self, pointer: &str) -> &Value {
        self.json.pointer(pointer).unwrap_or(&Value::Null)
    }

    pub fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    /// Names and values of headers, or of a form.
    pub fn fields(&self, pointer: &str) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.at(pointer).as_array().into_iter().flatten();
        fields.filter_map(|it| Some((it["name"].as_str()?, it["value"].as_str().unwrap_or(""))))
    }

    pub fn method(&self) -> &str {
        self.text("/request/method")
    }

    /// 0 or -1 for no answer.
    pub fn status(&self) -> i64 {
        self.at("/response/status").as_i64().unwrap_or_default()
    }

    /// Where it goes, or why it cannot be a step.
    pub fn address(&self) -> Result<Url, &'static str> {
        const NO_HTTP: &str = "not over HTTP";
        let url: Url = self.text("/request/url").parse().map_err(|_| NO_HTTP)?;
        let path = url.path().to_ascii_lowercase();
        let kind = self.text("/response/content/mimeType").to_ascii_lowercase();
        let (_, ending) = path.rsplit_once('.').unwrap_or_default();
        let is_static = STATIC_TYPES.split(' ').any(|part| kind.contains(part))
            || STATIC_ENDINGS.split(' ').any(|known| known == ending);
        match self.status() {
            101 => Err(NO_HTTP),
            _ if !matches!(url.scheme(), "http" | "https") => Err(NO_HTTP),
            // Such as an `OPTIONS` that a browser asks first by itself.
            _ if !METHODS.contains(&self.method()) => Err("other methods"),
            100..600 if is_static => Err("static files"),
            100..600 => Ok(url),
            _ => Err("no answer"),
        }
    }

    /// Whether it was answered elsewhere.
    pub fn is_redirect(&self) -> bool {
        matches!(self.status(), 300..=303 | 305..400)
    }

    /// Whether a person saw its answer as a page of its own.
    pub fn is_page(&self) -> bool {
        let framed = |(name, to): (String, &str)| name == "sec-fetch-dest" && to.contains("frame");
        let kind = self.text("/response/content/mimeType").to_ascii_lowercase();
        kind.starts_with("text/html") && !self.is_redirect() && !self.headers().any(framed)
    }

    /// The headers of the request, and the type of its body, which not every recorder writes twice.
    pub fn headers(&self) -> impl Iterator<Item = (String, &str)> {
        self.with("/request/headers", "content-type", "/request/postData/mimeType")
    }

    /// The headers of the answer; the `Location` is twice in a recording.
    pub fn answer_headers(&self) -> impl Iterator<Item = (String, &str)> {
        self.with("/response/headers", "location", "/response/redirectURL")
    }

    /// Headers with names in lower case, and one that has a field of its own.
    fn with(
        &self,
        headers: &str,
        name: &'static str,
        own: &str,
    ) -> impl Iterator<Item = (String, &str)> {
        let own = Some((name, self.text(own))).filter(|(_, value)| !value.is_empty());
        // Some of HTTP/2 are no headers: `:path`.
        let all = self.fields(headers).chain(own).filter(|(name, _)| !name.starts_with(':'));
        all.map(|(name, value)| (name.to_ascii_lowercase(), value))
    }
}
