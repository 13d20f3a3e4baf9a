//! Fills the page's template. Values are escaped here and nowhere else.

mod parts;
mod policy;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::time::Duration;

use anteroom_authorize::durations::since_1970;
use anteroom_config::QueueConfig;
use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use rand::Rng as _;

use super::assets::Assets;
use super::languages::Language;
use super::views::{View, duration};

const TEMPLATE: &str = include_str!("../page.html");

/// The time of arrival in a preview.
const SAMPLE_TIME: &str = "14:05";

/// One page for one visitor.
pub struct Page<'a> {
    pub queue: &'a str,
    pub config: &'a QueueConfig,
    /// The language of the visitor, and those that it can have.
    pub language: &'static Language,
    pub languages: &'a [&'static Language],
    /// How long a called visitor has to enter.
    pub claim_ttl: Duration,
    /// Where the forms go.
    pub action: &'a str,
    /// Where the visitor goes when the turn has come; checked. Without one the page itself is where
    /// the visit is: it shows the time left and ends it.
    pub return_to: Option<&'a str>,
    pub assets: &'a Assets,
    /// The host of the request.
    pub host: Option<&'a str>,
    pub view: &'a View,
    /// Whether it is a preview: the page as the script shows it, with all its files in it.
    pub is_preview: bool,
}

impl Page<'_> {
    pub fn response(&self) -> Response {
        let mut response = Response::new(Body::from(self.html()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CONTENT_SECURITY_POLICY, self.policy());
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // The address holds return_to: not for other sites to read.
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        response
    }

    /// Whether an element of the page is shown.
    fn shows(&self, id: &str) -> bool {
        let (view, language) = (self.view, self.language);
        match id {
            "limit" => view.shows("turn") && !self.limit().is_empty(),
            "clock" => view.row().clock.is_some() && view.clock.is_some(),
            "reason" => view.shows(id) && view.reason.is_some(),
            "ahead" => view.shows(id) && view.position > 0,
            "keep" => view.shows(id) && !view.keep(language).is_empty(),
            "go_on" => view.shows(id) && self.return_to.is_some(),
            "progress" | "since" | "notify" => self.is_preview && view.shows(id),
            "leave_no" => self.is_preview,
            id => view.shows(id) || (!self.is_preview && view.shows_plain(id)),
        }
    }

    fn html(&self) -> String {
        let (view, language) = (self.view, self.language);
        let (before, number, after) = view.heading(language);
        let mut html = String::with_capacity(TEMPLATE.len() + language.json.len() + 4_096);
        let mut rest = TEMPLATE;
        while let Some((head, tail)) = rest.split_once("{{") {
            let (name, tail) = tail.split_once("}}").unwrap_or((tail, ""));
            html.push_str(head);
            if let Some(id) = name.strip_prefix("hide_") {
                html.push_str(if self.shows(id) { "" } else { " hidden" });
            } else if let Some(text) = name.strip_prefix("text:") {
                escape(language.text(text), &mut html);
            } else {
                match name {
                    "lang" => escape(language.tag, &mut html),
                    "dir" => escape(language.dir, &mut html),
                    "title" => {
                        let title = self.config.title();
                        escape(title.unwrap_or_else(|| language.text("title")), &mut html);
                    }
                    "head" => self.push_head(&mut html),
                    "logo" => self.push_logo(&mut html),
                    "message" => self.push_message(&mut html),
                    "help" => self.push_help(&mut html),
                    "progress" => html.push_str(if self.is_preview { "37" } else { "0" }),
                    "since" if self.is_preview => {
                        escape(&language.text("since").replace("{time}", SAMPLE_TIME), &mut html);
                    }
                    "since" => {}
                    "icon" => html.push_str(&self.file(&self.assets.icons[0].name)),
                    "queue" => escape(self.queue, &mut html),
                    "action" => escape(self.action, &mut html),
                    "return_to" => escape(self.return_to.unwrap_or_default(), &mut html),
                    "status" => escape(view.status, &mut html),
                    "view" => escape(view.name(), &mut html),
                    "tone" => escape(view.row().tone.as_deref().unwrap_or("calm"), &mut html),
                    "before" => escape(&before, &mut html),
                    "number" => escape(&number, &mut html),
                    "after" => escape(&after, &mut html),
                    "clock_label" => {
                        escape(
                            language.text(view.row().clock.as_deref().unwrap_or_default()),
                            &mut html,
                        );
                    }
                    "time" => escape(&view.time(language), &mut html),
                    "detail" => escape(&view.detail(language, self.is_preview), &mut html),
                    "reason" => escape(view.reason.as_deref().unwrap_or_default(), &mut html),
                    "wait" => escape(&view.wait(language), &mut html),
                    "ahead" => escape(&view.ahead(language), &mut html),
                    "keep" => escape(&view.keep(language), &mut html),
                    "turn" => escape(language.text(self.turn()), &mut html),
                    "limit" => escape(&self.limit(), &mut html),
                    "key" => {
                        html.push_str(&URL_SAFE_NO_PAD.encode(rand::rng().random::<[u8; 24]>()));
                    }
                    "now" => _ = write!(html, "{}", since_1970().as_millis()),
                    "languages" => self.push_languages(&mut html),
                    "texts" => html.push_str(&language.json.replace('<', "\\u003c")),
                    // A test fills the template and looks for what is left.
                    other => _ = write!(html, "{{{{{other}}}}}"),
                }
            }
            rest = tail;
        }
        html.push_str(rest);
        html
    }

    /// How long a called visitor has to enter, in whole minutes.
    fn limit(&self) -> String {
        match self.claim_ttl.as_secs() / 60 {
            0 => String::new(),
            minutes => {
                let time = duration(self.language, minutes);
                self.language.text("limit").replace("{time}", &time)
            }
        }
    }

    /// What happens at the turn.
    fn turn(&self) -> &'static str {
        if self.return_to.is_some() { "turn_leads_on" } else { "turn_here" }
    }
}

/// Makes text safe between tags and in quoted attributes.
fn escape(text: &str, html: &mut String) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
}
