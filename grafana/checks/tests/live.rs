//! The real thing: the services under load, and a real Prometheus that scrapes them. Every query of
//! a panel or a rule answers with data.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

use std::time::{Duration, SystemTime};

use anteroom_grafana_checks::{
    Prometheus, Scene,
    dashboard::{Dashboard, text},
    promql::selectors,
};

/// How long the rush is played: long enough that a visitor of every 64th ticket waited.
const LENGTH: Duration = Duration::from_secs(24);
/// What Grafana puts in for `$__rate_interval` at the least: four scrapes.
const RATE_INTERVAL: &str = "2s";

/// Whether an expression had a value, which was a number, at some time of the run.
async fn has_data(prometheus: &Prometheus, expression: &str, began: SystemTime) -> bool {
    let time = (began, SystemTime::now());
    let series = prometheus.range(expression, time, Duration::from_millis(500)).await;
    series.iter().flat_map(|series| &series.points).any(|(_, value)| value.is_finite())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_panel_and_rule_answers_from_the_running_services() {
    let scene = Scene::start().await;
    scene.play(LENGTH, |_| ()).await;
    every_panel_has_data(&scene).await;
    every_rule_has_data(&scene).await;
}

async fn every_panel_has_data(scene: &Scene) {
    let (mut queries, mut empty) = (0, Vec::new());
    for dashboard in Dashboard::all() {
        for panel in dashboard.panels() {
            for query in &panel.queries {
                let sent = dashboard.query(query.expression, RATE_INTERVAL, &[]);
                queries += 1;
                if !has_data(&scene.prometheus, &sent, scene.began).await {
                    empty.push(format!("{}, {}: {sent}", dashboard.name, panel.title));
                }
            }
        }
    }
    assert!(empty.is_empty(), "no data of {} of {queries}:\n{}", empty.len(), empty.join("\n"));
    eprintln!("{queries} queries of panels have data");
}

/// A recorded expression has data itself. An alert's has none while all is well, so what it selects
/// must: each selector alone, the recorded ones too.
async fn every_rule_has_data(scene: &Scene) {
    let (mut queries, mut empty) = (0, Vec::new());
    for rule in scene.prometheus.rules().await {
        let (name, query) = (text(&rule, "name"), text(&rule, "query"));
        assert_eq!(rule["health"], "ok", "{rule}");
        let selected = selectors(query).iter().map(|selector| selector.text()).collect::<Vec<_>>();
        assert!(!selected.is_empty(), "{name} selects nothing");
        let recorded = (text(&rule, "type") == "recording").then(|| query.to_owned());
        for expression in selected.into_iter().chain(recorded) {
            queries += 1;
            if !has_data(&scene.prometheus, &expression, scene.began).await {
                empty.push(format!("{name}: {expression}"));
            }
        }
    }
    assert!(empty.is_empty(), "no data of {} of {queries}:\n{}", empty.len(), empty.join("\n"));
    eprintln!("{queries} expressions of rules have data");
}
