//! How the page looks in Chromium, on a phone and on a desk, by day and by night: nothing runs out
//! of it, all of it can be read, and what can be pressed looks so.
//!
//! `ANTEROOM_CHROMIUM` names the program, else it is looked for. Without one there is nothing to
//! look with.

use std::{env, fs, process::Command};

use anteroom_testkit::{PATIENCE, Process, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::health::{SHOP, shop_falls};
use crate::room::Room;

const PAGE: &str = "/queues/concert";
const LONG: &str = "Donaudampfschifffahrtsgesellschaftskapitaenswitwenpensionskasse";

/// The programs that can show a page, where `ANTEROOM_CHROMIUM` names none.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

fn chromium() -> Option<String> {
    let named = env::var("ANTEROOM_CHROMIUM").ok().filter(|name| !name.is_empty());
    let runs = |program: &str| Command::new(program).arg("--version").output();
    let has = |program: &str| runs(program).is_ok_and(|output| output.status.success());
    named.or_else(|| PROGRAMS.into_iter().find(|program| has(program)).map(str::to_owned))
}

/// The pages of a room, named by what they show.
async fn pages(room: &Room) -> Vec<(String, String)> {
    let (first, second) = (room.join().await.token(), room.join().await.token());
    let patch = room.call("service", Method::PATCH, "/v1/admin/queues/concert");
    let reason = format!("see https://status.example/{LONG}{LONG}");
    patch.json(json!({ "state": "paused", "reason": reason })).send().await.is(200);
    until("the page says why", PATIENCE, async || {
        room.get(PAGE).send().await.is(200).text.contains(&reason)
    })
    .await;
    let mut pages = Vec::new();
    let mut look = async |name: &str, token: &str, query: &str| {
        for language in ["en", "ko"] {
            let call = room.get(&format!("{PAGE}{query}")).header("accept-language", language);
            let call = call.header("cookie", format!("__Host-anteroom_concert={token}"));
            pages.push((format!("{name}, {language}"), call.send().await.is(200).text.clone()));
        }
    };
    look("nobody", "", "").await;
    look("waiting", &second, "").await;
    look("a turn that leads on", &first, "?return_to=/seats").await;
    room.authorize(&first).await.is(200);
    look("a visit", &first, "").await;
    shop_falls(room).await;
    let patch = room.call("service", Method::PATCH, "/v1/admin/queues/concert");
    patch.json(json!({ "state": null, "reason": null })).send().await.is(200);
    until("the page says why", PATIENCE, async || {
        room.get(PAGE).send().await.is(200).text.contains("The service is recovering.")
    })
    .await;
    look("the service recovers", &second, "").await;
    room.anteroom.deployment.redis.freeze();
    look("the store is away", &second, "").await;
    pages
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[tokio::test]
async fn the_page_fits_can_be_read_and_its_buttons_look_like_buttons() {
    let Some(program) = chromium() else {
        eprintln!("skipped: there is no Chromium");
        return;
    };
    let queue = format!("[queues.concert]\ncapacity = 1\ntitle = \"{LONG}\"\nhealth = \"shop\"\n");
    let room = Room::start(&format!("{queue}{SHOP}")).await;
    let pages = pages(&room).await;
    let templates = pages.iter().map(|(name, html)| {
        format!("<template title=\"{}\">{}</template>", escaped(name), escaped(html))
    });
    let html = format!(
        "<!doctype html><meta charset=utf-8><meta name=color-scheme content=\"light dark\"><body>{}\
         <script>{}</script>",
        templates.collect::<String>(),
        include_str!("looks.js"),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pages.html");
    fs::write(&file, html).expect("written");
    for (scheme, is_dark) in [(1, false), (0, true)] {
        let mut command = Command::new(&program);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
        command.arg(format!("--blink-settings=preferredColorScheme={scheme}"));
        command.arg("--dump-dom").arg(&file);
        let mut chromium = Process::start(command);
        let status = chromium.exit(2 * PATIENCE).await;
        let dom = chromium.stdout();
        assert!(status.success(), "{dom}\n{}", chromium.stderr());
        let (_, found) = dom.split_once("<body>").expect("a body");
        let found = found.split("</body>").next().expect("an end");
        let found: Value =
            serde_json::from_str(found).unwrap_or_else(|error| panic!("{error}: {dom}"));
        assert_eq!(found["wrong"], json!([]), "dark: {is_dark}");
        assert_eq!(found["dark"], is_dark);
        assert_eq!(found["pages"], 3 * pages.len());
        // Title, message and notice everywhere; three of the six, in two languages, have a button.
        assert!(found["texts"].as_u64() >= Some(9 * pages.len() as u64), "{found}");
        assert_eq!(found["buttons"], 3 * 3 * 2, "{found}");
    }
}
