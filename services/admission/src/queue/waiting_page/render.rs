//! Fills the page's template. Values are escaped here and nowhere else.

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use rand::Rng as _;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::words::Words;
use crate::durations::whole_seconds;
use crate::problem::Code;
use crate::queue::views::place::{PlaceView, StatusView};
use crate::queue::views::queue::{PausedBy, StateView};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Nothing runs but what has these digests, nothing is loaded but from here, and forms lead nowhere
/// else; where may be added to that.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; \
         base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
        digest(SCRIPT),
        digest(STYLE),
    )
});

/// The policy of a page that leads to `return_to`: browsers apply it to the redirect after a form
/// too.
fn policy(return_to: Option<&str>) -> HeaderValue {
    let elsewhere =
        return_to.and_then(|to| Some(Url::parse(to).ok()?.origin().ascii_serialization()));
    let policy = match elsewhere {
        Some(origin) => HeaderValue::try_from(format!("{} {origin}", *POLICY)),
        None => HeaderValue::try_from(POLICY.as_str()),
    };
    // Base64, constants and an origin: always a header value. The fallback lets nothing run at all.
    policy.unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// What the page has to show.
#[derive(Debug)]
pub enum PageState {
    /// The visitor has no place.
    NoPlace,
    /// The visitor's place has ended.
    Gone,
    /// The visitor has finished.
    Over,
    Place(ShownPlace),
    /// Why a join did not work.
    Refused(Code),
    /// The visitor has a place whose state is unknown now; when to poll next.
    Kept(Option<Duration>),
}

/// A place, as far as the page shows it.
#[derive(Debug)]
pub struct ShownPlace {
    status: StatusView,
    position: u64,
    eta: Option<Duration>,
    poll_after: Duration,
    expires_in: Option<Duration>,
}

impl From<PlaceView<'_>> for ShownPlace {
    fn from(view: PlaceView<'_>) -> Self {
        Self {
            status: view.status,
            position: view.position,
            eta: view.eta_ms.map(Duration::from_millis),
            poll_after: view.poll_after(),
            expires_in: view.expires_in_ms.map(Duration::from_millis),
        }
    }
}

impl PageState {
    /// What the script starts from.
    fn status(&self) -> &'static str {
        match self {
            Self::NoPlace | Self::Refused(_) => "none",
            Self::Gone | Self::Over => "gone",
            Self::Kept(_) => "waiting",
            Self::Place(place) => match place.status {
                StatusView::Waiting => "waiting",
                StatusView::Ready => "ready",
                StatusView::Active => "active",
            },
        }
    }

    fn message(&self, words: &Words, leads_on: bool) -> (String, String) {
        match self {
            Self::NoPlace => (words.no_place.into(), String::new()),
            Self::Gone => (words.ended.into(), words.ended_detail.into()),
            Self::Over => (words.over.into(), words.ended_detail.into()),
            Self::Refused(Code::ASSERTION_MISSING) => (words.identity_ended.into(), String::new()),
            Self::Refused(code) => (words.problem(*code).into(), words.later.into()),
            Self::Kept(_) => (words.busy.into(), format!("{} {}", words.kept, words.again)),
            Self::Place(place) if place.status == StatusView::Waiting => {
                let wait = place.eta.map(|eta| words.wait(eta));
                (words.position(place.position), wait.unwrap_or_default())
            }
            Self::Place(place) => {
                let message = match place.status {
                    StatusView::Active if !leads_on => words.inside,
                    _ => words.turn,
                };
                let left = place.expires_in.filter(|_| !leads_on);
                (message.into(), left.map(|left| words.time_left(left)).unwrap_or_default())
            }
        }
    }

    /// The button that joins, where pressing it may help.
    fn join<'a>(&self, words: &'a Words) -> Option<&'a str> {
        match self {
            Self::NoPlace | Self::Gone | Self::Over => Some(words.join),
            // Only the backend can say who this is.
            Self::Refused(Code::ASSERTION_MISSING) | Self::Place(_) | Self::Kept(_) => None,
            Self::Refused(_) => Some(words.retry),
        }
    }

    /// The turn or the visit, once it has come.
    fn turn(&self) -> Option<StatusView> {
        match self {
            Self::Place(place) if place.status != StatusView::Waiting => Some(place.status),
            _ => None,
        }
    }
}

