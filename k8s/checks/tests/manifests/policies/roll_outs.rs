//! Roll-outs, drains and ends.

use serde_json::{Value, json};

use super::Findings;
use crate::rendered::{find, items, name_of, of_kind, pod, workloads};

/// What has more than one pod, or an autoscaler that says how many.
fn has_several(objects: &[Value], workload: &Value) -> bool {
    let scaled = ["HorizontalPodAutoscaler", "ScaledObject"].into_iter().any(|kind| {
        of_kind(objects, kind).any(|it| it["spec"]["scaleTargetRef"]["name"] == name_of(workload))
    });
    scaled || workload["spec"]["replicas"].as_u64().is_some_and(|replicas| replicas > 1)
}

pub fn rolls_without_a_gap(objects: &[Value], findings: &mut Findings) {
    for workload in of_kind(objects, "Deployment") {
        let (name, spec) = (name_of(workload), &workload["spec"]);
        let scaled_by = of_kind(objects, "HorizontalPodAutoscaler").find(|it| name_of(it) == name);
        // Else each `kubectl apply` would undo what the autoscaler did.
        let is_free = scaled_by.is_none() || spec["replicas"].is_null();
        findings.unless(is_free, format!("{name}: replicas beside an autoscaler"));
        if !has_several(objects, workload) {
            continue;
        }
        let rolling = &spec["strategy"]["rollingUpdate"];
        findings.unless(rolling["maxUnavailable"] == 0, format!("{name}: maxUnavailable"));
        let budget = find(objects, "PodDisruptionBudget", name).map(|it| &it["spec"]);
        let holds = budget.is_some_and(|it| {
            it["maxUnavailable"] == 1
                && it["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
                && it["selector"] == spec["selector"]
        });
        findings.unless(holds, format!("{name}: PodDisruptionBudget"));
        let spread = items(&pod(workload)["topologySpreadConstraints"]);
        for key in ["kubernetes.io/hostname", "topology.kubernetes.io/zone"] {
            let found = spread
                .iter()
                .any(|it| it["topologyKey"] == key && it["labelSelector"] == spec["selector"]);
            findings.unless(found, format!("{name}: spread over {key}"));
        }
    }
}

/// Seconds of a value such as "15s".
fn seconds(value: &str) -> Option<u64> {
    value.strip_suffix('s')?.parse().ok()
}

/// How long a hook waits: by itself, or with `sleep` as the last command of a script.
fn pause(hook: &Value) -> Option<u64> {
    let script = || items(&hook["exec"]["command"]).last()?.as_str();
    let last = || script()?.trim_end().lines().last()?.strip_prefix("sleep ")?.parse().ok();
    hook["sleep"]["seconds"].as_u64().or_else(last)
}

/// First out of the Service, then signalled, then drained, then ended; and killed after that only.
pub fn ends_in_time(objects: &[Value], findings: &mut Findings) {
    for workload in workloads(objects) {
        let (name, pod) = (name_of(workload), pod(workload));
        let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap_or_default();
        let mut needs = 0;
        for container in items(&pod["containers"]) {
            let pause = pause(&container["lifecycle"]["preStop"]);
            // What is called on a Service, and has a next pod to be called instead.
            let is_called = of_kind(objects, "Service")
                .any(|service| name_of(service) == name && service["spec"]["clusterIP"].is_null());
            let rolls = workload["spec"]["strategy"]["rollingUpdate"].is_object();
            findings.unless(!(is_called && rolls) || pause.is_some(), format!("{name}: preStop"));
            needs += pause.unwrap_or_default();
            let variables = items(&container["env"]).iter();
            let drains = variables.filter(|it| {
                it["name"].as_str().is_some_and(|it| {
                    it.ends_with("_DRAIN_DELAY") || it.ends_with("__DRAIN_TIMEOUT")
                })
            });
            needs += drains.filter_map(|it| seconds(it["value"].as_str()?)).sum::<u64>();
        }
        if name == "gate" && find(objects, "ConfigMap", "gate-envoy").is_some() {
            // Envoy drains within the hook.
            let container = &items(&pod["containers"])[0];
            let mut words = items(&container["command"]).iter().filter_map(Value::as_str);
            let drain = words.find(|it| *it == "--drain-time-s").and_then(|_| words.next());
            let drain: Option<u64> = drain.and_then(|it| it.parse().ok());
            let hook = &container["lifecycle"]["preStop"];
            let drains = hook.to_string().contains("POST /drain_listeners?graceful ");
            let ends = drain.is_some_and(|drain| Some(drain) < pause(hook));
            findings.unless(drains && ends, format!("gate: drains for {drain:?} s"));
        } else if name == "gate" {
            let frame = find(objects, "ConfigMap", "gate-nginx").map(|it| &it["data"]);
            let text = frame.and_then(|it| it["nginx.conf"].as_str()).unwrap_or_default();
            let shutdown = text.split("worker_shutdown_timeout ").nth(1);
            let shutdown = shutdown.and_then(|it| seconds(it.split(';').next()?));
            findings.unless(shutdown.is_some(), "gate: worker_shutdown_timeout");
            needs += shutdown.unwrap_or_default();
        }
        let holds = grace > needs;
        findings.unless(holds, format!("{name}: {needs} s of {grace} s of grace"));
    }
    // What gateways call.
    for name in ["admission", "envoy"] {
        let Some(called) = find(objects, "Deployment", name) else { continue };
        let key = format!("{}__DRAIN_DELAY", name.to_uppercase());
        let drains = called.to_string().contains(&key);
        findings.unless(drains, format!("{name}: drain_delay is 0s by default"));
    }
}

/// A StatefulSet ends the old one before it starts the new one.
pub fn never_two_stores(objects: &[Value], findings: &mut Findings) {
    for workload in workloads(objects).filter(|workload| name_of(workload) == "redis") {
        findings.unless(workload["kind"] == "StatefulSet", "redis: no StatefulSet");
        findings.unless(workload["spec"]["replicas"] == 1, "redis: replicas");
        let claims = items(&workload["spec"]["volumeClaimTemplates"]);
        let is_alone =
            claims.iter().any(|it| it["spec"]["accessModes"] == json!(["ReadWriteOnce"]));
        findings.unless(is_alone, "redis: no volume of its own");
    }
}
