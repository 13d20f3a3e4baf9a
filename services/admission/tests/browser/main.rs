//! The waiting page in a real Chromium, driven as visitors use it: `visits.mjs` has the visits.

use std::process::Command;
use std::sync::OnceLock;

use anteroom_testkit::kit::{Kit, run};
use anteroom_testkit::{Anteroom, Chromium, PATIENCE, Process, repository};

/// Its folder has `node_modules`.
static BROWSER: Kit = Kit {
    of: "the waiting page in a browser",
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

/// Makes one visit in services of its own.
async fn visit(name: &str) {
    let Some(chromium) = Chromium::find().filter(|_| has_node()) else { return };
    let Some(folder) = BROWSER.folder() else { return };
    let anteroom = Anteroom::start(ONE, &ENV).await;
    anteroom.scheduler.until_ready().await;
    anteroom.admission.until_ready().await;
    let mut node = Command::new("node");
    node.current_dir(folder).args(["visits.mjs", name]).envs([
        ("PUBLIC", anteroom.admission.url("public")),
        ("SERVICE", anteroom.admission.url("service")),
        ("CHROMIUM", executable(chromium.program())),
    ]);
    let mut visit = Process::start(node);
    let status = visit.exit(4 * PATIENCE).await;
    assert!(status.success(), "{}\n{}", visit.stdout(), visit.stderr());
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
fn executable(program: &str) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program));
    let found = found.into_iter().find(|file| file.is_file());
    found.map_or_else(|| program.to_owned(), |file| file.display().to_string())
}

macro_rules! visits {
    ($($name:ident)*) => {
        $(#[tokio::test]
        async fn $name() {
            visit(stringify!($name)).await;
        })*

        #[test]
        fn every_visit_is_made() {
            let file = repository::root().join(BROWSER.root).join("visits.mjs");
            let text = std::fs::read_to_string(file).expect("the visits");
            let visits = text.lines().filter_map(|line| line.strip_prefix("  async "));
            let names: Vec<_> = visits.filter_map(|line| line.split('(').next()).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

visits! {
    journey
    one_place
    goes_on
    offline_and_back
    leaves_with_the_keyboard_alone
    without_javascript
    in_another_language
    loads_little
    notifies_on_request
    is_accessible
}
