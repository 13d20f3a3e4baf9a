//! Exit codes and signals.

use std::process::Output;

use crate::support::{World, command};

fn output(command: &mut std::process::Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

#[tokio::test]
async fn a_good_file_passes_the_check_and_nothing_is_started() {
    let world = World::new("[queues.concert]\ncapacity = 1\n").await;
    let mut command = command();
    command.arg("--config").arg(world.file()).arg("--check-config");
    command.env("ANTEROOM_STORE__URL", world.redis.url());
    assert_eq!(output(&mut command), (Some(0), "the configuration is valid\n".into(), "".into()));
    assert_eq!(world.redis.calls("eval").await + world.redis.evalsha_calls().await, 0);
}

#[tokio::test]
async fn a_bad_file_ends_with_64_and_one_line_that_names_the_key() {
    for (queues, key) in [
        ("[queues.concert]\ncapacity = 0\n", "queues.concert.capacity"),
        ("[queues.concert]\n", "queues.concert.capacity"),
        ("[queues.concert]\ncapacity = 1\ncolour = \"red\"\n", "colour"),
        ("[scheduler]\ntick = \"1m\"\n", "scheduler.tick"),
    ] {
        let world = World::new(queues).await;
        for check in [&["--check-config"][..], &[]] {
            let mut command = command();
            command.arg("--config").arg(world.file()).args(check);
            let (code, stdout, stderr) = output(&mut command);
            assert_eq!((code, stdout.as_str()), (Some(64), ""), "{stderr}");
            assert_eq!(stderr.lines().count(), 1, "{stderr}");
            assert!(stderr.contains(key), "{key} in {stderr}");
        }
    }
}

#[tokio::test]
async fn sigterm_ends_it_with_0() {
    let world = World::new("[queues.a]\ncapacity = 1\n[queues.b]\nbatch = 1\n").await;
    let scheduler = world.scheduler().await;
    scheduler.until_ready().await;
    scheduler.end().await;
    // Before the first connection, too.
    let mut world = world;
    world.redis.kill();
    world.scheduler().await.end().await;
}

#[tokio::test]
async fn sigterm_does_not_wait_for_a_store_that_is_stuck() {
    let world = World::new("[queues.concert]\ncapacity = 1\n").await;
    let scheduler = world.scheduler().await;
    scheduler.until_ticking().await;
    world.redis.freeze();
    let errors = "anteroom_tick_errors_total{tick=\"promote\"}";
    scheduler.until_metric(errors, |it| it > Some(0.0)).await;
    scheduler.end().await;
    world.redis.thaw();
}
