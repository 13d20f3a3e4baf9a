//! The address of the page: what it says, and how the page names itself.

use std::sync::Arc;

use anteroom_authorize::queue::return_to::with_return_to;
use anteroom_authorize::queue::state::QueueState;
use http::Uri;

use super::QueuePage;
use super::languages::Language;
use crate::app::App;

/// In the address: the visit that was here is over.
pub const OVER: &str = "over";

/// What the query of the page's address says.
#[derive(Debug)]
pub struct Address {
    /// What the page there is made of.
    pub page: Arc<QueuePage>,
    /// Where the visitor wants to go on to, if it may.
    pub return_to: Option<String>,
    /// The language that the visitor chose on the page.
    pub language: Option<&'static Language>,
    /// Whether a visitor without a place reads that the visit is over.
    pub is_over: bool,
}

impl Address {
    /// Reads the query of a request. Of a parameter that comes twice the first counts.
    pub fn of(app: &App, queue: &QueueState, uri: &Uri) -> Self {
        let page = app.page(queue);
        let mut address = Self { page, return_to: None, language: None, is_over: false };
        let (mut wanted, mut tag) = (None, None);
        for (name, value) in url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
        {
            match &*name {
                "return_to" => wanted = wanted.or(Some(value)),
                "lang" => tag = tag.or(Some(value)),
                OVER => address.is_over = true,
                _ => {}
            }
        }
        address.return_to = wanted.and_then(|wanted| queue.return_to.parse(&wanted));
        let mut offered = address.page.languages.iter();
        address.language = tag.and_then(|tag| offered.find(|it| it.tag == tag).copied());
        address
    }

    /// This page, seen from itself: whatever host and path the visitor came by, the cookie is
    /// there.
    pub fn here(&self, queue: &str) -> String {
        let mut page = with_return_to(queue.to_owned(), self.return_to.as_deref());
        if let Some(language) = self.language {
            page.push(if self.return_to.is_some() { '&' } else { '?' });
            page.push_str("lang=");
            page.push_str(language.tag);
        }
        page
    }
}
