//! The operator console in a browser.

use std::process::Command;

use anteroom_testkit::{Anteroom, PATIENCE, Process, Redis, free_port};
use serde_json::json;

use crate::key::key;
use crate::{are_made, chromium, finish, firefox, services};

const KEYS: [(&str, &str, &str, &[&str]); 4] = [
    ("ops", "ark1.of-the-operator", "operator", &[]),
    ("screen", "ark1.of-the-screen", "viewer", &[]),
    ("shop", "ark1.of-the-shop", "backend", &[]),
    ("narrow", "ark1.of-one-queue", "operator", &["queues:concert"]),
];

/// One entity of each kind. Queues have visitors who come without an address.
const ENTITIES: &str = "\
[queues.concert]
capacity = 2
session_ttl = \"10m\"
claim_ttl = \"5m\"
first_poll_ttl = \"10m\"
health = \"payments\"
[queues.sneaker-drop]
batch = 4
interval = \"5s\"
claim_ttl = \"5m\"
first_poll_ttl = \"10m\"
[queues.vaccination]
capacity = 2
claim_ttl = \"5m\"
first_poll_ttl = \"10m\"
[targets.payments]
min_samples = 20
[events.voucher]
stock = 20
[pools.reward]
funds = 1000
options = { small = 10, large = 5000 }
[limits.login]
limit = 5
window = \"1h\"
";

/// The services with keys, and a script that waits for a start.
struct Stage {
    anteroom: Anteroom,
    node: Command,
}

impl Stage {
    /// With Chromium and these entities.
    async fn start(scene: &[&str], entities: &str) -> Option<Self> {
        Some(Self::of(chromium(&[&["console.mjs"], scene].concat())?, entities).await)
    }

    async fn of(mut node: Command, entities: &str) -> Self {
        let anteroom = services(&mut node, entities).await;
        let keys: serde_json::Map<_, _> =
            KEYS.iter().map(|(name, key, ..)| ((*name).to_owned(), json!(key))).collect();
        node.env("CONFIG", anteroom.deployment.config_file());
        if entities.contains("[keys.") {
            node.env("KEYS", json!(keys).to_string());
        }
        Self { anteroom, node }
    }

    /// Runs the script to its end.
    async fn play(self) {
        finish(Process::start(self.node)).await;
    }
}

/// These entities and all keys.
fn keyed(entities: &str) -> String {
    let keys = KEYS.iter().map(|(name, secret, role, scopes)| key(name, secret, role, scopes));
    entities.to_owned() + &keys.collect::<String>()
}

/// Plays one scene with Chromium, in services of its own.
async fn scene(name: &[&str]) {
    if let Some(stage) = Stage::start(name, &keyed(ENTITIES)).await {
        stage.play().await;
    }
}

#[tokio::test]
async fn signs_in_and_watches_a_rush() {
    scene(&["signs_in_and_watches_a_rush"]).await;
}

#[tokio::test]
async fn pauses_a_queue() {
    scene(&["pauses_a_queue"]).await;
}

#[tokio::test]
async fn opens_a_queue_that_stays_paused() {
    scene(&["opens_a_queue_that_stays_paused"]).await;
}

#[tokio::test]
async fn changes_the_capacity_in_conflict() {
    scene(&["changes_the_capacity_in_conflict"]).await;
}

#[tokio::test]
async fn finds_and_evicts_a_visitor() {
    scene(&["finds_and_evicts_a_visitor"]).await;
}

#[tokio::test]
async fn resets_after_a_typed_confirmation() {
    scene(&["resets_after_a_typed_confirmation"]).await;
}

