//! The revision of a queue's rules over HTTP: `ETag` and `If-Match`, so that an operator does not
//! overwrite a change that it has not seen.

use anteroom_authorize::callers::single::single;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_core::queue::Revision;
use http::header::IF_MATCH;
use http::{HeaderMap, HeaderValue};

/// The revision of rules as an entity tag.
pub fn etag(revision: Revision) -> HeaderValue {
    let tag = HeaderValue::try_from(format!("\"{revision}\""));
    tag.expect("digits and quotes are visible ASCII")
}

/// The revision that a change is for; `None` for any.
pub fn expected(headers: &HeaderMap) -> Result<Option<Revision>, Problem> {
    let malformed = || {
        let rule = "If-Match must be the ETag of a GET of this queue, or *";
        Problem::new(Code::BAD_REQUEST).detail(rule)
    };
    let Some(tag) = single(headers, &IF_MATCH)? else { return Ok(None) };
    let tag = tag.to_str().map_err(|_| malformed())?.trim();
    if tag == "*" {
        return Ok(None);
    }
    let revision = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
    revision.and_then(Revision::parse).map(Some).ok_or_else(malformed)
}
