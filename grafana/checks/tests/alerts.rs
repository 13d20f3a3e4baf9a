//! The alerts: they fire when they should and not otherwise, and each leads to its runbook.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

use std::{collections::BTreeSet, process::Command};

use anteroom_grafana_checks::{
    Prometheus, contract, dashboard::text, promql::selectors, read, repository,
};
use anteroom_testkit::docs;
use serde_json::Value;

/// Where the documentation is read.
const DOCUMENTATION: &str = "https://github.com/anteroom/anteroom/blob/main/";

async fn rules() -> Vec<Value> {
    Prometheus::start(&[]).await.rules().await
}

#[test]
fn alerts_fire_when_they_should_and_not_otherwise() {
    let mut promtool = Command::new("promtool");
    promtool.args(["test", "rules", "grafana/alerts/anteroom.test.yaml"]);
    let output = promtool.current_dir(repository()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap()).concat();
    assert!(output.status.success() && text.contains("SUCCESS"), "{text}");
}

#[tokio::test]
async fn every_alert_has_a_test_that_fires_it_and_is_in_every_quiet_one() {
    let tests = read("grafana/alerts/anteroom.test.yaml");
    let alerts = rules().await;
    let alerts: Vec<_> = alerts.iter().filter(|rule| text(rule, "type") == "alerting").collect();
    assert!(alerts.len() > 10, "{}", alerts.len());
    for alert in alerts {
        let name = text(alert, "name");
        let fires = format!("'ALERTS{{alertname=\"{name}\", alertstate=\"firing\"");
        assert!(tests.contains(&fires), "{name}");
    }
    // The quiet ones name no alert: they expect none of them.
    let quiet = "expr: 'ALERTS{alertstate=\"firing\"}'";
    for scene in [
        "a quiet night",
        "a paused queue",
        "one rule",
        "just begun",
        "not in use",
        "a roll-out",
        "as they go",
        "and rolled out",
    ] {
        let (_, scene) = tests.split_once(scene).unwrap();
        let scene = scene.split("  - name:").next().unwrap();
        let looks = scene.lines().filter(|line| line.contains(quiet));
        assert!(
            looks.clone().count() > 0 && looks.clone().all(|it| it.contains("exp_samples: []"))
        );
        assert_eq!(scene.matches("- {expr:").count(), looks.count(), "{scene}");
    }
}

#[tokio::test]
async fn every_alert_says_what_it_is_and_leads_to_its_runbook() {
    let (mut names, mut runbooks) = (BTreeSet::new(), BTreeSet::new());
    for rule in rules().await {
        let name = text(&rule, "name").to_owned();
        if text(&rule, "type") != "alerting" {
            continue;
        }
        assert!(names.insert(name.clone()), "{name} is there twice");
        let severity = text(&rule["labels"], "severity");
        assert!(["critical", "warning"].contains(&severity), "{name}: {severity}");
        let annotations = &rule["annotations"];
        assert!(text(annotations, "summary").len() > 15, "{name}");
        assert!(text(annotations, "description").len() > 30, "{name}");
        let path = text(annotations, "runbook_url").strip_prefix(DOCUMENTATION).unwrap();
        assert!(path.starts_with(docs::RUNBOOKS), "{name} leads to {path}");
        let page = docs::read(path).text;
        let heading = page.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap();
        // Two that differ in their pace alone share one.
        assert!(name.starts_with(heading), "{name} leads to {heading}");
        let parts: Vec<_> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(parts, ["## Meaning", "## Investigate", "## Fix"], "{path}");
        runbooks.insert(path.to_owned());
    }
    let folder = docs::pages().into_iter().map(|page| page.path);
    let there: BTreeSet<_> = folder
        .filter(|path| path.starts_with(docs::RUNBOOKS) && !path.ends_with("/index.md"))
        .collect();
    assert_eq!(runbooks, there, "a runbook without an alert");
}

#[tokio::test]
async fn rules_name_what_is_documented_and_take_shared_gauges_once() {
    let documented = contract::documented();
    let rules = rules().await;
    let recorded: BTreeSet<_> = rules.iter().map(|rule| text(rule, "name")).collect();
    for rule in &rules {
        let (name, query) = (text(rule, "name"), text(rule, "query"));
        for selector in selectors(query) {
            let at = format!("{name}: {}", selector.text());
            // Prometheus itself says whether it reaches whom it scrapes.
            if recorded.contains(selector.metric) || selector.metric == "up" {
                continue;
            }
            let ends = ["", "_bucket", "_count", "_sum"];
            let metric = documented.iter().find(|metric| {
                selector.metric.strip_prefix(&metric.name).is_some_and(|end| ends.contains(&end))
            });
            let metric = metric.unwrap_or_else(|| panic!("{at} is not documented"));
            assert!(!metric.is_shared() || selector.is_max_by(), "{at} is shared");
            assert!(
                metric.kind == "gauge" || query.contains("rate(") || query.contains("increase(")
            );
        }
    }
}
