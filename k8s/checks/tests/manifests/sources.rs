//! What is written in two places is the same in both.

use std::{env, fs};

use anteroom_k8s_checks::objects;
use anteroom_testkit::docs;

use crate::rendered::{k8s, rendered};

/// `grafana/alerts/anteroom.rules.yaml` is the one source; the Prometheus Operator wants it inside
/// an object, and Kustomize cannot put it there. `UPDATE_RULE=1` writes it.
#[test]
fn the_prometheus_rule_is_the_rules_file() {
    let file = k8s().join("../grafana/alerts/anteroom.rules.yaml");
    let rules = fs::read_to_string(&file).unwrap();
    let mut object = String::from(
        "# grafana/alerts/anteroom.rules.yaml for the Prometheus Operator. A test compares both.\n\
         apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: \
         anteroom\nspec:\n",
    );
    for line in rules.lines().filter(|line| !line.starts_with('#')) {
        let indent = if line.is_empty() { "" } else { "  " };
        object.push_str(&format!("{indent}{line}\n"));
    }
    assert_eq!(objects(&object).unwrap()[0]["spec"], objects(&rules).unwrap()[0]);
    let file = k8s().join("components/monitoring/prometheus-rule.yaml");
    if env::var_os("UPDATE_RULE").is_some() {
        fs::write(&file, &object).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap();
    assert!(kept == object, "{} is out of date; UPDATE_RULE=1 writes it", file.display());
}

/// `anteroom-loadtest size` writes this patch (`loadtest/src/plan/patch.rs`); it changes the rules
/// that the services take as their environment, and rolls them out.
#[test]
fn the_patch_of_a_plan_changes_the_rules_of_both_services() {
    let (dev, plan) = (rendered("overlays/dev"), rendered("checks/overlays/plan"));
    let rules = plan.find("ConfigMap", "anteroom-rules").unwrap();
    assert_eq!(rules["data"]["ANTEROOM_QUEUES__CONCERT__BATCH"], "1537");
    for service in ["admission", "scheduler"] {
        let from = |rendered: &crate::rendered::Rendered| {
            let workload = rendered.find("Deployment", service).unwrap();
            workload["spec"]["template"]["spec"]["containers"][0]["envFrom"].clone()
        };
        let (before, after) = (from(dev), from(plan));
        assert_ne!(before, after, "{service} would not be rolled out");
        assert!(after.to_string().contains(rules["metadata"]["name"].as_str().unwrap()));
        let image = plan.find("Deployment", service).unwrap();
        let image = &image["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(image, "registry.example/anteroom:0.2.0");
    }
    let concert = plan.find("Deployment", "concert").unwrap();
    let image = &concert["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(image, "registry.example/anteroom:0.2.0", "one entry for all programs");
}

/// What the autoscalers ask for is in the contract of metrics.
#[test]
fn metrics_that_scale_are_in_the_contract() {
    let contract = docs::read(docs::METRICS).text;
    for (overlay, kind) in [("keda", "ScaledObject"), ("hpa-requests", "HorizontalPodAutoscaler")] {
        let rendered = rendered(&format!("checks/overlays/{overlay}"));
        let text = rendered.find(kind, "admission").unwrap().to_string();
        let from = text.find("anteroom_").unwrap_or_else(|| panic!("{overlay}: no metric"));
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = text[from..].split(|c| !is_name(c)).next().unwrap();
        assert!(contract.contains(&format!("`{name}`")), "{overlay}: {name}");
    }
}
