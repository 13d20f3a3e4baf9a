//! The connections that the network policies of an overlay allow, as one list.

use serde_json::{Value, json};

use super::network::{labels, selects};
use crate::rendered::{containers, items, name_of, of_kind, rendered, workloads};

/// Whether one of these policies allows the connection in this direction. A policy that does not
/// name the direction allows nothing, for `default-deny` names both.
fn allows(
    policies: &[&Value],
    direction: [&str; 2],
    own: &Value,
    peer: &Value,
    port: &Value,
) -> bool {
    let [rules, side] = direction;
    let rules = policies
        .iter()
        .filter(|policy| selects(&policy["spec"]["podSelector"], own))
        .flat_map(|policy| items(&policy["spec"][rules]));
    rules.into_iter().any(|rule| {
        let (peers, ports) = (items(&rule[side]), items(&rule["ports"]));
        let is_peer = |it: &Value| selects(&it["podSelector"], peer) && it["ipBlock"].is_null();
        let is_port =
            |it: &Value| it["port"] == port["name"] || it["port"] == port["containerPort"];
        (peers.is_empty() || peers.iter().any(is_peer))
            && (ports.is_empty() || ports.iter().any(is_port))
    })
}

/// "from → to:port" of all pods of an overlay, and of pods of the user with these labels.
fn connections(overlay: &str, of_user: &[(&str, Value)]) -> Vec<String> {
    let objects = &rendered(overlay).objects;
    let policies: Vec<_> = of_kind(objects, "NetworkPolicy").collect();
    let own = workloads(objects).map(|workload| (name_of(workload), labels(workload)));
    let others = of_user.iter().map(|(name, labels)| (*name, labels));
    let mut found = Vec::new();
    for (from, sender) in own.chain(others) {
        // Pods of the user in another namespace: no policy of ours limits what they send.
        let is_ours = of_user.iter().all(|(name, _)| *name != from);
        for workload in workloads(objects) {
            for port in containers(workload).flat_map(|it| items(&it["ports"])) {
                let receiver = labels(workload);
                let sends = allows(&policies, ["egress", "to"], sender, receiver, port);
                let receives = allows(&policies, ["ingress", "from"], receiver, sender, port);
                if (sends || !is_ours) && receives {
                    let port = port["name"].as_str().unwrap();
                    found.push(format!("{from} → {}:{port}", name_of(workload)));
                }
            }
        }
    }
    found.sort_unstable();
    found
}

#[test]
fn the_pods_of_the_development_overlay_reach_each_other_so() {
    assert_eq!(
        connections("overlays/dev", &[("stranger", json!({}))]),
        [
            "admission → redis:redis",
            "concert → admission:service",
            "gate → admission:public",
            "gate → concert:http",
            "grafana → prometheus:http",
            "issuer → redis:redis",
            "prometheus → admission:metrics",
            "prometheus → issuer:metrics",
            "prometheus → scheduler:metrics",
            "scheduler → redis:redis",
            "stranger → gate:http",
        ]
    );
}

#[test]
fn production_adds_backends_and_a_prometheus_of_the_user() {
    let backend = json!({"anteroom.dev/backend": "true"});
    let prometheus = json!({"app.kubernetes.io/name": "prometheus"});
    let of_user = [("backend", backend), ("prometheus", prometheus), ("stranger", json!({}))];
    assert_eq!(
        connections("overlays/prod", &of_user),
        [
            "backend → admission:service",
            "gate → admission:public",
            "prometheus → admission:metrics",
            "prometheus → scheduler:metrics",
        ]
    );
}

/// Envoy as the gate also reaches the check.
#[test]
fn the_gate_alone_reaches_the_checks_over_grpc_where_it_is_envoy() {
    let gateway = json!({"gateway.envoyproxy.io/owning-gateway-name": "anteroom"});
    let of_user = [("gateway", gateway), ("stranger", json!({}))];
    let mut found = connections("overlays/dev-envoy", &of_user);
    let before = connections("overlays/dev", &of_user);
    found.retain(|connection| !before.contains(connection));
    let added = ["envoy → redis:redis", "gate → envoy:grpc", "prometheus → envoy:metrics"];
    assert_eq!(found, added);
}

/// The gateways of the user, in their own namespace, and nothing else.
#[test]
fn gateways_alone_reach_the_checks_over_grpc() {
    let gateway = json!({"gateway.envoyproxy.io/owning-gateway-name": "anteroom"});
    let of_user = [("gateway", gateway), ("stranger", json!({}))];
    let mut found = connections("checks/overlays/envoy", &of_user);
    found.retain(|connection| connection.contains("envoy"));
    assert_eq!(found, ["gateway → envoy:grpc"]);
}
