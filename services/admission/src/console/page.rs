//! The page of the console and its files, which are in the program.
//!
//! The address of each file has the digest of all files, so browsers can cache it for ever. Modules
//! import each other with relative addresses.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use anteroom_authorize::problem::{Code, Problem};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY};
use http::request::Parts;
use rust_embed::Embed;
use sha2::{Digest as _, Sha256};

use crate::app::App;
use crate::callers::RequestHead;
use crate::callers::caller::Caller;
use crate::http::file::File;

/// The address of the page.
pub const PAGE: &str = "/console";
/// The same with a slash at its end, which users type and proxies add.
pub const PAGE_WITH_SLASH: &str = "/console/";
/// The address of its files.
pub const ASSET: &str = "/console/assets/{digest}/{*file}";
/// The folder of the files, as the page has it.
const ASSETS: &str = "/console/assets/";
const INDEX: &str = "index.html";
const CROSS_ORIGIN_OPENER_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-opener-policy");

/// Browsers run and load only files of this port. Frames show the preview of a waiting page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; frame-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'";

#[derive(Embed)]
#[folder = "src/console/page"]
struct Folder;

/// All files.
struct Files {
    digest: String,
    by_name: BTreeMap<String, File>,
    index: File,
}

static FILES: LazyLock<Files> = LazyLock::new(Files::read);

impl Files {
    fn read() -> Self {
        let (mut by_name, mut index, mut digest) = (BTreeMap::new(), Vec::new(), Sha256::new());
        // In the order of their names.
        for name in Folder::iter() {
            let content = Folder::get(&name).map(|file| file.data).unwrap_or_default();
            digest.update(name.as_bytes());
            digest.update(Sha256::digest(&content));
            if name == INDEX {
                index = content.into_owned();
            } else if let Some(kind) = kind(&name) {
                let file = File::new(kind, content.into_owned().into());
                by_name.insert(name.into_owned(), file);
            }
        }
        let digest = URL_SAFE_NO_PAD.encode(&digest.finalize()[..9]);
        let index = String::from_utf8_lossy(&index).replace(ASSETS, &format!("{ASSETS}{digest}/"));
        Self { digest, by_name, index: File::new("text/html; charset=utf-8", index.into()) }
    }
}

/// The media type of a file; `None` for a file that the page does not load, such as a licence.
fn kind(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}

/// The page. It has no secrets, and asks for the API key itself.
pub async fn page(State(app): State<Arc<App>>, parts: Parts) -> Result<Response, Problem> {
    Caller::may_see_page(app.live().access(), &RequestHead::of(&parts))?;
    let head = [
        (CONTENT_SECURITY_POLICY, POLICY),
        // A page that opens this one in a window cannot control it.
        (CROSS_ORIGIN_OPENER_POLICY, "same-origin"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    Ok((head, FILES.index.content(&parts.headers)).into_response())
}

/// Addresses in the page are relative to the address without a slash.
pub async fn without_slash() -> Redirect {
    Redirect::to(PAGE)
}

/// A file of the page, which never changes under its address.
pub async fn asset(
    State(app): State<Arc<App>>,
    path: Result<Path<(String, String)>, PathRejection>,
    parts: Parts,
) -> Result<Response, Problem> {
    Caller::may_see_page(app.live().access(), &RequestHead::of(&parts))?;
    let named = path.ok().filter(|Path((digest, _))| *digest == FILES.digest);
    let file = named.and_then(|Path((_, name))| FILES.by_name.get(&name));
    let file = file.ok_or_else(|| Problem::new(Code::NOT_FOUND))?;
    Ok(file.response(&parts.headers))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The compressed page, with all files that a browser loads for it.
    #[test]
    fn the_page_is_at_most_150_kib() {
        let size = |file: &File| file.gzip.as_ref().unwrap_or(&file.plain).len();
        let all = FILES.by_name.values().map(size).sum::<usize>() + size(&FILES.index);
        assert!(all <= 150 * 1024, "{all} bytes");
    }

    /// They are unchanged, except for what their list names.
    #[test]
    fn vendored_files_are_those_of_their_list() {
        let list = Folder::get("vendor/README.md").expect("a list").data;
        let list = std::str::from_utf8(&list).expect("text");
        let digests = list.lines().filter_map(|line| {
            let cells: Vec<_> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            let [_, name, .., digest, ""] = cells[..] else { return None };
            name.ends_with(".js").then_some((name, digest))
        });
        let digests: BTreeMap<_, _> = digests.collect();
        let vendored = Folder::iter().filter(|name| name.starts_with("vendor/"));
        let vendored: Vec<_> = vendored.filter(|name| kind(name).is_some()).collect();
        assert_eq!(digests.len(), vendored.len(), "{vendored:?}");
        for name in vendored {
            let content = Folder::get(&name).expect("a file").data;
            let digest: String =
                Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digests.get(&name["vendor/".len()..]), Some(&&*digest), "{name}");
        }
    }

    #[test]
    fn the_page_loads_its_files_by_their_digest() {
        let page = std::str::from_utf8(&FILES.index.plain).expect("text");
        let prefix = format!("{ASSETS}{}/", FILES.digest);
        let loaded: Vec<_> = page.split(ASSETS).skip(1).collect();
        assert!(!loaded.is_empty());
        for rest in loaded {
            let rest = rest.strip_prefix(&*FILES.digest).and_then(|rest| rest.strip_prefix('/'));
            let name = rest.expect(&prefix).split('"').next().expect("a name");
            assert!(FILES.by_name.contains_key(name), "{name}");
        }
    }
}
