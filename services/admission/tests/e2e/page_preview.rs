//! The waiting page as an operator sets it: its preview, its files, and how it changes.

use std::collections::{BTreeMap, HashSet};
use std::fs;

use anteroom_testkit::{Chromium, PATIENCE, until};

use crate::answer::Answer;
use crate::room::{ONE, Room};

const LANGUAGES: [&str; 11] =
    ["en", "ko", "ja", "zh-Hans", "zh-Hant", "es", "fr", "de", "pt-BR", "vi", "ar"];

/// The page with sample values.
pub async fn preview(room: &Room, query: &str) -> Answer {
    room.service(&format!("/v1/admin/queues/:name/preview?{query}")).await
}

/// All states of the page, as the refusal of an unknown one lists them.
pub async fn states(room: &Room) -> Vec<String> {
    let refused = preview(room, "state=none").await;
    let problem = refused.refuses(422, "invalid_value").json();
    let detail = problem["detail"].as_str().expect("a detail");
    let list = detail.strip_prefix("state must be one of ").expect("a list");
    list.split(", ").map(str::to_owned).collect()
}

/// The page from its heading to the end of its details.
fn heading_and_details(page: &str) -> &str {
    let (_, rest) = page.split_once("<h1").expect("a heading");
    rest.split("<progress").next().expect("an end")
}

#[tokio::test]
async fn each_state_can_be_previewed_in_each_language_and_theme() {
    let room = Room::shared(ONE).await;
    let states = states(&room).await;
    assert!(states.len() >= 20, "{states:?}");
    for state in &states {
        let mut texts: BTreeMap<String, &str> = BTreeMap::new();
        for language in LANGUAGES {
            let query = format!("state={state}&lang={language}");
            let page = preview(&room, &query).await.is(200).text.clone();
            let dir = if language == "ar" { "rtl" } else { "ltr" };
            for part in [
                format!("<html lang=\"{language}\" dir=\"{dir}\">"),
                format!("data-view=\"{state}\""),
                "<style>".to_owned(),
            ] {
                assert!(page.contains(&part), "{query}: {part}: {page}");
            }
            assert!(!page.contains("{{") && !page.contains("<link"), "{query}: {page}");
            if let Some(other) = texts.insert(heading_and_details(&page).to_owned(), language) {
                panic!("{state}: {language} has the text of {other}");
            }
        }
    }
    for (theme, scheme) in [("light", "light"), ("dark", "dark"), ("auto", "light")] {
        let page = preview(&room, &format!("state=ready&theme={theme}")).await;
        let page = &page.is(200).text;
        assert!(page.contains(&format!("color-scheme: {scheme};")), "{theme}: {page}");
        assert_eq!(page.contains("prefers-color-scheme"), theme == "auto");
    }
    for query in ["state=", "lang=xx", "lang=EN", "theme=blue"] {
        preview(&room, query).await.refuses(422, "invalid_value");
    }
    preview(&room, "colour=red").await.refuses(400, "bad_request");
    let reason = preview(&room, "state=paused&reason=Back%20%3Cb%3Esoon").await;
    assert!(reason.is(200).text.contains("Back &lt;b&gt;soon"), "{}", reason.text);
    for (query, has_reason) in [("state=paused", true), ("state=paused&reason=", false)] {
        let page = preview(&room, query).await.is(200).text.clone();
        assert_eq!(page.contains("We continue at 14:30."), has_reason, "{query}: {page}");
    }
    let long = format!("state=paused&reason={}", "x".repeat(201));
    preview(&room, &long).await.refuses(422, "invalid_value");
    let waiting = preview(&room, "").await;
    assert!(waiting.is(200).text.contains("data-view=\"waiting\""));
}

/// The names of the files that a page has.
fn files(page: &str) -> HashSet<String> {
    let parts = page.split('"').filter(|part| part.contains("/assets/"));
    parts.map(str::to_owned).collect()
}

