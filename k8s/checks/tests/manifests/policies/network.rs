//! Who reaches whom.

use serde_json::{Value, json};

use super::Findings;
use crate::rendered::{OURS, Ours, find, items, name_of, of_kind, workloads};

/// Whether a selector takes these labels. None takes nothing, an empty one everything.
pub fn selects(selector: &Value, labels: &Value) -> bool {
    let by_label = selector["matchLabels"].as_object().into_iter().flatten();
    let by_expression = items(&selector["matchExpressions"]).iter();
    selector.is_object()
        && by_label.into_iter().all(|(key, value)| labels[key] == *value)
        && by_expression.into_iter().all(|expression| {
            let key = expression["key"].as_str().unwrap_or_default();
            expression["operator"] == "In" && items(&expression["values"]).contains(&labels[key])
        })
}

pub fn labels(workload: &Value) -> &Value {
    &workload["spec"]["template"]["metadata"]["labels"]
}

/// The rules by which traffic comes in to pods with these labels.
fn ingress_rules<'a>(objects: &'a [Value], labels: &'a Value) -> impl Iterator<Item = &'a Value> {
    of_kind(objects, "NetworkPolicy")
        .filter(move |policy| selects(&policy["spec"]["podSelector"], labels))
        .flat_map(|policy| items(&policy["spec"]["ingress"]))
}

/// Both ways; and each workload has a policy that says what it is for.
pub fn denied_by_default(objects: &[Value], findings: &mut Findings) {
    let denies = json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]});
    let default = find(objects, "NetworkPolicy", "default-deny");
    findings.unless(default.is_some_and(|it| it["spec"] == denies), "no default-deny");
    for workload in workloads(objects) {
        let named = of_kind(objects, "NetworkPolicy").any(|policy| {
            let selector = &policy["spec"]["podSelector"];
            *selector != json!({}) && selects(selector, labels(workload))
        });
        findings.unless(named, format!("{}: no policy", name_of(workload)));
    }
}

/// Whether a peer is the pods that ask Anteroom about each request: the gate, or in an overlay
/// without it a gateway of the user, in another namespace.
fn is_gateway(objects: &[Value], peer: &Value) -> bool {
    if find(objects, "Deployment", "gate").is_some() {
        return *peer
            == json!({"podSelector": {"matchLabels": {"app.kubernetes.io/name": "gate"}}});
    }
    is_gateway_of_user(peer)
}

/// Whether a peer is pods that labels name, in a namespace that is named.
fn is_gateway_of_user(peer: &Value) -> bool {
    let namespace = &peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"];
    let pods = peer["podSelector"]["matchLabels"].as_object();
    namespace.is_string() && pods.is_some_and(|it| !it.is_empty()) && peer["ipBlock"].is_null()
}

pub fn the_public_port_is_for_the_gateway(objects: &[Value], findings: &mut Findings) {
    let is = [json!("public"), json!(8080)];
    findings.unless_from(objects, "admission", &is, |peer| is_gateway(objects, peer));
}

/// It authenticates no caller. The gate calls it only if it is Envoy.
pub fn the_grpc_port_is_for_gateways(objects: &[Value], findings: &mut Findings) {
    let is = [json!("grpc"), json!(9001)];
    let calls = find(objects, "ConfigMap", "gate-envoy").is_some();
    findings.unless_from(objects, "anteroom-envoy", &is, |peer| match calls {
        true => is_gateway(objects, peer),
        false => is_gateway_of_user(peer),
    });
}

pub fn only_the_gate_reaches_what_is_protected(objects: &[Value], findings: &mut Findings) {
    // The load test measures a service without its gate: the pods that have its label.
    let loadtest = json!({"podSelector": {"matchLabels": {"app.kubernetes.io/name": "loadtest"}}});
    let protected = json!({"anteroom.dev/protected": "true"});
    let protected = std::iter::once(&protected).chain(
        workloads(objects).map(labels).filter(|labels| labels["anteroom.dev/protected"] == "true"),
    );
    for labels in protected {
        let mut rules = 0;
        for rule in ingress_rules(objects, labels) {
            rules += 1;
            let from = items(&rule["from"]);
            let is_target = labels["anteroom.dev/loadtest-target"] == "true";
            let may = |peer: &Value| is_gateway(objects, peer) || (is_target && *peer == loadtest);
            findings.unless(
                !from.is_empty() && from.iter().all(may),
                format!("{labels}: from {}", rule["from"]),
            );
        }
        findings.unless(rules > 0, format!("{labels}: no pod reaches it"));
    }
    // The sample shop believes every caller that reaches it.
    for concert in workloads(objects).filter(|workload| name_of(workload) == "concert") {
        let is_protected = labels(concert)["anteroom.dev/protected"] == "true";
        findings.unless(is_protected, "the shop is not protected");
    }
}

