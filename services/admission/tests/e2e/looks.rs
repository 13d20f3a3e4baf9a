//! How the page looks in Chromium, on a phone and on a desk, by day and by night: nothing runs out
//! of it, all of it can be read, and what can be pressed looks so.

use anteroom_testkit::{Chromium, PATIENCE, until};
use reqwest::Method;
use serde_json::json;

use crate::page_preview::{preview, states};
use crate::room::Room;

const LONG: &str = "Donaudampfschifffahrtsgesellschaftskapitaenswitwenpensionskasse";

#[tokio::test]
async fn the_page_fits_can_be_read_and_its_buttons_look_like_buttons() {
    let Some(chromium) = Chromium::find() else { return };
    let queue = format!("[queues.:name]\ncapacity = 1\ntitle = \"{LONG}\"\n");
    let room = Room::start(&queue).await;
    let patch = room.call("service", Method::PATCH, "/v1/admin/queues/:name");
    let reason = format!("see https://status.example/{LONG}{LONG}");
    patch.json(json!({ "state": "paused", "reason": reason })).send().await.is(200);
    until("the page says why", PATIENCE, async || {
        preview(&room, "state=paused").await.is(200).text.contains(&reason)
    })
    .await;
    let mut pages = Vec::new();
    // Words that must not be cut, long words, and from right to left. All states have one template.
    let languages = ["ko", "de", "ar"].into_iter().cycle();
    for (state, language) in states(&room).await.into_iter().zip(languages) {
        let page = preview(&room, &format!("state={state}&lang={language}")).await;
        pages.push((format!("{state}, {language}"), page.is(200).text.clone()));
    }
    for is_dark in [false, true] {
        let found = chromium.looks(&pages, is_dark).await;
        assert_eq!(found["wrong"], json!([]), "dark: {is_dark}");
        assert_eq!(found["dark"], is_dark);
        assert_eq!(found["pages"], 3 * pages.len());
        // A title and a heading everywhere; most have a button.
        assert!(found["texts"].as_u64() >= Some(6 * pages.len() as u64), "{found}");
        assert!(found["buttons"].as_u64() >= Some(2 * pages.len() as u64), "{found}");
    }
}
