//! The answer of the gateway check as Envoy reads it.

use std::collections::HashMap;

use anteroom_authorize::queue::gate::OWN_HEADERS;
use bytes::Bytes;
use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::core::v3::{HeaderValue, HeaderValueOption};
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use envoy_types::pb::envoy::service::auth::v3::{
    CheckResponse, DeniedHttpResponse, OkHttpResponse,
};
use envoy_types::pb::envoy::r#type::v3::HttpStatus;
use envoy_types::pb::google::protobuf::value::Kind;
use envoy_types::pb::google::protobuf::{Struct, Value};
use envoy_types::pb::google::rpc;
use http::header::{CONNECTION, COOKIE, HeaderMap, HeaderName, SET_COOKIE, UPGRADE};
use http::{Response, StatusCode};

use super::foreign;
use super::request::VisitorRequest;

/// Codes of gRPC. Envoy reads them as passed or not.
const OK: i32 = 0;
const PERMISSION_DENIED: i32 = 7;
const UNAUTHENTICATED: i32 = 16;

/// Envoy makes one for each request, or takes over that of a caller it trusts.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The answer to this request.
pub fn of(answer: Response<Bytes>, request: &VisitorRequest) -> CheckResponse {
    let (parts, body) = answer.into_parts();
    let (code, response) = match parts.status {
        StatusCode::OK => (OK, HttpResponse::OkResponse(passed(&parts.headers, request))),
        status => {
            let code = if status == StatusCode::UNAUTHORIZED {
                UNAUTHENTICATED
            } else {
                PERMISSION_DENIED
            };
            let denied = denied(status, &parts.headers, &body, request);
            (code, HttpResponse::DeniedResponse(denied))
        }
    };
    CheckResponse {
        status: Some(rpc::Status { code, ..Default::default() }),
        dynamic_metadata: Some(metadata(&parts.headers)),
        http_response: Some(response),
    }
}

/// The service gets the headers of Anteroom that have a value, and no client's own.
fn passed(headers: &HeaderMap, request: &VisitorRequest) -> OkHttpResponse {
    let valued = OWN_HEADERS.into_iter().filter(|name| !text(headers, name).is_empty());
    let mut set: Vec<_> = valued.map(|name| overwrite(&name, text(headers, &name))).collect();
    let mut gone: Vec<String> = foreign::names(&request.headers)
        .filter(|name| !set.iter().any(|set| key(set) == *name))
        .map(str::to_owned)
        .collect();
    match foreign::other_cookies(&request.headers) {
        Some(cookies) if cookies.is_empty() => gone.push(COOKIE.as_str().to_owned()),
        Some(cookies) => set.push(overwrite(&COOKIE, &cookies)),
        None => {}
    }
    // A proxy behind Envoy would remove the headers that a client names there.
    if request.headers.contains_key(UPGRADE) {
        set.push(overwrite(&CONNECTION, "upgrade"));
    }
    let cookies = headers.get_all(SET_COOKIE).iter().filter_map(utf8);
    OkHttpResponse {
        headers: set,
        headers_to_remove: gone,
        response_headers_to_add: cookies.map(|cookie| append(&SET_COOKIE, cookie)).collect(),
        ..Default::default()
    }
}

fn denied(
    status: StatusCode,
    headers: &HeaderMap,
    body: &Bytes,
    request: &VisitorRequest,
) -> DeniedHttpResponse {
    let lines = headers.iter().filter_map(|(name, value)| Some((name, utf8(value)?)));
    // No cache may keep it.
    let no_store = append(&http::header::CACHE_CONTROL, "no-store");
    // As Envoy's own log names the request.
    let id = text(&request.headers, &REQUEST_ID);
    let id = (!id.is_empty()).then(|| append(&REQUEST_ID, id));
    DeniedHttpResponse {
        status: Some(HttpStatus { code: status.as_u16().into() }),
        headers: lines
            .map(|(name, value)| append(name, value))
            .chain([no_store])
            .chain(id)
            .collect(),
        body: String::from_utf8_lossy(body).into_owned(),
    }
}

/// For access logs and later filters: the headers of Anteroom, without `x-anteroom-`.
fn metadata(headers: &HeaderMap) -> Struct {
    let fields: HashMap<_, _> = OWN_HEADERS
        .iter()
        .filter(|name| !text(headers, name).is_empty())
        .map(|name| {
            let kind = Kind::StringValue(text(headers, name).to_owned());
            let field = name.as_str().trim_start_matches("x-anteroom-").replace('-', "_");
            (field, Value { kind: Some(kind) })
        })
        .collect();
    Struct { fields }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(utf8).unwrap_or_default()
}

/// A visitor_id may have any letters.
fn utf8(value: &http::HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok()
}

fn key(option: &HeaderValueOption) -> &str {
    option.header.as_ref().map_or("", |header| &header.key)
}

fn overwrite(name: &HeaderName, value: &str) -> HeaderValueOption {
    header(name, value, HeaderAppendAction::OverwriteIfExistsOrAdd)
}

fn append(name: &HeaderName, value: &str) -> HeaderValueOption {
    header(name, value, HeaderAppendAction::AppendIfExistsOrAdd)
}

fn header(name: &HeaderName, value: &str, action: HeaderAppendAction) -> HeaderValueOption {
    let header = HeaderValue {
        key: name.as_str().to_owned(),
        value: value.to_owned(),
        ..Default::default()
    };
    HeaderValueOption {
        header: Some(header),
        append_action: action.into(),
        keep_empty_value: true,
        ..Default::default()
    }
}