pub fn the_service_port_is_for_backends(objects: &[Value], findings: &mut Findings) {
    let backend = json!({"matchLabels": {"anteroom.dev/backend": "true"}});
    findings.unless_a_port_is_for(objects, "admission", &[json!("service"), json!(8081)], &backend);
}

pub fn the_metrics_port_is_for_prometheus(objects: &[Value], findings: &mut Findings) {
    let prometheus = json!({"matchLabels": {"app.kubernetes.io/name": "prometheus"}});
    for Ours { label, metrics_port, .. } in OURS {
        let port = [json!("metrics"), json!(metrics_port)];
        findings.unless_a_port_is_for(objects, label, &port, &prometheus);
    }
}

impl Findings {
    /// Notes each peer that reaches this port of these pods and is not named by this label, in this
    /// namespace or in one that a label names.
    fn unless_a_port_is_for(&mut self, objects: &[Value], name: &str, is: &[Value], pods: &Value) {
        let named = |namespace: &Value| {
            namespace.is_null()
                || namespace["matchLabels"].as_object().is_some_and(|it| !it.is_empty())
        };
        self.unless_from(objects, name, is, |peer| {
            peer["podSelector"] == *pods
                && named(&peer["namespaceSelector"])
                && peer["ipBlock"].is_null()
        });
    }

    /// Notes each rule that lets another peer than these reach this port of the pods of this name.
    fn unless_from(
        &mut self,
        objects: &[Value],
        name: &str,
        is: &[Value],
        may: impl Fn(&Value) -> bool,
    ) {
        let labels = json!({"app.kubernetes.io/name": name});
        for rule in ingress_rules(objects, &labels) {
            let ports = items(&rule["ports"]);
            if !ports.is_empty() && !ports.iter().any(|port| is.contains(&port["port"])) {
                continue;
            }
            let from = items(&rule["from"]);
            let holds = !from.is_empty() && from.iter().all(&may);
            self.unless(holds, format!("{name}: from {}", rule["from"]));
        }
    }
}

/// And so never to the service port. Nothing else is reached from outside. `gateways.rs` checks
/// where an Ingress leads if there is no gate.
pub fn an_ingress_leads_to_the_gate(objects: &[Value], findings: &mut Findings) {
    let has_gate = find(objects, "Deployment", "gate").is_some();
    let gate = json!({"service": {"name": "gate", "port": {"name": "http"}}});
    for ingress in of_kind(objects, "Ingress") {
        let spec = &ingress["spec"];
        let rules = items(&spec["rules"]).iter();
        let paths = rules.flat_map(|rule| items(&rule["http"]["paths"]));
        for backend in paths.map(|path| &path["backend"]) {
            findings.unless(*backend == gate || !has_gate, format!("{backend}"));
        }
        findings.unless(spec["defaultBackend"].is_null(), "a default backend");
        findings.unless(!items(&spec["tls"]).is_empty(), "no TLS");
    }
    for service in of_kind(objects, "Service") {
        let (name, spec) = (name_of(service), &service["spec"]);
        let inside = spec["type"].is_null() || spec["type"] == "ClusterIP";
        findings.unless(inside && spec["externalIPs"].is_null(), format!("{name} is outside"));
    }
}

/// Each of them to a workload, by ports that it has.
pub fn services_lead_to_pods(objects: &[Value], findings: &mut Findings) {
    for service in of_kind(objects, "Service") {
        let name = name_of(service);
        let selector = json!({"matchLabels": service["spec"]["selector"]});
        let found = workloads(objects).find(|workload| selects(&selector, labels(workload)));
        let Some(workload) = found else {
            findings.unless(false, format!("{name}: no pods"));
            continue;
        };
        let containers = crate::rendered::containers(workload);
        let has: Vec<_> =
            containers.flat_map(|it| items(&it["ports"])).map(|port| &port["name"]).collect();
        for port in items(&service["spec"]["ports"]) {
            let found = has.contains(&&port["targetPort"]);
            findings.unless(found, format!("{name}: no port {}", port["targetPort"]));
        }
    }
}
