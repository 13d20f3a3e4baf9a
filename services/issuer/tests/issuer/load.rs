//! `anteroom-issuer codes load`: again, through an outage, and its exit codes.

use std::{path::Path, process::Command};

use anteroom_core::event::Application;
use anteroom_testkit::{PATIENCE, PERMISSIONS, Process, Redis, binary};

use crate::permissions::{ANN, revoke};
use crate::stage::{Stage, name};

const CODES: &str = "stock = 1000\nissue = \"codes\"\n";

/// The command, as it begins.
fn begin(stage: &Stage, event: &str, file: &Path, env: &[(&str, &str)]) -> Process {
    let mut command = Command::new(binary("anteroom-issuer"));
    command.args(["codes", "load", event]).arg(file);
    command.arg("--config").arg(stage.deployment.config_file());
    command.env("ANTEROOM_STORE__URL", stage.deployment.redis.url()).envs(env.iter().copied());
    Process::start(command)
}

/// Code and output of the command.
async fn load(stage: &Stage, event: &str, file: &Path, env: &[(&str, &str)]) -> (i32, String) {
    let mut process = begin(stage, event, file, env);
    let status = process.exit(2 * PATIENCE).await;
    (status.code().unwrap(), format!("{}{}", process.stdout(), process.stderr()))
}

#[tokio::test]
async fn a_file_is_loaded_once_however_often_it_is_loaded() {
    let stage = Stage::new(CODES).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("codes.txt");
    let codes = |count: u64| (0..count).map(|code| format!("CODE-{code}\n")).collect::<String>();
    // The first part, as a load that broke off leaves it.
    for (count, output) in [
        (450, "450 codes: 450 new, 0 loaded before; 450 are left"),
        (1_000, "1000 codes: 550 new, 450 loaded before; 1000 are left"),
        (1_000, "1000 codes: 0 new, 1000 loaded before; 1000 are left"),
    ] {
        std::fs::write(&file, codes(count)).unwrap();
        assert_eq!(load(&stage, "coupon", &file, &[]).await, (0, output.to_owned()));
    }
    let issuer = stage.deployment.issuer().await;
    stage.apply(0..1).await;
    stage.until_all_ended().await;
    let status = stage.event.status(&name(0)).await.unwrap();
    let Some(Application::Issued { code: Some(code), .. }) = status else { panic!("{status:?}") };
    assert_eq!(code, "CODE-0");
    let again = "1000 codes: 0 new, 1000 loaded before; 999 are left".to_owned();
    assert_eq!(load(&stage, "coupon", &file, &[]).await, (0, again), "also what is given out");
    issuer.end().await;
}

/// As it comes into a pod: `kubectl exec -i … codes load coupon /dev/stdin`.
#[tokio::test]
async fn a_pipe_is_loaded_whole() {
    let stage = Stage::new(CODES).await;
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = tokio::task::spawn_blocking({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, "A\nB\nC\n")
    });
    let output = "3 codes: 3 new, 0 loaded before; 3 are left".to_owned();
    assert_eq!(load(&stage, "coupon", &pipe, &[]).await, (0, output));
    writer.await.unwrap().unwrap();
}

#[tokio::test]
async fn each_end_has_its_exit_code_and_one_line() {
    let stage = Stage::new(CODES).await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let good = file("good", "A\nB\n");
    stage.deployment.redis.user("ann", &PERMISSIONS[..5]).await;
    let wrong = [("ANTEROOM_STORE__COMMAND_TIMEOUT", "1y")];
    for (event, path, env, code, words) in [
        ("coupon", &file("bad", "A\n B\n"), &[][..], 65, "bad: line 2: must be 1 to 128 bytes"),
        ("coupon", &file("twice", "A\nB\nA\n"), &[], 65, "line 3: the same code as in line 1"),
        ("coupon", &file("empty", "\n\n"), &[], 65, "empty: the file has no codes"),
        ("coupon", &folder.path().join("none"), &[], 66, "none: No such file"),
        ("other", &good, &[], 64, "events.other: must be declared with issue = \"codes\""),
        ("coupon", &good, &wrong, 64, "store.command_timeout"),
        ("coupon", &good, &ANN, 77, "no permission for "),
    ] {
        let (ended, output) = load(&stage, event, path, env).await;
        assert_eq!(ended, code, "{output}");
        assert!(output.starts_with("anteroom-issuer: ") && output.contains(words), "{output}");
        assert_eq!(output.lines().count(), 1, "{output}");
    }
    assert_eq!(stage.snapshot().await.codes, 0, "nothing of a file with a mistake is loaded");
}

/// The store is killed in the middle of it, and keeps what it acknowledged.
#[tokio::test]
async fn a_store_that_comes_back_is_waited_for() {
    let redis = Redis::builder().durable().start().await;
    let mut stage = Stage::on(redis, CODES).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("codes.txt");
    let codes: String = (0..100_000).map(|code| format!("CODE-{code}\n")).collect();
    std::fs::write(&file, &codes).unwrap();
    let mut process = begin(&stage, "coupon", &file, &[]);
    stage.until("some are loaded", |it| it.codes > 0).await;
    stage.deployment.redis.restart().await;
    let status = process.exit(2 * PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{}", process.stderr());
    stage.until("each is there once", |it| it.codes == 100_000).await;
}

#[tokio::test]
async fn a_permission_that_is_revoked_ends_a_load() {
    let redis = Redis::start().await;
    redis.user("ann", &PERMISSIONS).await;
    let stage = Stage::on(redis, CODES).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("codes.txt");
    let codes: String = (0..100_000).map(|code| format!("CODE-{code}\n")).collect();
    std::fs::write(&file, &codes).unwrap();
    let mut process = begin(&stage, "coupon", &file, &ANN);
    stage.until("some are loaded", |it| it.codes > 0).await;
    revoke(&stage.deployment, "evalsha").await;
    let status = process.exit(2 * PATIENCE).await;
    let error = process.stderr();
    assert_eq!(status.code(), Some(77), "{error}");
    assert!(error.contains("+evalsha") && error.contains("of 100000 codes are loaded"), "{error}");
}
