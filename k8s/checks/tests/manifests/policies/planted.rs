//! Violations, planted one by one into what would be applied: a policy that lets one through
//! checks nothing.

use serde_json::{Value, json};

use super::{Findings, POLICIES};
use crate::rendered::{name_of, put, rendered};

/// The policy, the overlay, the object, what in it, and what is there instead.
type Planted = (&'static str, &'static str, (&'static str, &'static str), &'static str, Value);

const POD: &str = "/spec/template/spec";
const CONTAINER: &str = "/spec/template/spec/containers/0";
const FROM_1: &str = "/spec/ingress/1/from/0";
/// The names of annotations have a slash.
const NGINX: &str = "nginx.ingress.kubernetes.io~1";
const AUTHORIZATION: &str = "/spec/virtualhost/authorization/";
const BLOCK: &str = "/spec/egress/0/to/0/ipBlock";

fn planted() -> Vec<Planted> {
    let admission = ("Deployment", "admission");
    let policy = |name| ("NetworkPolicy", name);
    let any_pod = json!([{"namespaceSelector": {}}]);
    let leads = json!({"service": {"name": "admission", "port": {"name": "service"}}});
    let in_dev = |policy, object, at, value| (policy, "overlays/dev", object, at, value);
    let in_dev_envoy =
        |policy, object, at, value| (policy, "overlays/dev-envoy", object, at, value);
    let gate = json!({"podSelector": {"matchLabels": {"app.kubernetes.io/name": "gate"}}});
    let in_prod = |policy, object, at, value| (policy, "overlays/prod", object, at, value);
    let in_webhook = |at, value| {
        ("ways out", "checks/overlays/webhook", ("NetworkPolicy", "webhook"), at, value)
    };
    // Of any namespace.
    let backend = json!({
        "namespaceSelector": {},
        "podSelector": {"matchLabels": {"anteroom.dev/backend": "true"}},
    });
    let prometheus = json!({
        "namespaceSelector": {},
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}},
    });
    let in_loadtest =
        |policy, object, at, value| (policy, "checks/overlays/loadtest", object, at, value);
    let job = ("Job", "loadtest");
    let protected = json!({"matchLabels": {"anteroom.dev/protected": "true"}});
    let loadtest = "ghcr.io/anteroom/anteroom/loadtest:0.0.9";
    let asks = ("Ingress", "anteroom-protected");
    let visits = ("Ingress", "anteroom-visitors");
    let in_nginx =
        |policy, object, at, value| (policy, "checks/overlays/ingress-nginx", object, at, value);
    let check = ("Middleware", "anteroom-check-concert");
    let route = ("IngressRoute", "anteroom");
    let in_traefik =
        |policy, object, at, value| (policy, "checks/overlays/traefik", object, at, value);
    let security = ("SecurityPolicy", "anteroom-protected");
    let client = ("ClientTrafficPolicy", "anteroom");
    let in_envoy =
        |policy, object, at, value| (policy, "checks/overlays/envoy-gateway", object, at, value);
    let over_grpc =
        |policy, at, value| (policy, "checks/overlays/envoy-gateway-grpc", security, at, value);
    let in_grpc = |policy, object, at, value| (policy, "checks/overlays/envoy", object, at, value);
    let in_istio = |policy, object, at, value| (policy, "checks/overlays/istio", object, at, value);
    let proxy = ("HTTPProxy", "anteroom");
    let checks = ("ExtensionService", "anteroom");
    let in_contour =
        |policy, object, at, value| (policy, "checks/overlays/contour", object, at, value);
    let any_gateway = json!({"namespaceSelector": {}, "podSelector": {"matchLabels": {"a": "b"}}});
    let site = json!("set_real_ip_from 10.0.0.0/8;\n");
    let labels = "/spec/template/metadata/labels";
    let paths = "/spec/rules/0/http/paths/0/backend";
    vec![
        in_prod("one namespace", policy("default-deny"), "/metadata/namespace", Value::Null),
        in_dev("restricted", admission, "POD/securityContext/runAsNonRoot", json!(false)),
        in_dev("restricted", ("StatefulSet", "redis"), "POD/securityContext/runAsUser", json!(0)),
        in_dev("restricted", admission, "POD/hostNetwork", json!(true)),
        in_dev("restricted", admission, "POD/volumes/0", json!({"name": "a", "hostPath": {}})),
        in_dev("restricted", admission, "C/securityContext/capabilities", json!({})),
        in_dev("restricted", ("Namespace", "anteroom-dev"), "/metadata/labels", json!({})),
        in_dev("read-only root", ("Deployment", "gate"), "C/securityContext", json!({})),
        in_dev("no token", admission, "POD/automountServiceAccountToken", json!(true)),
        in_dev("no token", admission, "POD/serviceAccountName", json!("default")),
        in_dev("limits", admission, "C/resources/limits", json!({"cpu": "1"})),
        in_dev("limits", admission, "C/resources/requests/memory", json!("1Gi")),
        in_dev("probes", ("StatefulSet", "redis"), "C/livenessProbe", Value::Null),
        in_dev("probes", admission, "C/livenessProbe/httpGet/path", json!("/readyz")),
        in_dev("images", admission, "C/image", json!("ghcr.io/anteroom/anteroom:latest")),
        in_dev("images", admission, "C/image", json!("ghcr.io/anteroom/anteroom")),
        in_dev("images", ("StatefulSet", "redis"), "C/image", json!("redis:8.2.2")),
        in_dev(
            "denied by default",
            policy("default-deny"),
            "/spec/policyTypes",
            json!(["Ingress"]),
        ),
        in_dev("protected", policy("protected"), "/spec/ingress/0/from", any_pod.clone()),
        in_dev("protected", policy("metrics"), "/spec/podSelector", json!({})),
        in_dev("protected", ("Deployment", "concert"), labels, json!({})),
        in_dev("public port", policy("admission"), "/spec/ingress/0/from", any_pod.clone()),
        in_traefik(
            "public port",
            policy("admission"),
            "/spec/ingress/0/from/0",
            any_gateway.clone(),
        ),
        in_traefik("protected", policy("protected"), "/spec/ingress/0/from/0", any_gateway),
        in_envoy("protected", policy("protected"), "/spec/ingress/0/from", json!([])),
        in_nginx("checked", asks, "NGINX/auth-url", json!("http://admission.a:8080/openapi.json")),
        in_nginx("checked", asks, "NGINX/auth-url", Value::Null),
        in_nginx("headers", asks, "NGINX/auth-response-headers", json!("X-Anteroom-Visitor")),
        in_nginx("headers", asks, "NGINX/auth-proxy-set-headers", Value::Null),
        in_nginx("fails closed", asks, "NGINX/auth-snippet", json!("return 200;")),
        in_nginx("fails closed", asks, "NGINX/auth-cache-key", json!("$host")),
        in_nginx("visitors", visits, "/spec/rules/0/http/paths/0/path", json!("/v1/queues/")),
        in_nginx(
            "visitors",
            visits,
            "/spec/rules/0/http/paths/0/backend/service/port/name",
            json!("service"),
        ),
        in_traefik("checked", route, "/spec/routes/1/middlewares", json!([])),
        in_traefik("checked", check, "/spec/forwardAuth", Value::Null),
        in_traefik("visitors", route, "/spec/routes/0/services/0/port", json!("service")),
        in_traefik("visitors", route, "/spec/routes/0/match", json!("PathPrefix(`/v1/queues/`)")),
        in_traefik("headers", check, "/spec/forwardAuth/trustForwardHeader", json!(true)),
        in_traefik("headers", check, "/spec/forwardAuth/authRequestHeaders", json!([])),
        in_traefik("headers", check, "/spec/forwardAuth/authResponseHeaders/0", json!("X-A")),
        in_envoy("checked", security, "/spec/targetRefs/0/name", json!("anteroom-visitors")),
        in_envoy("checked", security, "/spec/extAuth/http/path", json!("/v1/queues/concert")),
        over_grpc("checked", "/spec/targetRefs/0/name", json!("anteroom-visitors")),
        over_grpc("checked", "/spec/extAuth/contextExtensions/0/name", json!("queues")),
        over_grpc("checked", "/spec/extAuth/grpc/backendRefs/0/name", json!("admission")),
        over_grpc("headers", "/spec/extAuth/contextExtensions/1/value", json!("join")),
        over_grpc("headers", "/spec/extAuth/headersToExtAuth", json!(["cookie"])),
        over_grpc("fails closed", "/spec/extAuth/failOpen", json!(true)),
        in_envoy("fails closed", security, "/spec/extAuth/failOpen", json!(true)),
        in_envoy("headers", security, "/spec/extAuth/http/headersToBackend/2", json!("a")),
        in_envoy("headers", security, "/spec/extAuth/headersToExtAuth/0", json!("a")),
        in_envoy("headers", client, "/spec/headers/earlyRequestHeaders/remove/0", json!("a")),
        in_envoy("headers", client, "/spec/headers/earlyRequestHeaders/set", json!([])),
        in_envoy("headers", client, "/spec/path/escapedSlashesAction", json!("KeepUnchanged")),
        in_envoy(
            "headers",
            ("EnvoyExtensionPolicy", "anteroom-protected"),
            "/spec/lua/0/valueRef/name",
            json!("other"),
        ),
        in_istio("visitors", ("VirtualService", "anteroom"), "/spec/http/1/match", Value::Null),
        in_istio(
            "headers",
            ("VirtualService", "anteroom"),
            "/spec/http/2/headers/request/remove/0",
            json!("x-anteroom-visitor"),
        ),
        in_contour("checked", proxy, "AUTH/extensionRef/name", json!("other")),
        in_contour("checked", proxy, "AUTH/authPolicy/context/queue", json!("")),
        in_contour("checked", proxy, "AUTH/authPolicy/disabled", json!(true)),
        in_contour("checked", proxy, "/spec/virtualhost/tls", Value::Null),
        in_contour("checked", proxy, "/spec/routes/3/authPolicy", json!({"disabled": true})),
        in_contour(
            "checked",
            proxy,
            "/spec/routes/3/authPolicy",
            json!({"context": {"queue": ""}}),
        ),
        in_contour("checked", proxy, "/spec/routes/3/permitInsecure", json!(true)),
        in_contour("checked", proxy, "/spec/includes", json!([{"name": "other"}])),
        in_contour("checked", checks, "/spec/services/0/name", json!("admission")),
        in_contour("checked", checks, "/spec/protocol", json!("h2")),
        in_contour("visitors", proxy, "/spec/routes/1/authPolicy", Value::Null),
        in_contour("visitors", proxy, "/spec/routes/2/services/0/port", json!(8081)),
        in_contour("visitors", proxy, "/spec/routes/2/conditions/0", json!({"prefix": "/v1/"})),
        in_contour("headers", proxy, "AUTH/authPolicy/context/gate", json!("join")),
        in_contour("headers", proxy, "/spec/routes/0/directResponsePolicy", Value::Null),
        in_contour("headers", proxy, "/spec/routes/0/conditions/0/regex", json!("/.*%2[Ff].*")),
        in_contour("headers", proxy, "/spec/routes/0/conditions/0/regex", json!("/.*")),
        in_contour(
            "headers",
            proxy,
            "/spec/routes/3/requestHeadersPolicy",
            json!({"remove": ["x-anteroom-visitor"]}),
        ),
        in_contour("fails closed", proxy, "AUTH/failOpen", json!(true)),
        in_contour("fails closed", proxy, "AUTH/failOpen", Value::Null),
        in_contour("gRPC port", policy("envoy"), "/spec/ingress/0/from", any_pod.clone()),
        in_grpc("gRPC port", policy("envoy"), "/spec/ingress/0/from", any_pod.clone()),
        in_grpc("gRPC port", policy("envoy"), "/spec/ingress/0/from", json!([])),
        // The gate of this overlay is NGINX.
        in_grpc("gRPC port", policy("envoy"), "/spec/ingress/0/from", json!([gate])),
        in_dev_envoy("gRPC port", policy("envoy"), "/spec/ingress/0/from", any_pod.clone()),
        in_dev_envoy(
            "ends in time",
            ("Deployment", "gate"),
            "C/lifecycle/preStop/exec/command/2",
            json!("sleep 20"),
        ),
        in_dev_envoy("ends in time", ("Deployment", "gate"), "C/command/11", json!("20")),
        in_grpc("gRPC port", policy("metrics"), "/spec/ingress/0/ports", json!([])),
        in_grpc("metrics port", policy("envoy"), "/spec/ingress/0/ports", json!([])),
        in_grpc("probes", ("Deployment", "envoy"), "C/readinessProbe/httpGet/path", json!("/")),
        in_grpc("rolls", ("Deployment", "envoy"), "/spec/replicas", json!(2)),
        in_grpc("ends in time", ("Deployment", "envoy"), "C/env", json!([])),
        in_dev("service port", policy("admission"), "/spec/ingress/1/from", any_pod.clone()),
        in_dev("service port", policy("admission"), "/spec/ingress/0/ports", json!([])),
        in_dev("service port", policy("admission"), FROM_1, backend),
        in_dev("metrics port", policy("metrics"), "/spec/ingress/0/from", any_pod),
        in_dev("metrics port", policy("metrics"), "/spec/ingress/0/from", json!([])),
        in_dev("metrics port", policy("metrics"), "/spec/ingress/0/from/0", prometheus),
        in_prod("ways out", policy("external-store"), "/spec/egress/0/to", json!([])),
        in_prod("ways out", policy("external-store"), BLOCK, json!({"cidr": "0.0.0.0/0"})),
        in_prod("ways out", policy("external-store"), BLOCK, json!({"cidr": "0.0.0.0/1"})),
        in_dev("ways out", policy("store"), "/spec/egress/0/to", json!([{"podSelector": {}}])),
        in_webhook(BLOCK, json!({"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]})),
        in_prod(
            "proxies",
            ("ConfigMap", "anteroom-config"),
            "/data/anteroom.toml",
            json!("[admission]\ntrusted_proxies = [\"10.0.0.0/8\"]\n"),
        ),
        in_prod("proxies", ("ConfigMap", "gate-site"), "/data/site.conf", site),
        in_prod("ingress", ("Ingress", "gate"), paths, leads),
        in_prod("ingress", ("Service", "admission"), "/spec/type", json!("LoadBalancer")),
        in_dev("services", ("Service", "gate"), "/spec/ports/0/targetPort", json!("web")),
        in_dev("rolls", admission, "/spec/strategy/rollingUpdate/maxUnavailable", json!("25%")),
        in_dev("rolls", ("PodDisruptionBudget", "gate"), "/spec/maxUnavailable", json!(0)),
        in_dev("rolls", ("Deployment", "scheduler"), "POD/topologySpreadConstraints", json!([])),
        in_prod("rolls", admission, "/spec/replicas", json!(2)),
        in_dev("ends in time", admission, "C/lifecycle", json!({})),
        in_dev("ends in time", admission, "POD/terminationGracePeriodSeconds", json!(30)),
        in_dev(
            "ends in time",
            ("Deployment", "gate"),
            "C/lifecycle/preStop/sleep/seconds",
            json!(20),
        ),
        in_dev("one store", ("StatefulSet", "redis"), "/spec/replicas", json!(2)),
        in_dev("one store", ("StatefulSet", "redis"), "/spec/volumeClaimTemplates", json!([])),
        in_loadtest("protected", policy("loadtest-target"), "/spec/podSelector", protected),
        in_loadtest("images", job, "C/image", json!(loadtest)),
        in_loadtest("shares", job, "/spec/completions", json!(5)),
        in_loadtest("shares", job, "/spec/parallelism", json!(2)),
        in_loadtest("shares", job, "/spec/completionMode", Value::Null),
        in_loadtest("shares", job, "/spec/backoffLimitPerIndex", json!(1)),
        in_loadtest("shares", job, "/spec/suspend", Value::Null),
        in_loadtest("shares", job, "C/args/5", json!("--share=$(JOB_COMPLETION_INDEX)/8")),
    ]
}

#[test]
fn each_policy_finds_what_is_planted_for_it() {
    let planted = planted();
    let annotations = format!("/metadata/annotations/{NGINX}");
    for (policy, overlay, (kind, name), pointer, value) in &planted {
        let mut objects = rendered(overlay).objects.clone();
        let pointer = pointer.replacen("POD", POD, 1);
        let pointer = pointer.replacen("NGINX/", &annotations, 1);
        let pointer = pointer.replacen("AUTH/", AUTHORIZATION, 1);
        let pointer = match pointer.strip_prefix("C/") {
            Some(rest) => format!("{CONTAINER}/{rest}"),
            None => pointer,
        };
        let mut found = objects.iter_mut();
        let is_it = |it: &&mut Value| {
            let rest = (it["kind"] == *kind).then(|| name_of(it).strip_prefix(name)).flatten();
            // A generator puts a hash behind it.
            rest.is_some_and(|rest| rest.is_empty() || rest.len() == 11)
        };
        let object = found.find(is_it).unwrap();
        put(object, &pointer, value.clone());
        let (_, check) = POLICIES.iter().find(|(known, _)| known == policy).unwrap();
        let findings = Findings::of(*check, &objects);
        assert!(!findings.is_empty(), "{policy}: {kind} {name}: {pointer} = {value}");
    }
    for (name, _) in POLICIES {
        assert!(planted.iter().any(|(policy, ..)| *policy == name), "none is planted for {name}");
    }
}
