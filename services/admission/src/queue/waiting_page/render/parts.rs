//! The parts of the page that are more than one value.

use std::borrow::Cow;
use std::fmt::Write as _;

use anteroom_authorize::durations::whole_seconds;
use url::Url;

use super::{Page, escape};
use crate::queue::waiting_page::address::OVER;
use crate::queue::waiting_page::assets::PAGE_SCRIPT;

/// Loads the page again if one of its files did not come: while a new version is rolled out, the
/// page and its files can be those of two versions. If that does not help, it tries again after
/// minutes only: something else keeps the file away.
pub const WATCH: &str = "\
    addEventListener(\"error\",e=>{if(!/^(SCRIPT|LINK)$/.test(e.target.tagName))return;\
    let again=performance.getEntriesByType(\"navigation\")[0]?.type==\"reload\";\
    setTimeout(()=>location.reload(),(again?12e4:5e3)*(1+2*Math.random()))},true)";

impl Page<'_> {
    /// The style with the picture behind the page in it.
    pub fn inlined_style(&self) -> Cow<'_, str> {
        let style = self.assets.style.text();
        match &self.assets.background {
            Some(background) => style.replace(&background.name, &background.to_data()).into(),
            None => style.into(),
        }
    }

    /// What the head has for the script and the style.
    pub fn push_head(&self, html: &mut String) {
        if self.is_preview {
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

    pub fn push_logo(&self, html: &mut String) {
        if let Some(logo) = &self.assets.logo {
            let address = if self.is_preview { logo.to_data() } else { self.file(&logo.name) };
            // The title beside it says whose it is.
            let _ = write!(html, "<img src=\"{address}\" alt=\"\">");
        }
    }

    /// The message of the operator, with links.
    pub fn push_message(&self, html: &mut String) {
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

    pub fn push_help(&self, html: &mut String) {
        if let Some(address) = &self.config.page.support_url {
            html.push_str("<a id=\"help\" href=\"");
            escape(address.as_str(), html);
            html.push_str("\">");
            escape(self.language.text("help"), html);
            html.push_str("</a>");
        }
    }

    /// The switch: a button for the page in each language. With a link for each, `return_to` would
    /// come as often.
    pub fn push_languages(&self, html: &mut String) {
        if self.languages.len() < 2 {
            return;
        }
        html.push_str("<details id=\"languages\"><summary>");
        escape(self.language.text("language"), html);
        html.push_str(": ");
        escape(self.language.name, html);
        html.push_str("</summary><form>");
        if let Some(return_to) = self.return_to {
            html.push_str("<input type=\"hidden\" name=\"return_to\" value=\"");
            escape(return_to, html);
            html.push_str("\">");
        }
        // The script enables it when the visit ends here.
        let disabled = if self.view.name() == "finished" { "" } else { " disabled" };
        let _ = write!(
            html,
            "<input type=\"hidden\" id=\"over\" name=\"{OVER}\" value=\"\"{disabled}><ul>"
        );
        for language in self.languages {
            let tag = language.tag;
            let _ = write!(html, "<li><button name=\"lang\" value=\"{tag}\" lang=\"{tag}\">");
            escape(language.name, html);
            html.push_str("</button></li>");
        }
        html.push_str("</ul></form></details>");
    }

    /// The address of a file, seen from the page.
    pub fn file(&self, name: &str) -> String {
        format!("{}/assets/{name}", self.queue)
    }

    fn refresh_element(&self) -> String {
        let to = self.return_to.filter(|_| self.view.name() == "admitted");
        match (self.view.look_after, to) {
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
}
