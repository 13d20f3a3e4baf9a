//! The page of metrics is generated from what the real services export.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

use std::{
    io::Write as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anteroom_grafana_checks::{
    Scene,
    contract::{self, Exported},
};
use anteroom_testkit::{PATIENCE, docs};
use tokio::time::sleep;

/// How long the rush is played: some series begin when something happens for the first time.
const LENGTH: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_of_the_metrics_is_generated() {
    let scene = Scene::start().await;
    scene.play(LENGTH, |_| ()).await;
    let mut pages = pages(&scene).await;
    // The shared gauges come back soon after the failures of the scene.
    let deadline = Instant::now() + PATIENCE;
    while !exported(&pages).missing(&contract::documented()).is_empty() && Instant::now() < deadline
    {
        sleep(Duration::from_millis(200)).await;
        pages = self::pages(&scene).await;
    }
    let page = exported(&pages).page(&docs::read(docs::METRICS).text);
    docs::is_generated(docs::METRICS, &page.unwrap_or_else(|faults| panic!("{faults}")));
    pages.iter().for_each(|(service, page)| conventions(service, page));
}

/// The metrics pages of all processes, each with its service.
async fn pages(scene: &Scene) -> Vec<(&'static str, String)> {
    let admissions = scene.admissions.iter().map(|service| ("admission", service));
    let schedulers = scene.schedulers.iter().map(|service| ("scheduler", service));
    let issuers = scene.issuers.iter().map(|service| ("issuer", service));
    let envoys = scene.envoys.iter().map(|service| ("envoy", service));
    let mut pages = Vec::new();
    for (name, service) in admissions.chain(schedulers).chain(issuers).chain(envoys) {
        pages.push((name, service.get("/metrics").await.1));
    }
    pages
}

fn exported(pages: &[(&str, String)]) -> Exported {
    let mut exported = Exported::default();
    pages.iter().for_each(|(service, page)| exported.add(service, page));
    exported
}

/// What `promtool check metrics` finds in a metrics page: nothing.
fn conventions(service: &str, page: &str) {
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = promtool.stdout(Stdio::piped()).spawn().unwrap();
    promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap()).concat();
    assert!(output.status.success() && text.is_empty(), "{service}: {text}");
}
