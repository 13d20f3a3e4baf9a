//! A line that stays, reported each second, as `make k8s-e2e` looks at it while things change.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use serde_json::Value;

use crate::{
    common::{answer, text},
    real_room::{LOOK, anteroom, rooms},
    rehearse, scenario, serve,
};

/// A service that fails at every seventh request; and how often it has failed.
async fn fails_at_times() -> (String, Arc<AtomicU64>) {
    let (requests, failed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let counts = Arc::clone(&failed);
    let address = serve(move |_| {
        let fails = requests.fetch_add(1, Ordering::Relaxed) % 7 == 6;
        counts.fetch_add(u64::from(fails), Ordering::Relaxed);
        async move { answer(if fails { 502 } else { 200 }, "{}") }
    })
    .await;
    (address, failed)
}

#[tokio::test(flavor = "multi_thread")]
async fn visitors_who_come_again_are_followed_and_every_lost_request_is_counted() {
    // Until the first session has ended, estimates follow `session_ttl`, and polls follow them.
    let queue = "[queues.hall]\ncapacity = 20\nbatch = 20\ninterval = \"1s\"\n\
        session_ttl = \"5s\"\n";
    let room = anteroom(queue).await;
    let (target, failed) = fails_at_times().await;
    let folder = tempfile::tempdir().unwrap();
    // As a gateway asks, which keeps the call itself from visitors.
    let gate = "--gate /v1/queues/hall/authorize/shop";
    let run = rehearse(&format!(
        "{} {gate} --target {target} {} --visitors 60 --arrive 1s --stay 100ms --mix faithful=1 \
         --connections both --again --follow --limit 12s",
        rooms(&room),
        scenario(&folder, LOOK),
    ))
    .await;
    assert_eq!(run.code(), 0, "{}\n{}", run.stderr(), run.file("rehearse.md"));
    let lines = text(&run.output.stdout);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (verdict, seconds) = lines.split_last().unwrap();
    assert!(seconds.len() >= 6, "{} lines", seconds.len());
    let promoted = |second: &Value| second["promoted_ms"].as_array().unwrap().len();
    assert!(seconds.iter().map(promoted).sum::<usize>() > 40, "{seconds:?}");
    assert!(verdict["came"].as_u64() > Some(100) && verdict["over"] == "complete", "{verdict:#}");
    for promise in ["1", "2", "3", "4", "5"] {
        assert_eq!(verdict["promises"]["held"][promise], true, "{verdict:#}");
    }
    let of = |kind: &str| verdict["connections"][kind].clone();
    let lost = ["kept", "new"].map(|kind| {
        assert!(of(kind)["requests"].as_u64() > Some(100), "{kind}: {verdict:#}");
        assert!(of(kind)["lost"].as_object().unwrap().keys().all(|reason| reason == "502"));
        of(kind)["lost"]["502"].as_u64().unwrap_or(0)
    });
    // Those whose request was under way at the end had no answer.
    let (lost, failed) = (lost.iter().sum::<u64>(), failed.load(Ordering::Relaxed));
    assert!(0 < lost && lost <= failed && failed <= lost + 60, "{lost} of {failed}");
}
