//! The waiting page and the console in a real Chromium, driven as visitors and operators use them:
//! `visits.mjs` has the visits, `console.mjs` and its folder the scenes of the console.

mod console;
#[path = "../support/key.rs"]
mod key;

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anteroom_testkit::kit::{Kit, run};
use anteroom_testkit::{Anteroom, Chromium, PATIENCE, Process, repository};

/// Its folder has `node_modules`.
static BROWSER: Kit = Kit {
    of: "the pages in a browser",
    root: "services/admission/tests/browser",
    files: &["package.json", "package-lock.json", ".mjs"],
    cache: env!("CARGO_TARGET_TMPDIR"),
    install: |folder| run("npm", folder, &["ci", "--ignore-scripts", "--no-audit", "--no-fund"]),
    folder: OnceLock::new(),
};

/// A queue with room for one.
const ONE: &str = "[queues.concert]\ncapacity = 1\nsession_ttl = \"10m\"\nclaim_ttl = \"5m\"\n";
/// What signs tokens, and cookies for plain HTTP.
const ENV: [(&str, &str); 2] = [
    ("ANTEROOM_ADMISSION__TOKEN_SECRETS", "the-secret-that-signs-in-these-tests"),
    ("ANTEROOM_ADMISSION__SECURE_COOKIES", "false"),
];

/// Makes one visit with Chromium, in services of its own.
async fn visit(name: &[&str]) {
    play(chromium(&[&["visits.mjs"], name].concat())).await;
}

/// Runs a script, if there is a browser for it, in services of its own.
async fn play(script: Option<Command>) {
    let Some(mut node) = script else { return };
    let _anteroom = services(&mut node, ONE).await;
    finish(Process::start(node)).await;
}

/// A script with Chromium, unless that or its driver is missing.
fn chromium(script: &[&str]) -> Option<Command> {
    let chromium = executable(Chromium::find()?.program()).expect("a program that was found");
    script_with(script, "CHROMIUM", chromium)
}

/// A script with Firefox, unless that or its driver is missing.
fn firefox(script: &[&str]) -> Option<Command> {
    let Some(firefox) = executable("firefox-esr") else {
        eprintln!("skipped: {}: there is no Firefox ESR", BROWSER.of);
        return None;
    };
    script_with(script, "FIREFOX", firefox)
}

fn script_with(script: &[&str], variable: &str, browser: PathBuf) -> Option<Command> {
    let folder = Some(&BROWSER).filter(|_| has_node()).and_then(Kit::folder)?;
    let mut node = Command::new("node");
    node.current_dir(folder).args(script).env(variable, browser);
    Some(node)
}

/// Starts the services. The script gets their addresses, and the files of the repository.
async fn services(node: &mut Command, config: &str) -> Anteroom {
    let anteroom = Anteroom::start(config, &ENV).await;
    anteroom.scheduler.until_ready().await;
    anteroom.admission.until_ready().await;
    node.envs([
        ("PUBLIC", anteroom.admission.url("public")),
        ("SERVICE", anteroom.admission.url("service")),
        ("REPOSITORY", repository::root().display().to_string()),
    ]);
    anteroom
}

/// Waits for the end of a script: it bounds its own steps, and this ends one that hangs.
async fn finish(mut script: Process) {
    let status = script.exit(20 * PATIENCE).await;
    assert!(status.success(), "{}\n{}", script.stdout(), script.stderr());
    eprint!("{}", script.stdout());
}

/// Whether Node is new enough for the driver.
fn has_node() -> bool {
    let version = Command::new("node").arg("--version").output().map(|output| output.stdout);
    let version = String::from_utf8(version.unwrap_or_default()).unwrap_or_default();
    let major = version.trim_start_matches('v').split('.').next().and_then(|it| it.parse().ok());
    let is_new = major.is_some_and(|major: u32| major >= 20);
    if !is_new {
        eprintln!("skipped: {}: needs Node 20 or newer", BROWSER.of);
    }
    is_new
}

/// Where a program is: the driver takes no name.
fn executable(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// In Firefox, over WebDriver BiDi.
#[tokio::test]
async fn journey_in_firefox() {
    play(firefox(&["firefox.mjs"])).await;
}

#[tokio::test]
async fn journey() {
    visit(&["journey"]).await;
}

#[tokio::test]
async fn one_place() {
    visit(&["one_place"]).await;
}

#[tokio::test]
async fn goes_on() {
    visit(&["goes_on"]).await;
}

#[tokio::test]
async fn offline_and_back() {
    visit(&["offline_and_back"]).await;
}

#[tokio::test]
async fn leaves_with_the_keyboard_alone() {
    visit(&["leaves_with_the_keyboard_alone"]).await;
}

#[tokio::test]
async fn without_javascript() {
    visit(&["without_javascript"]).await;
}

#[tokio::test]
async fn in_another_language() {
    visit(&["in_another_language"]).await;
}

#[tokio::test]
async fn on_a_slow_network() {
    visit(&["on_a_slow_network"]).await;
}

#[tokio::test]
async fn custom_page() {
    visit(&["custom_page"]).await;
}

#[tokio::test]
async fn loads_little() {
    visit(&["loads_little"]).await;
}

#[tokio::test]
async fn without_its_style() {
    visit(&["without_its_style"]).await;
}

#[tokio::test]
async fn notifies_on_request() {
    visit(&["notifies_on_request"]).await;
}

#[tokio::test]
async fn is_accessible_by_day() {
    visit(&["is_accessible", "light"]).await;
}

#[tokio::test]
async fn is_accessible_by_night() {
    visit(&["is_accessible", "dark"]).await;
}

#[test]
fn every_visit_is_made() {
    are_made("visits.mjs", include_str!("main.rs"), "visit");
}

/// Each function of a script is run by a test.
fn are_made(script: &str, tests: &str, call: &str) {
    let file = repository::root().join(BROWSER.root).join(script);
    let text = std::fs::read_to_string(file).expect("a script");
    let functions = text.lines().filter_map(|line| line.strip_prefix("  async "));
    for name in functions.filter_map(|line| line.split('(').next()) {
        assert!(tests.contains(&format!("{call}(&[\"{name}\"")), "{name}");
    }
}
