//! Two admissions with different rules of one target: one of them has refused a new file.

use anteroom_testkit::{PATIENCE, Service, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::room::Room;

/// Opened for long: it does not change by itself.
fn target(window: &str, store: &str) -> String {
    format!("[targets.shop]\nwindow = \"{window}\"\nstore = \"{store}\"\nopen_for = \"1h\"\n")
}

async fn ask(room: &Room, admission: &Service, body: Option<Value>) -> Value {
    let (method, path) = match body {
        Some(_) => (Method::POST, "/v1/targets/shop/outcomes"),
        None => (Method::GET, "/v1/targets/shop"),
    };
    let call = room.call_at(&admission.url("service"), method, path);
    let call = if let Some(body) = body { call.json(body) } else { call };
    call.send().await.is(200).json()
}

#[tokio::test]
async fn promise_08_forty_failures_open_a_target_through_two_admissions_with_different_rules() {
    for (one, other) in [
        (target("60s", "buckets"), target("61s", "buckets")),
        (target("60s", "log"), target("61s", "log")),
        (target("60s", "buckets"), target("60s", "log")),
        (target("61s", "log"), target("60s", "buckets")),
    ] {
        let room = Room::start(&one).await;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("anteroom.toml");
        std::fs::write(&file, &other).expect("a file");
        let file = file.to_str().expect("a path of text");
        let second = room.anteroom.deployment.admission_with(&[("ANTEROOM_CONFIG", file)]).await;
        let admissions = [&room.anteroom.admission, &second];
        for admission in admissions {
            until("the store answers", PATIENCE, async || {
                ask(&room, admission, None).await["degraded"].is_null()
            })
            .await;
        }
        for n in 1..=40 {
            let admission = admissions[n % 2];
            let told = ask(&room, admission, Some(json!({ "success": false }))).await;
            let state = if n < 20 { "closed" } else { "open" };
            assert_eq!((&told["failures"], &told["state"]), (&json!(n), &json!(state)), "{told}");
        }
        for admission in admissions {
            until("it shows all of them", PATIENCE, async || {
                let shown = ask(&room, admission, None).await;
                shown["failures"] == 40 && shown["fallback"] == true
            })
            .await;
            let fallback = "anteroom_target_fallback{target=\"shop\"}";
            admission.until_metric(fallback, |it| it == Some(1.0)).await;
        }
    }
}