#[tokio::test]
async fn retries_dead_letters() {
    let port = free_port();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "a-secret-of-the-tests-of-32-bytes-and-more").expect("a file");
    let webhook = format!(
        "stock = 20\nissue = \"webhook\"\nurl = \"http://127.0.0.1:{port}/\"\nsecret_file = \"{}\"",
        secret.display()
    );
    let entities = keyed(&ENTITIES.replace("stock = 20", &webhook));
    if let Some(mut stage) = Stage::start(&["retries_dead_letters"], &entities).await {
        let _issuer = stage.anteroom.deployment.issuer().await;
        stage.node.env("WEBHOOK_PORT", port.to_string());
        stage.play().await;
    }
}

#[tokio::test]
async fn deposits_once() {
    scene(&["deposits_once"]).await;
}

#[tokio::test]
async fn looks_a_key_of_a_limit_up() {
    scene(&["looks_a_key_of_a_limit_up"]).await;
}

#[tokio::test]
async fn a_viewer_has_no_levers() {
    scene(&["a_viewer_has_no_levers"]).await;
}

#[tokio::test]
async fn a_key_with_scopes_sees_what_they_cover() {
    scene(&["a_key_with_scopes_sees_what_they_cover"]).await;
}

#[tokio::test]
async fn a_removed_key_ends_the_session() {
    scene(&["a_removed_key_ends_the_session"]).await;
}

#[tokio::test]
async fn redis_down_and_back() {
    let stage = Stage::start(&["redis_down_and_back"], &keyed(ENTITIES)).await;
    let Some(mut stage) = stage else { return };
    let mut script = Process::start(stage.node);
    let redis: &mut Redis = &mut stage.anteroom.deployment.redis;
    script.line("stop Redis", 20 * PATIENCE).await;
    redis.kill();
    script.line("start Redis", 20 * PATIENCE).await;
    redis.restart().await;
    finish(script).await;
}

#[tokio::test]
async fn connection_lost_and_back() {
    let stage = Stage::start(&["connection_lost_and_back"], &keyed(ENTITIES)).await;
    let Some(stage) = stage else { return };
    let mut script = Process::start(stage.node);
    script.line("stop Anteroom", 20 * PATIENCE).await;
    stage.anteroom.admission.process.freeze();
    script.line("start Anteroom", 20 * PATIENCE).await;
    stage.anteroom.admission.process.thaw();
    finish(script).await;
}

#[tokio::test]
async fn has_no_stream_out_of_sight() {
    scene(&["has_no_stream_out_of_sight"]).await;
}

#[tokio::test]
async fn without_keys() {
    if let Some(stage) = Stage::start(&["without_keys"], ENTITIES).await {
        stage.play().await;
    }
}

#[tokio::test]
async fn with_the_keyboard_alone() {
    scene(&["with_the_keyboard_alone"]).await;
}

#[tokio::test]
async fn is_accessible_by_day() {
    scene(&["is_accessible", "light"]).await;
}

#[tokio::test]
async fn is_accessible_by_night() {
    scene(&["is_accessible", "dark"]).await;
}

#[tokio::test]
async fn shows_two_hundred_queues() {
    let queue = |number: u32| format!("[queues.queue-{number}]\ncapacity = 100\n");
    let entities = keyed(ENTITIES) + &(0..200).map(queue).collect::<String>();
    if let Some(stage) = Stage::start(&["shows_two_hundred_queues"], &entities).await {
        stage.play().await;
    }
}

/// With `UPDATE_DOCS=1` they are written.
#[tokio::test]
async fn the_pictures_of_the_documentation_are_of_the_console() {
    scene(&["pictures"]).await;
}

/// In Firefox, over WebDriver BiDi.
#[tokio::test]
async fn in_firefox() {
    let Some(node) = firefox(&["console-firefox.mjs"]) else { return };
    Stage::of(node, &keyed(ENTITIES)).await.play().await;
}

#[test]
fn every_scene_is_played() {
    let tests = include_str!("console.rs").replace("Stage::start(", "scene(");
    for script in ["console/conditions.mjs", "console/levers.mjs", "console/pictures.mjs"] {
        are_made(script, &tests, "scene");
    }
}
