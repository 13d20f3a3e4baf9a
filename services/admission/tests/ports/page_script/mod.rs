//! The page's script in a pretended browser, in virtual time: when it polls, and what it shows.

mod board;
mod calls;
mod keys;
mod views;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use anteroom_admission::public;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::support::{app, ask, request};

const BROWSER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page_script/browser.mjs");

/// The key of its place in localStorage.
const KEPT: &str = "anteroom-key-concert";
const SECOND: f64 = 1_000.0;
const DAY: f64 = 86_400.0 * SECOND;

/// What a page that begins in `status` does until then.
fn played(status: &str, until: f64, answers: &Value) -> Value {
    play(&json!({ "status": status, "until": until, "answers": answers }))
}

/// The script as admission delivers it, in a file.
fn script() -> &'static PathBuf {
    static SCRIPT: OnceLock<PathBuf> = OnceLock::new();
    SCRIPT.get_or_init(|| {
        let page = get("/queues/shop", "en");
        let (_, name) = page.split_once("<script src=\"shop/").expect("a script");
        let name = name.split('"').next().expect("an end");
        let script = get(&format!("/queues/shop/{name}"), "en");
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name.replace('/', "-"));
        // Another test program may write the same.
        let own = file.with_extension(format!("{}", std::process::id()));
        fs::write(&own, script).expect("written");
        fs::rename(&own, &file).expect("renamed");
        file
    })
}

/// The texts of a language, as the page has them for the script.
fn texts(language: &str) -> String {
    static TEXTS: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut texts = TEXTS.lock().expect("no test failed here");
    texts.entry(language.to_owned()).or_insert_with(|| read_texts(language)).clone()
}

fn read_texts(language: &str) -> String {
    let page = get("/queues/shop", language);
    let (_, texts) =
        page.split_once("<script id=\"texts\" type=\"application/json\">").expect("texts");
    texts.split("</script>").next().expect("an end").to_owned()
}

/// An answer of admission to a browser that wants this language.
fn get(path: &str, language: &str) -> String {
    let get = async {
        let request = request("GET", path, &[("accept-language", language)]);
        let answer = ask(&public(&app("")), request).await;
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        String::from_utf8(body.to_vec()).expect("UTF-8")
    };
    tokio::runtime::Runtime::new().expect("a runtime").block_on(get)
}

fn play(scene: &Value) -> Value {
    let mut scene = scene.clone();
    scene["script"] = json!(script());
    if scene["lang"].is_null() {
        scene["lang"] = json!("en");
        scene["texts"] = json!(texts("en"));
    }
    let output = Command::new("node").arg(BROWSER).arg(scene.to_string()).output();
    let output = output.expect("node is installed: scripts/prerequisites.sh");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

/// When it made this request.
fn times(played: &Value, method: &str, path: &str) -> Vec<f64> {
    let requests = played["requests"].as_array().expect("a list").iter();
    let these = requests.filter(|it| {
        it[1] == method && it[2].as_str().is_some_and(|address| address.ends_with(path))
    });
    these.map(|it| it[0].as_f64().expect("a time")).collect()
}

fn pauses(times: &[f64]) -> Vec<f64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn waiting(eta_ms: Option<u64>) -> Value {
    json!({
        "status": "waiting", "ticket": 7, "position": 7, "ahead": 6, "eta_ms": eta_ms,
        "eta_p90_ms": null, "poll_after_ms": 5_000, "keep_ms": 2_400_000, "queue_state": "open",
        "opens_in_ms": null,
    })
}
