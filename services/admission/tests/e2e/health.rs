//! What visitors and operators see while promotion follows the health of a target.

use anteroom_testkit::{PATIENCE, until};
use reqwest::Method;
use serde_json::json;

use crate::room::Room;
use crate::schema::Book;

/// A target that falls with a few failures and stays so.
pub const SHOP: &str = "[targets.shop]\nmin_samples = 5\nopen_for = \"1h\"\n";

const QUEUE: &str = "/v1/queues/{queue}";
const ADMIN: &str = "/v1/admin/queues/{queue}";

/// So many calls to the target fail that callers take their fallback.
pub async fn shop_falls(room: &Room) {
    let report = room.call("service", Method::POST, "/v1/targets/shop/outcomes");
    let reply = report.json(json!({ "failures": 5 })).send().await.is(200).json();
    assert_eq!((&reply["state"], &reply["fallback"]), (&json!("open"), &json!(true)));
}

#[tokio::test]
async fn visitors_and_operators_see_that_the_service_recovers() {
    let adaptive = "adaptive = { min_batch = 5, max_batch = 50, success_target = 0.9 }\n";
    let queue = "[queues.:name]\ncapacity = 1\nhealth = \"shop\"\n";
    let room = Room::start(&format!("{queue}{adaptive}{SHOP}")).await;
    let public = Book::of(&room, "public").await;
    let service = Book::of(&room, "service").await;
    let state = async || {
        let answer = room.get("/v1/queues/:name").send().await;
        public.note("GET", QUEUE, &answer);
        answer.is(200).json()
    };
    let admin = async || {
        let answer = room.service("/v1/admin/queues/:name").await;
        service.note("GET", ADMIN, &answer);
        answer.is(200).json()
    };
    until("the target is read", PATIENCE, async || admin().await["health"] == "closed").await;
    assert!(state().await.get("paused_by").is_none());
    let adaptive = &admin().await["adaptive"];
    let begun = json!({ "batch": 5, "min_batch": 5, "max_batch": 50, "reason": "start" });
    assert_eq!(*adaptive, begun);
    assert_eq!(admin().await["rules"]["batch"], 5, "the rule that it began with");
    assert_eq!(admin().await["health_pace"], 1.0);

    let _ready = room.join().await;
    let waiting = room.join().await.token();
    shop_falls(&room).await;
    until("it is paused", PATIENCE, async || state().await["paused_by"] == "health").await;
    let seen = admin().await;
    assert_eq!((&seen["state"], &seen["health"]), (&json!("paused"), &json!("open")));
    assert_eq!(seen["health_pace"], 0.0);
    let place = room.get("/v1/queues/:name/token").token(&waiting).send().await;
    public.note("GET", "/v1/queues/{queue}/token", &place);
    assert_eq!(place.is(200).json()["eta_ms"], json!(null));

    let cookie = room.cookie(&waiting);
    for (language, sentence) in [
        ("en", "Visitors enter again when the site has recovered. Your place is kept."),
        ("de", "Der Einlass geht weiter"),
    ] {
        let page = room.get("/queues/:name").header("accept-language", language);
        let page = page.header("cookie", &cookie).send().await;
        let detail = format!("<p id=\"detail\">{sentence}");
        assert!(page.is(200).text.contains(&detail), "{}", page.text);
    }
    let paused = "anteroom_queue_paused_by_health{queue=\"concert\"}";
    room.anteroom.admission.until_metric(paused, |it| it == Some(1.0)).await;
    room.anteroom.scheduler.until_metric(paused, |it| it == Some(1.0)).await;
    let pace = "anteroom_queue_health_pace{queue=\"concert\"}";
    room.anteroom.admission.until_metric(pace, |it| it == Some(0.0)).await;

    // The brake is off once the file names no target any more.
    let without = "[queues.:name]\ncapacity = 1\n";
    room.reconfigure(&format!("{without}{SHOP}"));
    until("it goes on", PATIENCE, async || state().await.get("paused_by").is_none()).await;
    let seen = admin().await;
    assert_eq!(
        (seen.get("health"), seen.get("health_pace"), seen.get("adaptive"), &seen["state"]),
        (None, None, None, &json!("open"))
    );
    room.anteroom.admission.until_metric(pace, |it| it.is_none()).await;
}
