//! The load harness as jobs in the cluster: visitors who never cease to come, and a rehearsal.

use serde_json::{Value, json};

use crate::{configuration::QUEUE, options::Options};

/// The Secret with the operator's key of the run, and the ConfigMap with what visitors do.
const KEY: &str = "e2e-key";
const SCENARIO: &str = "e2e-scenario";
/// The label of the jobs' pods, and the one that lets a pod reach the service port.
const POD: &str = "anteroom.dev/e2e";
const BACKEND: &str = "anteroom.dev/backend";

/// The job whose visitors are there from the first step to the last.
pub const VISITORS: &str = "visitors";
/// A crowd with all its habits.
pub const REHEARSAL: &str = "rehearsal";

/// What visitors do inside: each request passes the gate.
const LOOKS: &str = r#"name = "looks"
[headers]
accept = "application/json"
[[steps]]
name = "shows"
path = "/api/shows"
[[steps]]
name = "seats"
path = "/api/shows/1/seats"
"#;

/// What the jobs need.
pub fn needs(key: &str) -> [Value; 3] {
    let from = json!({ "matchLabels": { POD: "true" } });
    [
        // The namespace denies what no policy allows.
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": { "name": "e2e" },
            "spec": { "podSelector": from, "policyTypes": ["Egress"], "egress": [{}] },
        }),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": KEY },
            "stringData": { "key": key },
        }),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": SCENARIO },
            "data": { "scenario.toml": LOOKS },
        }),
    ]
}

/// Visitors, half of whom keep their connections and half of whom take a new one for each request.
pub fn visitors(options: &Options) -> Value {
    let crowd = format!("--visitors {} --stay 1s --arrive 8s", options.visitors);
    job(options, VISITORS, &format!("{crowd} --mix faithful=1 --again --limit 6h"))
}

/// A small rehearsal.
pub fn rehearsal(options: &Options) -> Value {
    let crowd = "--visitors 300 --arrive 10s --stay 1s --sleep 5s --limit 5m";
    job(options, REHEARSAL, crowd)
}

fn job(options: &Options, name: &str, crowd: &str) -> Value {
    let arguments = format!(
        "rehearse --queue {QUEUE} --anteroom http://gate --gate /api/shows \
         --service http://admission:8081 --target http://gate --scenario /etc/e2e/scenario.toml \
         --connections both --follow --output /report {crowd}"
    );
    let container = json!({
        "name": name,
        "image": options.loadtest_image,
        "imagePullPolicy": "IfNotPresent",
        "args": arguments.split(' ').collect::<Vec<_>>(),
        "env": [{ "name": "ANTEROOM_KEY", "valueFrom": {
            "secretKeyRef": { "name": KEY, "key": "key" },
        } }],
        "resources": {
            "requests": { "cpu": "20m", "memory": "64Mi" },
            "limits": { "memory": "1Gi" },
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        },
        "volumeMounts": [
            { "name": "report", "mountPath": "/report" },
            { "name": "scenario", "mountPath": "/etc/e2e" },
        ],
    });
    let pod = json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        // It writes its report when it is to end.
        "terminationGracePeriodSeconds": 60,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "containers": [container],
        "volumes": [
            { "name": "report", "emptyDir": {} },
            { "name": "scenario", "configMap": { "name": SCENARIO } },
        ],
    });
    let labels = json!({ "app.kubernetes.io/name": name, POD: "true", BACKEND: "true" });
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name },
        "spec": {
            "backoffLimit": 0,
            "template": { "metadata": { "labels": labels }, "spec": pod },
        },
    })
}