#[tokio::test]
async fn the_files_of_a_page_never_change_and_are_small() {
    let room = Room::shared(ONE).await;
    let page = room.get("/queues/:name").send().await;
    let mut size = 0;
    let files = files(&page.is(200).text);
    assert_eq!(files.len(), 3, "script, style and icon: {files:?}");
    for file in &files {
        let get = || room.get(&format!("/queues/{file}"));
        let packed = get().header("accept-encoding", "gzip").send().await;
        assert_eq!(packed.is(200).header("content-encoding"), "gzip");
        assert_eq!(packed.header("cache-control"), "public, max-age=31536000, immutable");
        assert_eq!(packed.header("x-content-type-options"), "nosniff");
        assert_eq!(packed.header("content-security-policy"), "default-src 'none'; sandbox");
        size += packed.header("content-length").parse::<usize>().expect("a number");
        let plain = get().send().await;
        assert!(plain.is(200).headers.get("content-encoding").is_none());
    }
    for language in LANGUAGES {
        let page = room.get("/queues/:name").header("accept-language", language).send().await;
        let visit = size + page.is(200).text.len();
        assert!(visit <= 30 * 1024, "a first visit in {language}: {visit} bytes");
    }
    let _ready = room.join().await;
    let waiting = room.join().await.token();
    let place = room.get("/v1/queues/:name/token").token(&waiting).send().await;
    let headers =
        place.is(200).headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    let poll = headers.sum::<usize>() + place.text.len();
    assert!(poll <= 1024, "a poll: {poll} bytes");
    for unknown in ["page-AAAAAAAAAAAA.js", "page.js", "..%2f..%2fopenapi.json", "%2e%2e"] {
        let path = format!("/queues/:name/assets/{unknown}");
        room.get(&path).send().await.refuses(404, "not_found");
    }
    room.get("/queues/none/assets/page.js").send().await.refuses(404, "unknown_queue");
}

const LOGO: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\">\
    <script>document.documentElement.setAttribute('data-ran', 'yes')</script>\
    <circle id=\"dot\" r=\"4\" onload=\"this.setAttribute('data-ran', 'yes')\"/></svg>";

#[tokio::test]
async fn the_page_follows_its_configuration_without_a_restart() {
    let room = Room::start(ONE).await;
    let folder = tempfile::tempdir().expect("a folder");
    let logo = folder.path().join("logo.svg");
    fs::write(&logo, LOGO).expect("written");
    let page = async || room.get("/queues/:name").send().await.is(200).text.clone();
    assert!(page().await.contains("<title>Waiting room</title>"));
    let table = format!(
        "{ONE}[queues.:name.page]\ntitle = \"Winter <concert>\"\naccent = \"#7a1fa2\"\n\
         logo_file = \"{}\"\nsupport_url = \"mailto:help@shop.example\"\nlanguages = [\"fr\", \"en\"]\n\
         message = {{ fr = \"Bienvenue\" }}\ntheme = \"dark\"\nbackground = \"#fafafa\"\n",
        logo.display()
    );
    room.reconfigure(&table);
    until("the page has changed", PATIENCE, async || page().await.contains("Bienvenue")).await;
    let changed = page().await;
    for part in [
        "<html lang=\"fr\" dir=\"ltr\">",
        "<title>Winter &lt;concert&gt;</title>",
        "href=\"mailto:help@shop.example\"",
        "<p id=\"message\" lang=\"fr\" dir=\"auto\">Bienvenue</p>",
    ] {
        assert!(changed.contains(part), "{part}: {changed}");
    }
    let style = files(&changed).into_iter().find(|file| file.ends_with(".css")).expect("a style");
    let style = room.get(&format!("/queues/{style}")).send().await;
    for part in ["color-scheme: dark;", "--ground: #fafafa;", "--on-ground: #000000;"] {
        assert!(style.is(200).text.contains(part), "{part}: {}", style.text);
    }
    let logo_file =
        files(&changed).into_iter().find(|file| file.contains("logo-")).expect("a logo");
    let served = room.get(&format!("/queues/{logo_file}")).send().await;
    assert_eq!(served.is(200).header("content-type"), "image/svg+xml");
    assert_eq!(served.text, LOGO);
    // Opened alone, it is a document of its own.
    if let Some(chromium) = Chromium::find() {
        let address = room.anteroom.admission.url("public");
        let dom = chromium.dom(&[], &format!("{address}/queues/{logo_file}")).await;
        assert!(dom.contains("id=\"dot\"") && !dom.contains("data-ran="), "{dom}");
    }
    // A logo that changes is another file; one that is refused changes nothing.
    fs::write(&logo, LOGO.replace("0 0 9 9", "0 0 8 8")).expect("written");
    until("the logo has changed", PATIENCE, async || !page().await.contains(&logo_file)).await;
    let before = files(&page().await);
    fs::write(&logo, "<html>").expect("written");
    let accepted = "anteroom_config_reload_success";
    room.anteroom.admission.until_metric(accepted, |it| it == Some(0.0)).await;
    assert_eq!(files(&page().await), before);
}
