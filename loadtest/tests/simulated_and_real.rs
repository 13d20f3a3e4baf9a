//! What `simulate` reports of a crowd is what the real services do to the same crowd.

mod common;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anteroom_testkit::{Anteroom, PATIENCE, PATIENT};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use common::{json as read, program, stderr};

const VISITORS: u32 = 1_000;
const OVER: Duration = Duration::from_secs(20);
const STAY: Duration = Duration::from_secs(3);
const LOOKS_EVERY: Duration = Duration::from_secs(1);

/// One visitor, from the join to the end; returns the wait, and of those who come (nine of ten) the
/// stay. Whom a busy service puts off tries again.
async fn visit(
    client: reqwest::Client,
    queue: String,
    number: u32,
) -> (Duration, Option<Duration>) {
    let send = async |request: reqwest::RequestBuilder| loop {
        let again = request.try_clone().expect("no stream");
        let answer = again.send().await.expect("an answer");
        if answer.status().is_success() {
            return answer;
        }
        assert!(answer.status().is_server_error(), "{:?}", answer.text().await);
        sleep(LOOKS_EVERY / 2).await;
    };
    let place = async |request| send(request).await.json::<Value>().await.expect("a place");
    let joined = Instant::now();
    // Tried again, it is the same place.
    let key = format!("a-secret-of-the-visitor-{number}");
    let join = client.post(format!("{queue}/tokens")).header("idempotency-key", key);
    let mut at = place(join.json(&json!({}))).await;
    let token = at["token"].as_str().expect("a token").to_owned();
    let own = |request: reqwest::RequestBuilder| request.header("x-anteroom-token", &token);
    // At a moment of chance: looks in step with the ends of stays would always come just in time.
    let mut next_look = LOOKS_EVERY.mul_f64(rand::random());
    while at["status"] == "waiting" {
        sleep(next_look).await;
        next_look = LOOKS_EVERY;
        at = place(own(client.get(format!("{queue}/token")))).await;
    }
    let waited = joined.elapsed();
    assert_eq!(at["status"], "ready");
    if number % 10 == 9 {
        return (waited, None);
    }
    let seen = Instant::now();
    send(own(client.post(format!("{queue}/token/claim")))).await;
    sleep(STAY).await;
    send(own(client.delete(format!("{queue}/token")))).await;
    (waited, Some(seen.elapsed()))
}

/// What came of the real crowd.
struct Real {
    /// In seconds, sorted.
    waits: Vec<f64>,
    /// The mean, in seconds: with the answers of a busy machine a little longer than was meant.
    stay: f64,
    /// The longest line that was seen.
    deepest: u64,
}

async fn real(queue: &str) -> Real {
    let room = Anteroom::start(queue, &PATIENT).await;
    room.scheduler.until_ready().await;
    let client = reqwest::Client::new();
    let queue = format!("{}/v1/queues/concert", room.url("public"));
    let (start, mut visits) = (Instant::now(), tokio::task::JoinSet::new());
    for n in 0..VISITORS {
        let (client, queue) = (client.clone(), queue.clone());
        visits.spawn(async move {
            sleep_until(start + OVER * n / VISITORS).await;
            visit(client, queue, n).await
        });
    }
    let (mut waits, mut stays, mut deepest) = (Vec::new(), Vec::new(), 0);
    while waits.len() < VISITORS as usize {
        sleep(Duration::from_millis(100)).await;
        while let Some(visit) = visits.try_join_next() {
            let (wait, stay) = visit.expect("a visit does not fail");
            waits.push(wait.as_secs_f64());
            stays.extend(stay.map(|stay| stay.as_secs_f64()));
        }
        let seen = client.get(&queue).send().await.expect("an answer");
        let seen: Value = seen.json().await.expect("a queue");
        deepest = deepest.max(seen["depth"].as_u64().expect("a depth"));
        assert!(start.elapsed() < 3 * PATIENCE, "{} visits have ended", waits.len());
    }
    waits.sort_by(f64::total_cmp);
    Real { waits, stay: stays.iter().sum::<f64>() / stays.len() as f64, deepest }
}

/// `simulate.json` of these flags.
fn simulated(flags: &str, folder: &Path) -> Value {
    let mut program = program(&format!("simulate {flags} --output"));
    let output = program.arg(folder).output().expect("it runs");
    assert!(output.status.success(), "{}", stderr(&output));
    read(folder.join("simulate.json"))
}

