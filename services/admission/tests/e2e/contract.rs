//! The API documents, tried by schemathesis on the real services. What it may find is named in
//! `schemathesis.toml`, with the reason.
//!
//! `ANTEROOM_SCHEMATHESIS` names the program; `make test` gets one. Without it there is nothing to
//! try.

use std::{env, path::Path, process::Command};

use anteroom_testkit::{Anteroom, PATIENCE, PATIENT, Process};
use serde_json::Value;

const QUEUES: &str = "[queues.concert]\ncapacity = 5\njoins_per_address = \"none\"\n\
    places_per_address = 0\n\
    requests_per_place = 0\n[queues.spare]\ncapacity = 1\n\
    [limits.login]\nlimit = 100\n[targets.reservations]\n[events.coupon]\nstock = 5\n\
    [pools.reward]\nfunds = 1_000_000\nhold_ttl = \"1d\"\noptions = { small = 1, large = 900 }\n";
/// What there is to ask about: a path, and the body of the call that makes it.
const APPLY: (&str, &str) = ("/v1/events/coupon/applications", r#"{"visitor_id":"ann"}"#);
const HOLD: (&str, &str) = ("/v1/pools/reward/holds", r#"{"amount":9,"operation_id":"first"}"#);
/// Seconds for each port: the first calls are the same each time, the rest is more of it.
const SECONDS: &str = "20";

#[tokio::test]
async fn schemathesis_finds_nothing_on_either_port() {
    let Some(program) = env::var_os("ANTEROOM_SCHEMATHESIS").filter(|path| !path.is_empty()) else {
        eprintln!("skipped: ANTEROOM_SCHEMATHESIS names no program");
        return;
    };
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemathesis.toml");
    let folder = tempfile::tempdir().expect("a folder for what it keeps");
    for port in ["public", "service"] {
        let anteroom = Anteroom::start(QUEUES, &PATIENT).await;
        anteroom.admission.until_ready().await;
        let mut command = Command::new(&program);
        command.arg("--config-file").arg(&config).args(["run", "--max-time", SECONDS]);
        command.arg(format!("{}/openapi.json", anteroom.url(port)));
        command
            .env("ANTEROOM_TOKEN", anteroom.admission.join("concert").await)
            .env("ANTEROOM_APPLICATION", made(&anteroom, APPLY, "application_token").await)
            .env("ANTEROOM_HOLD", made(&anteroom, HOLD, "hold_id").await)
            .current_dir(folder.path());
        let mut run = Process::start(command);
        let status = run.exit(4 * PATIENCE).await;
        let report = run.stdout();
        assert!(status.success(), "{port}: {report}\n{}", run.stderr());
        let summary = report.lines().find(|line| line.contains(" generated, "));
        eprintln!(
            "{port}: {}",
            summary.unwrap_or_else(|| panic!("{port}: nothing was tried: {report}"))
        );
    }
}

/// Calls it, and has this field of the answer.
async fn made(anteroom: &Anteroom, (path, body): (&str, &'static str), field: &str) -> String {
    let call = reqwest::Client::new().post(format!("{}{path}", anteroom.url("service")));
    let call = call.header("content-type", "application/json").body(body);
    let answer: Value = call.send().await.expect("an answer").json().await.expect("a body");
    answer[field].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}