/// One page for one visitor.
pub struct Page<'a> {
    pub queue: &'a str,
    /// The title that the operator set.
    pub title: Option<&'a str>,
    /// The visitor's language.
    pub words: &'static Words,
    /// The state of the queue, as far as it is known, …
    pub state: StateView,
    pub paused_by: Option<PausedBy>,
    /// … and what the operator says of it.
    pub reason: Option<&'a str>,
    /// Where the form goes.
    pub action: &'a str,
    /// Where the visitor goes when the turn has come; checked. Without one the page itself is where
    /// the visit is: it shows the time left and ends it.
    pub return_to: Option<&'a str>,
    pub shown: &'a PageState,
}

impl Page<'_> {
    /// When a browser without JavaScript is to load the page again. That is a GET, which never
    /// joins.
    pub fn refresh(&self) -> Option<Duration> {
        match self.shown {
            PageState::NoPlace | PageState::Gone | PageState::Over | PageState::Refused(_) => None,
            // The page is left.
            PageState::Place(_) if self.shown.turn().is_some() && self.return_to.is_some() => None,
            // A page is more than a poll: not every second.
            PageState::Place(place) => Some(place.poll_after.max(Duration::from_secs(3))),
            PageState::Kept(after) => Some(after.unwrap_or(Duration::from_secs(5))),
        }
    }

    pub fn response(&self) -> Response {
        let mut response = Response::new(Body::from(self.html()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CONTENT_SECURITY_POLICY, policy(self.return_to));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // The address holds return_to: not for other sites to read.
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        response
    }

    fn html(&self) -> String {
        let (message, detail) = self.shown.message(self.words, self.return_to.is_some());
        let notice = self.words.notice(self.state, self.paused_by, self.reason, &message);
        let join = self.shown.join(self.words);
        // Strings only: this cannot fail.
        let words = serde_json::to_string(self.words).unwrap_or_default();
        let turn = self.shown.turn();
        let go_on = self.return_to.filter(|_| turn.is_some());
        let visit = turn.filter(|_| self.return_to.is_none());
        let key = URL_SAFE_NO_PAD.encode(rand::rng().random::<[u8; 24]>());
        let refresh = match (self.refresh(), go_on) {
            (Some(after), _) => {
                format!("<meta http-equiv=\"refresh\" content=\"{}\">", whole_seconds(after))
            }
            (None, Some(to)) => {
                let to = escaped(to);
                format!("<meta http-equiv=\"refresh\" content=\"1;url={to}\">")
            }
            (None, None) => String::new(),
        };
        let hidden = |offered: bool| if offered { "" } else { " hidden" };
        let mut html = String::with_capacity(TEMPLATE.len() + SCRIPT.len() + STYLE.len() + 1_024);
        let mut rest = TEMPLATE;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").unwrap_or((after, ""));
            html.push_str(before);
            match name {
                "title" => escape(self.title.unwrap_or(self.words.title), &mut html),
                "lang" => escape(self.words.lang, &mut html),
                "words" => escape(&words, &mut html),
                "join" => escape(join.unwrap_or(self.words.join), &mut html),
                "go_on" => escape(self.words.go_on, &mut html),
                "enter" => escape(self.words.enter, &mut html),
                "finish" => escape(self.words.finish, &mut html),
                "notice" => escape(&notice, &mut html),
                "queue" => escape(self.queue, &mut html),
                "action" => escape(self.action, &mut html),
                "return_to" => escape(self.return_to.unwrap_or_default(), &mut html),
                "status" => escape(self.shown.status(), &mut html),
                "message" => escape(&message, &mut html),
                "detail" => escape(&detail, &mut html),
                "key" => escape(&key, &mut html),
                // Ours, and markup already.
                "refresh" => html.push_str(&refresh),
                "style" => html.push_str(STYLE),
                "script" => html.push_str(SCRIPT),
                "hide_notice" => html.push_str(hidden(!notice.is_empty())),
                "hide_join" => html.push_str(hidden(join.is_some())),
                "hide_go_on" => html.push_str(hidden(go_on.is_some())),
                "hide_visit" => html.push_str(hidden(visit.is_some())),
                "hide_enter" => html.push_str(hidden(visit == Some(StatusView::Ready))),
                "hide_finish" => html.push_str(hidden(visit == Some(StatusView::Active))),
                // A test fills the template and looks for what is left.
                other => _ = write!(html, "{{{{{other}}}}}"),
            }
            rest = after;
        }
        html.push_str(rest);
        html
    }
}

fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    escape(text, &mut html);
    html
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

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    const EVIL: &str = "</script><img src=x onerror=\"alert('1')\">&";

    /// The page of an open queue `q`, without texts of the operator.
    fn plain<'a>(shown: &'a PageState, return_to: Option<&'a str>) -> Page<'a> {
        let (words, state) = (Words::of(&HeaderMap::new()), StateView::Open);
        let (queue, action, title, reason, paused_by) = ("q", "q", None, None, None);
        Page { queue, title, words, state, paused_by, reason, action, return_to, shown }
    }

    fn page(shown: &PageState, text: &str) -> String {
        of(shown, StateView::Paused, text, Some(text))
    }

    fn of(shown: &PageState, state: StateView, text: &str, return_to: Option<&str>) -> String {
        let (queue, action, title, reason) = (text, text, Some(text), Some(text));
        Page { queue, action, title, reason, state, ..plain(shown, return_to) }.html()
    }

    fn place(
        status: StatusView,
        position: u64,
        eta: Option<u64>,
        expires_in: Option<u64>,
    ) -> PageState {
        let ms = |time: Option<u64>| time.map(Duration::from_millis);
        let poll_after = Duration::from_secs(if position == 12 { 7 } else { 1 });
        let (eta, expires_in) = (ms(eta), ms(expires_in));
        PageState::Place(ShownPlace { status, position, eta, poll_after, expires_in })
    }

    fn waiting() -> PageState {
        place(StatusView::Waiting, 12, Some(200_000), None)
    }

    fn turn(status: StatusView) -> PageState {
        place(status, 0, None, Some(64_001))
    }

    #[test]
    fn nothing_from_outside_becomes_markup() {
        let all = [
            PageState::NoPlace,
            PageState::Gone,
            PageState::Over,
            waiting(),
            turn(StatusView::Ready),
            turn(StatusView::Active),
            PageState::Refused(Code::QUEUE_FULL),
            PageState::Kept(None),
        ];
        for shown in &all {
            let html = page(shown, EVIL);
            assert!(!html.contains("<img"), "{shown:?}");
            assert_eq!(html.matches("</script>").count(), 1, "{shown:?}");
            assert!(!html.contains("{{"), "{shown:?}");
        }
    }

    #[test]
    fn a_waiting_page_keeps_itself_current_without_a_script() {
        let html = page(&waiting(), "x");
        assert!(html.contains("<noscript><meta http-equiv=\"refresh\" content=\"7\"></noscript>"));
        assert!(html.contains("You are number 12 in line."));
        assert!(html.contains("about 4 minutes"));
        assert!(html.contains("<form id=\"join\" method=\"post\" action=\"x\" hidden>"));
    }

    #[test]
    fn a_turn_leads_on_without_a_script() {
        let html = plain(&turn(StatusView::Ready), Some("/seats?a=1&b=2")).html();
        assert!(html.contains("content=\"1;url=/seats?a=1&amp;b=2\""));
        assert!(html.contains("<a href=\"/seats?a=1&amp;b=2\">"));
        assert!(html.contains("<title>Waiting room</title>"));
        assert!(html.contains("<p id=\"notice\" aria-live=\"polite\" hidden></p>"));
    }

    #[test]
    fn with_nowhere_to_go_on_to_the_page_is_where_the_visit_is() {
        let html = |shown: &PageState| {
            let page = plain(shown, None);
            assert_eq!(page.refresh(), Some(Duration::from_secs(3)), "it keeps the time current");
            page.html()
        };
        let ready = html(&turn(StatusView::Ready));
        assert!(ready.contains(">It is your turn.<") && ready.contains(">Time left: 1:05.<"));
        assert!(ready.contains("value=\"claim\">Enter<"), "{ready}");
        assert!(ready.contains("value=\"finish\" hidden>"), "{ready}");
        let active = html(&turn(StatusView::Active));
        assert!(active.contains(">You are in.<") && active.contains(">Time left: 1:05.<"));
        assert!(active.contains("value=\"finish\">Finish<"), "{active}");
        assert!(active.contains("value=\"claim\" hidden>"), "{active}");
        for html in [ready, active] {
            assert!(html.contains("<form id=\"visit\" method=\"post\" action=\"q\">"), "{html}");
            assert!(html.contains("<p id=\"go-on\" hidden>") && !html.contains("url="), "{html}");
        }
        let onward = page(&turn(StatusView::Active), "/x");
        assert!(onward.contains("<form id=\"visit\" method=\"post\" action=\"/x\" hidden>"));
    }

    #[test]
    fn a_visitor_without_a_place_is_offered_one_and_nothing_joins_by_itself() {
        let html = page(&PageState::NoPlace, "x");
        assert!(html.contains("<form id=\"join\" method=\"post\" action=\"x\">"));
        assert!(html.contains("<noscript></noscript>"));
        assert_ne!(html, page(&PageState::NoPlace, "x"), "each page has a key of its own");
    }

    #[test]
    fn a_closed_queue_is_announced_once() {
        let closed = "The queue is closed to new visitors.";
        for (shown, message, notice) in [
            (PageState::Refused(Code::QUEUE_CLOSED), closed, "until June".into()),
            (waiting(), "You are number 12 in line.", format!("{closed} until June")),
            (PageState::Gone, "Your place has ended.", format!("{closed} until June")),
        ] {
            let html = of(&shown, StateView::Closed, "until June", None);
            assert!(html.contains(&format!(">{message}</p>")), "{shown:?}: {html}");
            assert!(html.contains(&format!(">{notice}</p>")), "{shown:?}: {html}");
        }
    }

    #[test]
    fn whom_only_the_backend_can_name_is_not_offered_what_cannot_help() {
        let html = page(&PageState::Refused(Code::ASSERTION_MISSING), "x");
        assert!(html.contains("<form id=\"join\" method=\"post\" action=\"x\" hidden>"), "{html}");
        assert!(html.contains("<noscript></noscript>"), "{html}");
    }

    /// A test in `tests/ports/page_script.rs` compares the script with the same table.
    #[test]
    fn numbers_and_times_are_shown_as_by_the_script() {
        let table = include_str!("../../../tests/page_script/said.json");
        let table: serde_json::Value = serde_json::from_str(table).expect("JSON");
        let shows = |kind: &str, shown: &dyn Fn(u64) -> PageState| {
            for row in table[kind].as_array().expect("rows") {
                let shown = shown(row[0].as_u64().expect("a number"));
                let text = format!(">{}</p>", row[1].as_str().expect("a text"));
                let html = of(&shown, StateView::Open, "x", None);
                assert!(html.contains(&text), "{kind} {}: {html}", row[0]);
            }
        };
        shows("position", &|position| place(StatusView::Waiting, position, None, None));
        shows("wait", &|eta| place(StatusView::Waiting, 1, Some(eta), None));
        shows("left", &|left| place(StatusView::Active, 0, None, Some(left)));
    }

    #[test]
    fn the_policy_names_both_digests_and_where_forms_may_lead() {
        let of = |return_to| policy(return_to).to_str().expect("ASCII").to_owned();
        let here = of(None);
        assert_eq!(here.matches("'sha256-").count(), 2, "{here}");
        assert!(!here.contains("unsafe") && here.ends_with("; form-action 'self'"), "{here}");
        assert_eq!(of(Some("/seats?row=7")), here);
        let elsewhere = of(Some("https://shop.example:8443/enter;x?to=https://other.example"));
        assert_eq!(elsewhere, format!("{here} https://shop.example:8443"));
    }
}