/// A real crowd has the machine to itself.
static MACHINE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Waits (p50, p90) and the longest line, simulated and real, within 15 %. The rules are pairs as
/// the configuration has them.
async fn agree(rules: &[(&str, &str)]) {
    let _alone = MACHINE.lock().await;
    let mut queue =
        "[queues.concert]\njoins_per_address = \"none\"\nplaces_per_address = 0\n".to_owned();
    let mut flags = "--rate 50 --for 20s --even --no-shows 10% --claims-after 0s..1s".to_owned();
    for (name, value) in rules {
        queue.push_str(&format!("{name} = {value}\n"));
        flags.push_str(&format!(" --{} {}", name.replace('_', "-"), value.trim_matches('"')));
    }
    let Real { waits, stay, deepest } =
        timeout_at(Instant::now() + 4 * PATIENCE, real(&queue)).await.expect("an end");
    flags.push_str(&format!(" --stay {:.0}ms", 1e3 * stay));
    let folder = tempfile::tempdir().expect("a folder");
    let simulated = simulated(&flags, folder.path());
    let figure = |pointer: &str| simulated.pointer(pointer).and_then(Value::as_f64).expect(pointer);
    // On average a turn is seen half of that late.
    let late = LOOKS_EVERY.as_secs_f64() / 2.0;
    let quantile = |share: usize| waits[waits.len() * share / 100] - late;
    let pairs = [
        ("wait p50", figure("/wait_seconds/p50/median"), quantile(50)),
        ("wait p90", figure("/wait_seconds/p90/median"), quantile(90)),
        ("longest line", figure("/greatest_depth/median"), deepest as f64),
    ];
    let near = |(_, model, truth): &(&str, f64, f64)| (model / truth - 1.0).abs() <= 0.15;
    assert!(pairs.iter().all(near), "simulated and real: {pairs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_simulated_crowd_waits_as_long_as_a_real_one_by_the_rate() {
    agree(&[("batch", "330"), ("interval", "\"10s\""), ("claim_ttl", "\"5s\"")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_simulated_crowd_waits_as_long_as_a_real_one_for_room() {
    agree(&[("capacity", "110"), ("claim_ttl", "\"5s\"")]).await;
}

#[test]
fn a_simulation_that_is_ended_early_reports_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = "--rate 400 --for 20d --batch 1 --stay 1m";
    let mut program = program(&format!("simulate {flags} --output"));
    program.arg(folder.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = program.spawn().expect("it runs");
    // Its first line comes while it runs.
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let first = lines.next().expect("progress").expect("text");
    assert!(first.contains("visitors"), "{first}");
    kill(Pid::from_raw(child.id().try_into().expect("an id")), Signal::SIGINT).expect("it runs");
    let rest: Vec<_> = lines.map_while(Result::ok).collect();
    assert!(child.wait().expect("an end").success(), "{rest:?}");
    let report = read(folder.path().join("simulate.json"));
    assert_eq!(report["interrupted"], true);
    assert!(report["visitors"]["median"].as_u64().expect("a number") > 0);
    assert!(rest.concat().contains("ended early"), "{rest:?}");
}

/// One draw says little: of five seeds, one after the other, the report shows median and range.
#[test]
fn a_simulation_shows_the_spread_of_its_seeds() {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = "--rate 20 --for 2m --capacity 20 --stay exponential:1s";
    let simulate = |more: &str| simulated(&format!("{flags} {more}"), folder.path());
    let singles: Vec<_> =
        (7..12).map(|seed| simulate(&format!("--seeds 1 --seed {seed}"))).collect();
    let all = simulate("--seed 7");
    assert_eq!(all["seeds"], json!([7, 8, 9, 10, 11]));
    for figure in ["/wait_seconds/p50", "/wait_seconds/p99_9", "/greatest_depth", "/visitors"] {
        let median = |run: &Value| run.pointer(figure)?.get("median")?.as_f64();
        let mut of: Vec<_> = singles.iter().map(|run| median(run).expect(figure)).collect();
        of.sort_by(f64::total_cmp);
        assert!(of[0] < of[4], "{figure} of different draws: {of:?}");
        let spread = all.pointer(figure).expect(figure);
        let shown = ["min", "median", "max"].map(|part| spread[part].as_f64().expect(part));
        assert_eq!(shown, [of[0], of[2], of[4]], "{figure}");
    }
    let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).expect(file);
    assert!(read("simulate.md").contains("| median of 5 seeds | lowest | highest |"));
    let line = read("simulate-line.svg");
    // Width 3 is the legend.
    for colour in ["#007AC0", "#D55E00"] {
        let curve = format!("stroke=\"{colour}\" stroke-width=\"2\"");
        assert_eq!(line.matches(&curve).count(), 1, "not a curve for each seed: {line}");
    }
    assert_eq!(line.matches("<polygon").count(), 2, "a band for each figure: {line}");
}

#[test]
fn a_simulation_has_1_to_100_seeds() {
    for (seeds, code) in [("0", 64), ("101", 64), ("100", 0)] {
        let folder = tempfile::tempdir().expect("a folder");
        let flags = format!("--rate 1 --for 5s --batch 5 --stay 1s --seeds {seeds}");
        let mut program = program(&format!("simulate {flags} --output"));
        let output = program.arg(folder.path()).output().expect("it runs");
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{seeds}: {text}");
        assert!(code == 0 || text.contains("1..=100"), "{text}");
    }
}
