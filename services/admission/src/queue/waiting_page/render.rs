//! Fills the page's template. Values are escaped here and nowhere else.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anteroom_config::QueueConfig;
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

use super::assets::{Assets, PAGE_SCRIPT};
use super::languages::Language;
use super::views::View;
use crate::durations::whole_seconds;

const TEMPLATE: &str = include_str!("page.html");

/// Loads the page again if one of its files did not come: while a new version is rolled out, the
/// page and its files can be those of two versions.
const WATCH: &str = "addEventListener(\"error\",e=>{if(/^(SCRIPT|LINK)$/.test(e.target.tagName))\
                     setTimeout(()=>location.reload(),5e3+1e4*Math.random())},true)";

/// The time of arrival in a preview.
const SAMPLE_TIME: &str = "14:05";

static WATCH_DIGEST: LazyLock<String> =
    LazyLock::new(|| STANDARD.encode(Sha256::digest(WATCH.as_bytes())));

/// One page for one visitor.
pub struct Page<'a> {
    pub queue: &'a str,
    pub config: &'a QueueConfig,
    /// The language of the visitor, …
    pub language: &'static Language,
    /// … and those that it can have, …
    pub languages: &'a [&'static Language],
    /// … each with the address of the page in it.
    pub in_language: &'a dyn Fn(&Language) -> String,
    /// Where the forms go.
    pub action: &'a str,
    /// Where the visitor goes when the turn has come; checked. Without one the page itself is where
    /// the visit is: it shows the time left and ends it.
    pub return_to: Option<&'a str>,
    pub assets: &'a Assets,
    /// The host of the request.
    pub host: Option<&'a str>,
    pub view: &'a View,
    /// Whether it is the page as the script shows it: a preview, with all its files in it.
    pub has_script: bool,
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

    /// When a browser without JavaScript is to load the page again. That is a GET, which never
    /// joins.
    pub fn refresh(&self) -> Option<Duration> {
        self.view.look_after
    }

    /// Nothing runs but our two scripts, nothing is loaded but our files, and forms lead nowhere
    /// but to the page and, by a redirect, to `return_to`. The script is named by its digest too:
    /// where a browser compares it, its address does not matter.
    fn policy(&self) -> HeaderValue {
        if self.has_script {
            let style = STANDARD.encode(Sha256::digest(self.inlined_style().as_bytes()));
            let policy = format!("default-src 'none'; style-src 'sha256-{style}'; img-src data:");
            return HeaderValue::try_from(policy)
                .unwrap_or(HeaderValue::from_static("default-src 'none'"));
        }
        let mut style = self.sources(&self.assets.style.name);
        if style.is_empty() {
            // Without a host in the request there is no other name for "here".
            style = "'self'".to_owned();
        }
        let script = self.sources(&PAGE_SCRIPT.name);
        let elsewhere =
            self.return_to.and_then(|to| Some(Url::parse(to).ok()?.origin().ascii_serialization()));
        let mut policy = format!(
            "default-src 'none'; script-src 'sha256-{}' 'sha256-{}' {script}; style-src {style}; \
             img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; \
             form-action 'self'",
            *WATCH_DIGEST, PAGE_SCRIPT.digest,
        );
        if let Some(origin) = elsewhere {
            // Browsers apply the policy to the redirect after a form too.
            let _ = write!(policy, " {origin}");
        }
        // Base64, constants, hosts and an origin: always a header value. The fallback lets nothing
        // run at all.
        HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
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

    /// Whether an element of the page is shown.
    fn shows(&self, id: &str) -> bool {
        let (view, language) = (self.view, self.language);
        match id {
            "clock" => view.row().clock.is_some() && view.clock.is_some(),
            "reason" => view.shows(id) && view.reason.is_some(),
            "ahead" => view.shows(id) && view.position > 0,
            "keep" => view.shows(id) && !view.keep(language).is_empty(),
            "go_on" => view.shows(id) && self.return_to.is_some(),
            "progress" | "since" | "notify" => self.has_script && view.shows(id),
            "leave_no" => self.has_script,
            id => view.shows(id) || (!self.has_script && view.shows_plain(id)),
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
                    "progress" => html.push_str(if self.has_script { "37" } else { "0" }),
                    "since" if self.has_script => {
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
                    "detail" => escape(&view.detail(language, self.has_script), &mut html),
                    "reason" => escape(view.reason.as_deref().unwrap_or_default(), &mut html),
                    "wait" => escape(&view.wait(language), &mut html),
                    "ahead" => escape(&view.ahead(language), &mut html),
                    "keep" => escape(&view.keep(language), &mut html),
                    "turn" => escape(language.text(self.turn()), &mut html),
                    "key" => {
                        html.push_str(&URL_SAFE_NO_PAD.encode(rand::rng().random::<[u8; 24]>()));
                    }
                    "now" => _ = write!(html, "{}", now_ms()),
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

    /// The style with the picture behind the page in it.
    fn inlined_style(&self) -> Cow<'_, str> {
        let style = self.assets.style.text();
        match &self.assets.background {
            Some(background) => style.replace(&background.name, &background.to_data()).into(),
            None => style.into(),
        }
    }

    /// What the head has for the script and the style.
    fn push_head(&self, html: &mut String) {
        if self.has_script {
            let _ = write!(html, "<style>{}</style>", self.inlined_style());
            return;
        }
        // The names are ours, and need no escape.
        let (queue, style, script) = (self.queue, &self.assets.style.name, &PAGE_SCRIPT.name);
        let _ = write!(
            html,
            "<noscript>{}</noscript>\n<script>{WATCH}</script>\n\
             <link id=\"icon\" rel=\"icon\" type=\"image/svg+xml\" href=\"{}\">\n\
             <link rel=\"stylesheet\" href=\"{queue}/assets/{style}\">\n\
             <script src=\"{queue}/assets/{script}\" integrity=\"sha256-{}\" defer></script>",
            self.refresh_element(),
            self.file(&self.assets.icons[0].name),
            PAGE_SCRIPT.digest,
        );
    }

    fn push_logo(&self, html: &mut String) {
        if let Some(logo) = &self.assets.logo {
            let address = if self.has_script { logo.to_data() } else { self.file(&logo.name) };
            // The title beside it says whose it is.
            let _ = write!(html, "<img src=\"{address}\" alt=\"\">");
        }
    }

    /// The message of the operator, with links.
    fn push_message(&self, html: &mut String) {
        let messages = &self.config.page.message;
        let fallback = self.languages.first().map_or("", |language| language.tag);
        let found = messages.get_key_value(self.language.tag);
        let Some((tag, text)) = found.or_else(|| messages.get_key_value(fallback)) else { return };
        let _ = write!(html, "<p id=\"message\" lang=\"{tag}\" dir=\"auto\">");
        for piece in text.split_inclusive(char::is_whitespace) {
            let address = piece
                .trim_end_matches(|last: char| last.is_whitespace() || ".,;:!?)\"'".contains(last));
            let is_web = |url: &Url| matches!(url.scheme(), "http" | "https");
            if Url::parse(address).is_ok_and(|url| is_web(&url)) {
                html.push_str("<a rel=\"noopener\" target=\"_blank\" href=\"");
                escape(address, html);
                html.push_str("\">");
                escape(address, html);
                html.push_str("</a>");
                escape(&piece[address.len()..], html);
            } else {
                escape(piece, html);
            }
        }
        html.push_str("</p>");
    }

    fn push_help(&self, html: &mut String) {
        if let Some(address) = &self.config.page.support_url {
            html.push_str("<a id=\"help\" href=\"");
            escape(address.as_str(), html);
            html.push_str("\">");
            escape(self.language.text("help"), html);
            html.push_str("</a>");
        }
    }

    /// What happens at the turn.
    fn turn(&self) -> &'static str {
        if self.return_to.is_some() { "turn_leads_on" } else { "turn_here" }
    }

    /// The address of a file, seen from the page.
    fn file(&self, name: &str) -> String {
        format!("{}/assets/{name}", self.queue)
    }

    fn refresh_element(&self) -> String {
        let to = self.return_to.filter(|_| self.view.name() == "admitted");
        match (self.refresh(), to) {
            (Some(after), _) => {
                let after = whole_seconds(after);
                format!("<meta http-equiv=\"refresh\" content=\"{after}\">")
            }
            (None, Some(to)) => {
                let mut html = String::from("<meta http-equiv=\"refresh\" content=\"1;url=");
                escape(to, &mut html);
                html.push_str("\">");
                html
            }
            (None, None) => String::new(),
        }
    }

    /// The switch: a link to the page in each language.
    fn push_languages(&self, html: &mut String) {
        if self.languages.len() < 2 {
            return;
        }
        html.push_str("<details id=\"languages\"><summary>");
        escape(self.language.text("language"), html);
        html.push_str(": ");
        escape(self.language.name, html);
        html.push_str("</summary><ul>");
        for language in self.languages {
            let _ = write!(html, "<li><a lang=\"{0}\" hreflang=\"{0}\" href=\"", language.tag);
            escape(&(self.in_language)(language), html);
            html.push_str("\">");
            escape(language.name, html);
            html.push_str("</a></li>");
        }
        html.push_str("</ul></details>");
    }
}

/// The time, in milliseconds since 1970.
fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis())
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
    use anteroom_config::Loader;

    use super::super::QueuePage;
    use super::super::views::names;
    use super::*;
    use crate::problem::Code;

    const EVIL: &str = "</script><img src=x onerror=\"alert('1')\">&";

    /// A page of a queue with this configuration, in English.
    fn html(
        config: &QueueConfig,
        view: &View,
        return_to: Option<&str>,
        has_script: bool,
    ) -> String {
        page(config, view, return_to, has_script, |page| page.html())
    }

    fn page<T>(
        config: &QueueConfig,
        view: &View,
        return_to: Option<&str>,
        has_script: bool,
        read: impl FnOnce(&Page<'_>) -> T,
    ) -> T {
        let QueuePage { assets, languages } = &QueuePage::new(&config.page);
        read(&Page {
            queue: "q",
            config,
            language: languages[0],
            languages,
            in_language: &|language| format!("q?lang={}", language.tag),
            action: return_to.unwrap_or("q"),
            return_to,
            assets,
            host: Some("shop.example:8080"),
            view,
            has_script,
        })
    }

    fn config(keys: &str) -> QueueConfig {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("anteroom.toml");
        let text = format!("[admission]\ndevelopment = true\n[queues.q]\nbatch = 1\n{keys}");
        std::fs::write(&file, text).expect("written");
        let config = Loader::new(Some(&file)).load().expect("a configuration");
        config.queues["q"].clone()
    }

    fn waiting() -> View {
        let mut view = View::sample("waiting", "").expect("a view");
        (view.look_after, view.reason) = (Some(Duration::from_secs(7)), None);
        view
    }

    #[test]
    fn nothing_from_outside_becomes_markup() {
        let mut config = config("");
        config.page.title = Some(EVIL.to_owned());
        config.page.message.insert("en".to_owned(), format!("https://x.example/\"{EVIL} a"));
        for name in names() {
            for has_script in [false, true] {
                let view = View::sample(name, EVIL).expect("a view");
                let html = html(&config, &view, Some(EVIL), has_script);
                assert!(!html.contains("<img"), "{name}: {html}");
                let scripts = if has_script { 1 } else { 3 };
                assert_eq!(html.matches("</script>").count(), scripts, "{name}");
                assert!(!html.contains("{{"), "{name}: {html}");
            }
        }
    }

    #[test]
    fn a_waiting_page_keeps_itself_current_without_a_script() {
        let html = html(&config(""), &waiting(), None, false);
        for part in [
            "<noscript><meta http-equiv=\"refresh\" content=\"7\"></noscript>",
            "<strong id=\"number\">1,240</strong><span id=\"after\">people ahead of you</span>",
            "<b id=\"wait_value\">8 to 12 minutes</b>",
            ">You can close this page. Your place is kept for 40 minutes.<",
            "<button id=\"join\" hidden>",
            "name=\"step\" value=\"leave\">Leave<",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        // What needs the script is not there without it.
        for id in ["progress", "since", "notify", "leave_no"] {
            let element = html.split(&format!("id=\"{id}\"")).nth(1).expect("the element");
            assert!(element.split('>').next().expect("an end").contains("hidden"), "{id}: {html}");
        }
    }

    #[test]
    fn a_turn_leads_on_without_a_script() {
        let mut view = View::sample("admitted", "").expect("a view");
        view.look_after = None;
        let html = html(&config(""), &view, Some("/seats?a=1&b=2"), false);
        assert!(html.contains("content=\"1;url=/seats?a=1&amp;b=2\""), "{html}");
        assert!(html.contains("<a id=\"go_on\" href=\"/seats?a=1&amp;b=2\">"), "{html}");
        assert!(html.contains("<title>Waiting room</title>"), "{html}");
    }

    #[test]
    fn only_a_visitor_whom_a_button_can_help_is_offered_one() {
        for (view, id, offered) in [
            (View::no_place(None), "join", true),
            (View::refused(Code::ASSERTION_MISSING), "join", false),
            (View::refused(Code::QUEUE_FULL), "try_again", true),
            (View::closed(None), "try_again", true),
            (View::kept(None), "try_again", false),
        ] {
            let html = html(&config(""), &view, None, false);
            assert_eq!(html.contains(&format!("<button id=\"{id}\">")), offered, "{view:?}");
        }
        let [one, other] = [(); 2].map(|()| html(&config(""), &View::no_place(None), None, false));
        assert_ne!(one, other, "each page has a key of its own");
    }

    #[test]
    fn a_message_has_links_to_web_addresses_alone() {
        let keys = "[queues.q.page]\nmessage = { en = \"See https://shop.example/a?b=1&c=2.\\n\
                    javascript:alert(1) mailto:a@b\", ko = \"안녕\" }\nlanguages = [\"en\", \"ko\"]";
        let html = html(&config(keys), &waiting(), None, false);
        let message = "<p id=\"message\" lang=\"en\" dir=\"auto\">See <a rel=\"noopener\" \
             target=\"_blank\" href=\"https://shop.example/a?b=1&amp;c=2\">\
             https://shop.example/a?b=1&amp;c=2</a>.\njavascript:alert(1) mailto:a@b</p>";
        assert!(html.contains(message), "{html}");
        assert_eq!(html.matches("hreflang=").count(), 2, "{html}");
    }

    #[test]
    fn a_preview_has_its_pictures_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let picture = folder.path().join("picture.svg");
        std::fs::write(&picture, "<svg xmlns=\"http://www.w3.org/2000/svg\"/>").expect("written");
        let picture = picture.display();
        let config = config(&format!(
            "[queues.q.page]\nlogo_file = \"{picture}\"\nbackground = \"{picture}\"\n"
        ));
        let shown = html(&config, &waiting(), None, true);
        let data = "data:image/svg+xml;base64,PHN2Zy";
        assert!(shown.contains(&format!("background-image: url({data}")), "{shown}");
        assert!(shown.contains(&format!("<img src=\"{data}")), "{shown}");
        assert!(!shown.contains("/assets/") || shown.matches("/assets/").count() == 1, "{shown}");
        let style = shown.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next());
        let digest = STANDARD.encode(Sha256::digest(style.expect("a style")));
        let policy = page(&config, &waiting(), None, true, |page| page.policy());
        assert!(policy.to_str().expect("ASCII").contains(&digest), "{policy:?}");
        let linked = html(&config, &waiting(), None, false);
        assert!(linked.contains("<img src=\"q/assets/logo-"), "{linked}");
    }

    #[test]
    fn the_policy_names_each_file_and_where_forms_may_lead() {
        let policy = |return_to| {
            let config = config("public_url = \"https://shop.example/room/\"");
            let policy = page(&config, &waiting(), return_to, false, |page| page.policy());
            policy.to_str().expect("ASCII").to_owned()
        };
        let here = policy(None);
        assert_eq!(here.matches("'sha256-").count(), 2, "{here}");
        let path = format!("/room/queues/q/assets/{}", PAGE_SCRIPT.name);
        for source in [format!("shop.example:*{path}"), format!("https://shop.example{path}")] {
            assert!(here.split([' ', ';']).any(|it| it == source), "{source}: {here}");
        }
        assert!(!here.contains("unsafe") && here.ends_with("; form-action 'self'"), "{here}");
        assert_eq!(policy(Some("/seats?row=7")), here);
        let elsewhere = policy(Some("https://shop.example:8443/enter;x?to=https://other.example"));
        assert_eq!(elsewhere, format!("{here} https://shop.example:8443"));
    }

    #[test]
    fn a_host_that_is_no_name_is_not_in_the_policy() {
        for host in [None, Some("[::1]:8080"), Some("a.example;script-src *"), Some("")] {
            let policy =
                page(&config(""), &waiting(), None, false, |page| Page { host, ..*page }.policy());
            let policy = policy.to_str().expect("ASCII");
            assert!(
                policy.contains("style-src http://127.0.0.1:8080/queues/q/assets/"),
                "{policy}"
            );
            assert!(!policy.contains('*'), "{policy}");
        }
    }
}
