//! How the page looks in Chromium, on a phone and on a desk, by day and by night: nothing runs out
//! of it, all of it can be read, and what can be pressed looks so.

use anteroom_testkit::{Chromium, PATIENCE, until};
use reqwest::Method;
use serde_json::json;

use crate::health::{SHOP, shop_falls};
use crate::room::Room;

const PAGE: &str = "/queues/:name";
const LONG: &str = "Donaudampfschifffahrtsgesellschaftskapitaenswitwenpensionskasse";

/// The pages of a room, named by what they show.
async fn pages(room: &Room) -> Vec<(String, String)> {
    let (first, second) = (room.join().await.token(), room.join().await.token());
    let patch = room.call("service", Method::PATCH, "/v1/admin/queues/:name");
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
            let call = call.header("cookie", room.cookie(token));
            pages.push((format!("{name}, {language}"), call.send().await.is(200).text.clone()));
        }
    };
    look("no place", "", "").await;
    look("waiting", &second, "").await;
    look("a turn that leads on", &first, "?return_to=/seats").await;
    room.authorize(&first).await.is(200);
    look("a visit", &first, "").await;
    shop_falls(room).await;
    room.patch_json("/v1/admin/queues/:name", json!({ "state": null, "reason": null }))
        .await
        .is(200);
    until("the page says why", PATIENCE, async || {
        room.get(PAGE).send().await.is(200).text.contains("The service is recovering.")
    })
    .await;
    look("the service recovers", &second, "").await;
    room.anteroom.deployment.redis.freeze();
    look("the store is away", &second, "").await;
    pages
}

#[tokio::test]
async fn the_page_fits_can_be_read_and_its_buttons_look_like_buttons() {
    let Some(chromium) = Chromium::find() else { return };
    let queue = format!("[queues.:name]\ncapacity = 1\ntitle = \"{LONG}\"\nhealth = \"shop\"\n");
    let room = Room::start_with(&format!("{queue}{SHOP}"), &[]).await;
    let pages = pages(&room).await;
    for is_dark in [false, true] {
        let found = chromium.looks(&pages, is_dark).await;
        assert_eq!(found["wrong"], json!([]), "dark: {is_dark}");
        assert_eq!(found["dark"], is_dark);
        assert_eq!(found["pages"], 3 * pages.len());
        // Title, message and notice everywhere; three of the six, in two languages, have a button.
        assert!(found["texts"].as_u64() >= Some(9 * pages.len() as u64), "{found}");
        assert_eq!(found["buttons"], 3 * 3 * 2, "{found}");
    }
}
