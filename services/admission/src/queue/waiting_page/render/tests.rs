//! The page as it is filled, in English.

use std::time::Duration;

use anteroom_authorize::problem::Code;
use anteroom_config::Loader;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::super::QueuePage;
use super::super::assets::PAGE_SCRIPT;
use super::super::views::names;
use super::*;

const EVIL: &str = "</script><img src=x onerror=\"alert('1')\">&";

/// A page of a queue with this configuration, in English.
fn html(config: &QueueConfig, view: &View, return_to: Option<&str>, is_preview: bool) -> String {
    page(config, view, return_to, is_preview, |page| page.html())
}

fn page<T>(
    config: &QueueConfig,
    view: &View,
    return_to: Option<&str>,
    is_preview: bool,
    read: impl FnOnce(&Page<'_>) -> T,
) -> T {
    let QueuePage { assets, languages } = &QueuePage::new(&config.page);
    read(&Page {
        queue: "q",
        config,
        language: languages[0],
        languages,
        claim_ttl: config.rules.claim_ttl,
        action: return_to.unwrap_or("q"),
        return_to,
        assets,
        host: Some("shop.example:8080"),
        view,
        is_preview,
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
    let mut view = View::sample("waiting", None).expect("a view");
    (view.look_after, view.reason) = (Some(Duration::from_secs(7)), None);
    view
}

#[test]
fn nothing_from_outside_becomes_markup() {
    let mut config = config("");
    config.page.title = Some(EVIL.to_owned());
    config.page.message.insert("en".to_owned(), format!("https://x.example/\"{EVIL} a"));
    for name in names() {
        for is_preview in [false, true] {
            let view = View::sample(name, Some(EVIL)).expect("a view");
            let html = html(&config, &view, Some(EVIL), is_preview);
            assert!(!html.contains("<img"), "{name}: {html}");
            let scripts = if is_preview { 1 } else { 3 };
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
        "<strong id=\"number\">1,240</strong> <span id=\"after\">people ahead of you</span>",
        "<b id=\"wait_value\">8 to 12 minutes</b>",
        ">You can close this page and open it again in this browser. Your place is kept for 5 minutes.<",
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
    let mut view = View::sample("admitted", None).expect("a view");
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
    assert_eq!(html.matches("<button name=\"lang\"").count(), 2, "{html}");
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
    // The name of the icon is there for the script.
    assert_eq!(shown.matches("/assets/").count(), 1, "{shown}");
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
    for (host, style) in [
        (None, ""),
        (Some("[::1]:8080"), "'self' "),
        (Some("a.example;script-src *"), ""),
        (Some(""), ""),
    ] {
        let policy =
            page(&config(""), &waiting(), None, false, |page| Page { host, ..*page }.policy());
        let policy = policy.to_str().expect("ASCII");
        let style = format!("style-src {style}http://127.0.0.1:8080/queues/q/assets/");
        assert!(policy.contains(&style), "{policy}");
        assert!(!policy.contains('*'), "{policy}");
    }
}
