//! Pods: what they may, what they have, and how one knows that they are well.

use serde_json::{Value, json};

use super::Findings;
use crate::rendered::{OURS, containers, find, items, name_of, of_kind, pod, workloads};

/// The Pod Security Standard "restricted", and the namespace that enforces it.
pub fn restricted(objects: &[Value], findings: &mut Findings) {
    for namespace in of_kind(objects, "Namespace") {
        let enforced = &namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"];
        findings.unless(enforced == "restricted", "the namespace does not enforce it");
    }
    for workload in workloads(objects) {
        let (name, pod) = (name_of(workload), pod(workload));
        let context = &pod["securityContext"];
        findings.unless(context["runAsNonRoot"] == true, format!("{name}: runAsNonRoot"));
        let user = context["runAsUser"].as_u64();
        findings.unless(user.is_some_and(|user| user > 0), format!("{name}: runAsUser"));
        let profile = &context["seccompProfile"]["type"];
        findings.unless(profile == "RuntimeDefault", format!("{name}: seccompProfile"));
        for shared in ["hostNetwork", "hostPID", "hostIPC"] {
            findings.unless(pod[shared].is_null(), format!("{name}: {shared}"));
        }
        let kinds = ["configMap", "emptyDir", "persistentVolumeClaim", "projected", "secret"];
        for volume in items(&pod["volumes"]) {
            let known = kinds.iter().any(|kind| volume[kind].is_object());
            findings.unless(known, format!("{name}: volume {}", volume["name"]));
        }
        for container in containers(workload) {
            let context = &container["securityContext"];
            let keeps = context["allowPrivilegeEscalation"] == false;
            findings.unless(keeps, format!("{name}: allowPrivilegeEscalation"));
            let drops = context["capabilities"] == json!({"drop": ["ALL"]});
            findings.unless(drops, format!("{name}: capabilities"));
            for own in ["privileged", "runAsNonRoot", "runAsUser", "seccompProfile"] {
                findings.unless(context[own].is_null(), format!("{name}: {own} of a container"));
            }
            let ports = items(&container["ports"]).iter();
            let on_host = ports.filter(|port| !port["hostPort"].is_null()).count();
            findings.unless(on_host == 0, format!("{name}: hostPort"));
        }
    }
}

pub fn read_only_root(objects: &[Value], findings: &mut Findings) {
    for workload in workloads(objects) {
        for container in containers(workload) {
            let is_read_only = container["securityContext"]["readOnlyRootFilesystem"] == true;
            findings.unless(is_read_only, name_of(workload));
        }
    }
}

/// An account of its own for each, and nothing of it in the pod.
pub fn no_token(objects: &[Value], findings: &mut Findings) {
    for workload in workloads(objects) {
        let (name, pod) = (name_of(workload), pod(workload));
        let is_off = pod["automountServiceAccountToken"] == false;
        findings.unless(is_off, format!("{name}: automountServiceAccountToken"));
        findings.unless(pod["serviceAccountName"] == name, format!("{name}: serviceAccountName"));
        let account = find(objects, "ServiceAccount", name);
        let is_off = account.is_some_and(|it| it["automountServiceAccountToken"] == false);
        findings.unless(is_off, format!("{name}: its ServiceAccount"));
        // Nor the addresses of all services of the namespace.
        findings.unless(pod["enableServiceLinks"] == false, format!("{name}: enableServiceLinks"));
    }
}

/// A quantity in thousandths: "250m", "2", "64Mi".
fn quantity(value: &Value) -> Option<u64> {
    let text = value.as_str()?;
    let units = [("m", 1), ("Ki", 1_000 << 10), ("Mi", 1_000 << 20), ("Gi", 1_000 << 30)];
    let found = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)));
    let (digits, factor) = found.unwrap_or((text, 1_000));
    Some(digits.parse::<u64>().ok()? * factor)
}

pub fn limits(objects: &[Value], findings: &mut Findings) {
    for workload in workloads(objects) {
        for container in containers(workload) {
            for resource in ["cpu", "memory"] {
                let request = quantity(&container["resources"]["requests"][resource]);
                let limit = quantity(&container["resources"]["limits"][resource]);
                let holds = request.is_some_and(|it| it > 0) && request <= limit;
                findings.unless(holds, format!("{}: {resource}", name_of(workload)));
            }
        }
    }
}

/// Three each. Those of our services ask the metrics port, and whether it lives never asks what
/// else it needs: an outage of the store would else restart everything.
pub fn probes(objects: &[Value], findings: &mut Findings) {
    // What comes to an end by itself is not restarted and is not called.
    for workload in workloads(objects).filter(|workload| workload["kind"] != "Job") {
        let name = name_of(workload);
        for container in items(&pod(workload)["containers"]) {
            for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
                findings.unless(container[probe].is_object(), format!("{name}: {probe}"));
            }
            if OURS.iter().any(|ours| ours.name == name) {
                for (probe, path) in
                    [("startup", "/livez"), ("liveness", "/livez"), ("readiness", "/readyz")]
                {
                    let get = &container[format!("{probe}Probe")]["httpGet"];
                    let holds = get["path"] == path && get["port"] == "metrics";
                    findings.unless(holds, format!("{name}: {probe} by {get}"));
                }
            }
        }
    }
}

/// From a registry that is named, of a version that is named; ours of this very version.
pub fn images(objects: &[Value], findings: &mut Findings) {
    for workload in workloads(objects) {
        for container in containers(workload) {
            let image = container["image"].as_str().unwrap_or_default();
            let (path, tag) = image.rsplit_once(':').unwrap_or((image, ""));
            let tag = tag.trim_start_matches('v');
            let is_version = tag.split('.').count() == 3
                && tag.split('.').all(|part| part.parse::<u32>().is_ok());
            let is_of_registry = path.split('/').next().is_some_and(|host| host.contains('.'));
            findings.unless(is_version && is_of_registry, image);
            findings.unless(container["imagePullPolicy"] == "IfNotPresent", name_of(workload));
            let is_ours = path.starts_with("ghcr.io/anteroom/anteroom");
            findings.unless(!is_ours || tag == env!("CARGO_PKG_VERSION"), image);
        }
    }
}
