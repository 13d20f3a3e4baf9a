//! What handlers take from a request, checked: the peer, what the path names, a JSON body.

use std::fmt;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;

use anteroom_authorize::problem::{Code, Problem};
use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequest, FromRequestParts, Request};
use futures_util::future::poll_immediate;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, TRANSFER_ENCODING};
use http::request::Parts;
use http_body_util::BodyExt as _;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::app::App;
use crate::callers::RequestHead;
use crate::entities::Listed;

/// The longest body that any call takes, in bytes.
pub const MAX_BODY: usize = 16 * 1024;

/// The address of the other end of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

impl Peer {
    /// The address of the request's peer; only a test calls without a connection.
    pub fn address_in(parts: &Parts) -> Option<IpAddr> {
        parts.extensions.get::<Self>().map(|peer| peer.0.ip())
    }

    /// The same, for calls whose answer depends on an address.
    pub fn in_any(parts: &Parts) -> IpAddr {
        Self::address_in(parts).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }
}

impl<'a> RequestHead<'a> {
    /// The head of a request that the router has.
    pub fn of(parts: &'a Parts) -> Self {
        let Parts { method, uri, headers, .. } = parts;
        Self { method, uri, headers, peer: Peer::address_in(parts) }
    }
}

/// The entity that the path names.
pub struct At<T>(pub Arc<T>);

impl<T: Listed> FromRequestParts<Arc<App>> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        app.at(parts.uri.path()).map(Self)
    }
}

/// Reads a JSON object of known fields, at most [`MAX_BODY`] bytes; an empty body counts as `{}`.
pub async fn json_body<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
    app: &App,
) -> Result<T, Problem> {
    let body = whole_body(headers, body, app).await?;
    if body.is_empty() {
        return parse_json(b"{}");
    }
    if !headers.get(CONTENT_TYPE).is_some_and(|value| is_json(value.as_bytes())) {
        return Err(Problem::new(Code::UNSUPPORTED_MEDIA_TYPE));
    }
    parse_json(&body)
}

/// The bytes of a body, at most [`MAX_BODY`], if they come in time. A client that is slow, hangs up
/// or sends too much is refused, which counts as no failure of Anteroom.
pub async fn whole_body(headers: &HeaderMap, body: Body, app: &App) -> Result<Vec<u8>, Problem> {
    if body.is_end_stream() {
        return Ok(Vec::new());
    }
    plain(headers)?;
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(Problem::new(Code::BODY_TOO_LARGE));
    }
    let limit = app.live().config.admission.body_timeout();
    let mut whole = pin!(collected(body));
    // Most bodies came with their heads, and need no timer.
    if let Some(whole) = poll_immediate(&mut whole).await {
        return whole;
    }
    let whole = tokio::time::timeout(limit, whole).await;
    whole.unwrap_or_else(|_| Err(Problem::new(Code::BODY_TIMEOUT)))
}

/// Refuses a compressed body: nothing here decompresses it.
fn plain(headers: &HeaderMap) -> Result<(), Problem> {
    let only = |name: HeaderName, value: &str| {
        headers.get_all(name).iter().all(|it| it.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
    };
    if !only(CONTENT_ENCODING, "identity") {
        return Err(
            Problem::new(Code::UNSUPPORTED_MEDIA_TYPE).detail("Content-Encoding is not taken")
        );
    }
    if !only(TRANSFER_ENCODING, "chunked") {
        return Err(Problem::new(Code::BAD_REQUEST).detail("Transfer-Encoding may be chunked only"));
    }
    Ok(())
}

/// The bytes are copied together as they come: a body in chunks of one byte would otherwise take a
/// hundred times its size.
async fn collected(mut body: Body) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|_| Problem::new(Code::INVALID_BODY).detail("the body broke off"))?
            .into_data()
            .unwrap_or_default();
        if bytes.len() + frame.len() > MAX_BODY {
            return Err(Problem::new(Code::BODY_TOO_LARGE));
        }
        bytes.extend_from_slice(&frame);
    }
    Ok(bytes)
}

/// [`json_body`] as an extractor.
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        json_body(&parts.headers, body, app).await.map(Self)
    }
}

fn is_json(content_type: &[u8]) -> bool {
    let essence = content_type.split(|&b| b == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// Reads one JSON object; an error names its place in the body.
///
/// # Errors
///
/// `invalid_body`, whatever is wrong.
pub fn parse_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    // serde would take an array for a struct, field by field.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Problem::new(Code::INVALID_BODY).detail("the body must be a JSON object"));
    }
    // Tracking the place takes time, and only an error needs it.
    serde_json::from_slice(body).or_else(|_| parse_with_places(body))
}

fn parse_with_places<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner().to_string();
        // An unknown field is named in the message itself.
        let named = path == "." || path == "?" || inner.starts_with("unknown field");
        let detail = if named { inner } else { format!("{path}: {inner}") };
        Problem::new(Code::INVALID_BODY).detail(shortened(detail))
    })?;
    reader.end().map_err(|_| {
        Problem::new(Code::INVALID_BODY).detail("something follows the JSON object")
    })?;
    Ok(value)
}

/// Reads a list of objects. serde would take an array for each, field by field.
pub fn objects<'de, T, D>(reader: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let objects = Vec::<Object<T>>::deserialize(reader)?;
    Ok(objects.into_iter().map(|Object(value)| value).collect())
}

struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields)).map(Object)
    }
}

/// The message may quote the caller's own value: enough of it to recognise, not all 16 KiB.
pub fn shortened(mut text: String) -> String {
    const MOST: usize = 200;
    if text.len() > MOST {
        let end = (0..=MOST).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct SampleBody {
        name: Option<String>,
    }

    fn detail(body: &[u8]) -> String {
        let problem = parse_json::<SampleBody>(body).expect_err("a refusal");
        assert_eq!(problem.code(), Code::INVALID_BODY);
        problem.detail_text().to_owned()
    }

    #[test]
    fn an_object_is_read() {
        assert_eq!(
            parse_json::<SampleBody>(b" {\"name\":\"x\"} ").ok(),
            Some(SampleBody { name: Some("x".into()) })
        );
        assert_eq!(parse_json::<SampleBody>(b"{}").ok(), Some(SampleBody { name: None }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(detail(br#"{"nmae":"x"}"#).contains("`nmae`"));
        assert!(detail(br#"{"name":5}"#).starts_with("name: invalid type: integer `5`"));
        assert!(detail(br#"["x"]"#).contains("JSON object"));
        assert!(detail(b"{\"name\":\"\xff\"}").contains("name"));
        assert!(detail(br#"{} {}"#).contains("follows"));
        assert!(detail(br#"{"name":"a","name":"b"}"#).contains("duplicate"));
        assert!(detail(b"{").contains("EOF"));
    }

    #[test]
    fn a_long_value_is_not_echoed_whole() {
        let body = format!("{{\"{}\":1}}", "é".repeat(4_000));
        assert!(detail(body.as_bytes()).len() < 210);
    }

    #[test]
    fn json_is_json_with_parameters_too() {
        assert!(is_json(b"application/json"));
        assert!(is_json(b"Application/JSON; charset=utf-8"));
        assert!(!is_json(b"text/plain"));
        assert!(!is_json(b"application/jsonx"));
        assert!(!is_json(b""));
    }
}
