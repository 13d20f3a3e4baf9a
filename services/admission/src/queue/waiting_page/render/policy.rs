//! The Content-Security-Policy of the page.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::HeaderValue;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::Page;
use super::parts::WATCH;
use crate::queue::waiting_page::assets::PAGE_SCRIPT;

impl Page<'_> {
    /// Nothing runs but our two scripts, nothing is loaded but our files, and forms lead nowhere
    /// but to the page and, by a redirect, to `return_to`. The script is named by its digest too:
    /// where a browser compares it, its address does not matter.
    pub fn policy(&self) -> HeaderValue {
        if self.is_preview {
            let style = digest(&self.inlined_style());
            let policy = format!("default-src 'none'; style-src 'sha256-{style}'; img-src data:");
            return header(policy);
        }
        let mut style = self.sources(&self.assets.style.name);
        // There is no other name for "here" without a host, and policies know no IPv6.
        if style.is_empty() || self.host.is_some_and(|host| host.starts_with('[')) {
            style = format!("'self' {style}");
        }
        let script = self.sources(&PAGE_SCRIPT.name);
        let elsewhere =
            self.return_to.and_then(|to| Some(Url::parse(to).ok()?.origin().ascii_serialization()));
        let mut policy = format!(
            "default-src 'none'; script-src 'sha256-{}' 'sha256-{}' {script}; style-src {style}; \
             img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; \
             form-action 'self'",
            digest(WATCH),
            PAGE_SCRIPT.digest,
        );
        if let Some(origin) = elsewhere {
            // Browsers apply the policy to the redirect after a form too.
            let _ = write!(policy, " {origin}");
        }
        header(policy)
    }

    /// The addresses of a file as policies name them: at the host of the request, on any port, and
    /// at `public_url`.
    fn sources(&self, file: &str) -> String {
        let public_url = self.config.public_url.url();
        let prefix = public_url.path().trim_end_matches('/');
        let path = format!("{prefix}/queues/{}/assets/{file}", self.queue);
        let is_name =
            |host: &&str| host.bytes().all(|it| it.is_ascii_alphanumeric() || b".-".contains(&it));
        let here = self.host.map(|host| host.split(':').next().unwrap_or_default());
        let here = here.filter(|host| !host.is_empty()).filter(is_name);
        let here = here.map(|host| format!("{host}:*{path}"));
        let public = public_url.host_str().filter(is_name);
        let public = public.map(|_| format!("{}{path}", public_url.origin().ascii_serialization()));
        [here, public].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// The SHA-256 of an inline element, as policies name it.
fn digest(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

/// Base64, constants, hosts and an origin are always a header value. The fallback lets nothing run
/// at all.
fn header(policy: String) -> HeaderValue {
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}
