//! Two admissions with different rules of one target: one of them has refused a new file.

use anteroom_testkit::{PATIENCE, Service, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::room::Room;

/// The two rules of each target.
const RULES: [(&str, [(&str, &str); 2]); 4] = [
    ("in-buckets", [("60s", "buckets"), ("61s", "buckets")]),
    ("in-logs", [("60s", "log"), ("61s", "log")]),
    ("from-buckets", [("60s", "buckets"), ("60s", "log")]),
    ("from-log", [("61s", "log"), ("60s", "buckets")]),
];

/// What the admission with this number has; targets stay open for long.
fn targets(admission: usize) -> String {
    let one = |(name, rules): &(&str, [(&str, &str); 2])| {
        let (window, store) = rules[admission];
        format!("[targets.{name}]\nwindow = \"{window}\"\nstore = \"{store}\"\nopen_for = \"1h\"\n")
    };
    RULES.iter().map(one).collect()
}

async fn shows(room: &Room, admission: &Service, target: &str) -> Value {
    let path = format!("/v1/targets/{target}");
    let call = room.call_at(&admission.url("service"), Method::GET, &path);
    call.send().await.is(200).json()
}

async fn fails(room: &Room, admission: &Service, target: &str) -> Value {
    let path = format!("/v1/targets/{target}/outcomes");
    let call = room.call_at(&admission.url("service"), Method::POST, &path);
    call.json(json!({ "success": false })).send().await.is(200).json()
}

#[tokio::test]
async fn promise_08_forty_failures_open_a_target_through_two_admissions_with_different_rules() {
    let room = Room::start(&targets(0)).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("anteroom.toml");
    std::fs::write(&file, targets(1)).expect("a file");
    let file = file.to_str().expect("a path of text");
    let second = room.anteroom.deployment.admission_with(&[("ANTEROOM_CONFIG", file)]).await;
    let admissions: [&Service; 2] = [&room.anteroom.admission, &second];
    for (target, _) in RULES {
        for admission in admissions {
            until("Redis answers", PATIENCE, async || {
                shows(&room, admission, target).await["degraded"].is_null()
            })
            .await;
        }
        for n in 1..=40 {
            let reply = fails(&room, admissions[n % 2], target).await;
            let state = if n < 20 { "closed" } else { "open" };
            assert_eq!(
                (&reply["failures"], &reply["state"]),
                (&json!(n), &json!(state)),
                "{reply}"
            );
        }
        for admission in admissions {
            until("it shows all of them", PATIENCE, async || {
                let shown = shows(&room, admission, target).await;
                shown["failures"] == 40 && shown["fallback"] == true
            })
            .await;
            let fallback = format!("anteroom_target_fallback{{target=\"{target}\"}}");
            admission.until_metric(&fallback, |it| it == Some(1.0)).await;
        }
    }
}
