//! What each overlay applies: which objects, which of them a component changes, and whether their
//! references and addresses lead to an object of the same overlay.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::rendered::{
    OURS, Rendered, all, containers, items, name_of, of_kind, pod, rendered, workloads,
};

const PROD: &str = "
    ConfigMap anteroom-config anteroom-rules anteroom-store gate-anteroom gate-nginx gate-site \
        grafana-dashboards
    Deployment admission gate scheduler
    HorizontalPodAutoscaler admission gate
    Ingress gate
    Namespace anteroom
    NetworkPolicy admission default-deny dns external-store gate metrics protected store
    PodDisruptionBudget admission gate scheduler
    PrometheusRule anteroom
    Service admission admission-metrics gate scheduler
    ServiceAccount admission gate scheduler
    ServiceMonitor anteroom";

const DEV: &str = "
    ConfigMap anteroom-config anteroom-rules anteroom-store gate-anteroom gate-nginx gate-site \
        grafana-dashboards grafana-provisioning prometheus-config prometheus-rules redis-config
    Deployment admission concert gate grafana issuer prometheus scheduler
    Namespace anteroom
    NetworkPolicy admission concert default-deny dns gate grafana metrics prometheus protected \
        redis store
    PersistentVolumeClaim concert
    PodDisruptionBudget admission gate issuer scheduler
    Secret anteroom-keys anteroom-tokens redis-auth
    Service admission admission-metrics concert gate grafana issuer prometheus redis scheduler
    ServiceAccount admission concert gate grafana issuer prometheus redis scheduler
    StatefulSet redis";

/// An overlay made of another one: that one, and the objects that it adds (`+`),
/// changes (`~`) or removes (`-`).
const DIFFERENCES: [(&str, &str, &str); 14] = [
    (
        "dev-envoy",
        "overlays/dev",
        "WITH_ENVOY ~Deployment/gate ~NetworkPolicy/gate +ConfigMap/gate-envoy \
         -ConfigMap/gate-anteroom -ConfigMap/gate-nginx -ConfigMap/gate-site +Service/envoy-pods",
    ),
    ("hpa-requests", "overlays/prod", "~HorizontalPodAutoscaler/admission"),
    ("keda", "overlays/prod", "-HorizontalPodAutoscaler/admission +ScaledObject/admission"),
    (
        "sentinel",
        "overlays/prod",
        "~ConfigMap/anteroom-store ~Deployment/admission ~Deployment/scheduler \
         +NetworkPolicy/sentinel-store",
    ),
    (
        "webhook",
        "overlays/prod",
        "~ConfigMap/anteroom-config +Deployment/issuer +NetworkPolicy/webhook \
         +PodDisruptionBudget/issuer +Service/issuer +ServiceAccount/issuer",
    ),
    (
        "contour",
        "overlays/prod",
        "WITHOUT_GATE WITH_ENVOY +ExtensionService/anteroom +HTTPProxy/anteroom ~Service/admission",
    ),
    ("envoy", "overlays/prod", "~ConfigMap/anteroom-config WITH_ENVOY"),
    (
        "envoy-gateway",
        "overlays/prod",
        "WITHOUT_GATE +BackendTrafficPolicy/anteroom-visitors +ClientTrafficPolicy/anteroom \
         +ConfigMap/anteroom-lua +EnvoyExtensionPolicy/anteroom-protected +Gateway/anteroom \
         +HTTPRoute/anteroom-protected +HTTPRoute/anteroom-visitors \
         +SecurityPolicy/anteroom-protected",
    ),
    (
        "envoy-gateway-grpc",
        "overlays/prod",
        "WITHOUT_GATE WITH_ENVOY +BackendTrafficPolicy/anteroom-visitors \
         +ClientTrafficPolicy/anteroom +Gateway/anteroom +HTTPRoute/anteroom-protected \
         +HTTPRoute/anteroom-visitors +SecurityPolicy/anteroom-protected",
    ),
    (
        "ingress-nginx",
        "overlays/prod",
        "WITHOUT_GATE +ConfigMap/gateway-check-headers +Ingress/anteroom-protected \
         +Ingress/anteroom-visitors",
    ),
    ("istio", "overlays/prod", "WITHOUT_GATE +Gateway/anteroom +VirtualService/anteroom"),
    (
        "traefik",
        "overlays/prod",
        "WITHOUT_GATE +IngressRoute/anteroom +Middleware/anteroom-check-concert \
         +Middleware/anteroom-concert +Middleware/anteroom-private +ServersTransport/anteroom",
    ),
    (
        "loadtest",
        "overlays/dev",
        "+ConfigMap/loadtest ~Deployment/concert +Job/loadtest +NetworkPolicy/loadtest \
         +NetworkPolicy/loadtest-target +ServiceAccount/loadtest",
    ),
    (
        "plan",
        "overlays/dev",
        "~ConfigMap/anteroom-rules ~Deployment/admission ~Deployment/concert ~Deployment/issuer \
         ~Deployment/scheduler",
    ),
];

/// What a gateway that asks Anteroom itself removes and changes.
const WITHOUT_GATE: &str = "-ConfigMap/gate-anteroom -ConfigMap/gate-nginx -ConfigMap/gate-site \
    -Deployment/gate -HorizontalPodAutoscaler/gate -Ingress/gate -NetworkPolicy/gate \
    -PodDisruptionBudget/gate -Service/gate -ServiceAccount/gate ~NetworkPolicy/admission \
    ~NetworkPolicy/protected";

/// What the component envoy adds.
const WITH_ENVOY: &str = "+Deployment/envoy +HorizontalPodAutoscaler/envoy +NetworkPolicy/envoy \
    +PodDisruptionBudget/envoy +Service/envoy +Service/envoy-metrics +ServiceAccount/envoy";

/// The name without the hash that a generator put behind it.
fn without_hash(name: &str) -> &str {
    let is_hash = |hash: &str| hash.len() == 10 && hash.bytes().any(|byte| byte.is_ascii_digit());
    name.rsplit_once('-').filter(|(_, hash)| is_hash(hash)).map_or(name, |(name, _)| name)
}

/// The objects by kind and name. The namespace of development is written as that of production.
fn by_name(rendered: &Rendered) -> BTreeMap<(String, String), String> {
    let plain = |text: &str| text.replace("anteroom-dev", "anteroom");
    let name = |object| plain(without_hash(name_of(object)));
    let kind = |object: &Value| object["kind"].as_str().unwrap().to_owned();
    let objects = rendered.objects.iter();
    objects.map(|it| ((kind(it), name(it)), plain(&it.to_string()))).collect()
}

#[test]
fn the_overlays_apply_these_objects() {
    for (overlay, expected) in [("overlays/prod", PROD), ("overlays/dev", DEV)] {
        let mut found = String::new();
        let mut last = String::new();
        for (kind, name) in by_name(rendered(overlay)).into_keys() {
            if kind != last {
                found += &format!("\n    {kind}");
                last = kind;
            }
            found += &format!(" {name}");
        }
        let words = |text: &str| text.replace("        ", "");
        assert_eq!(words(&found), words(expected), "{overlay}");
    }
}

#[test]
fn a_component_changes_only_its_own_objects() {
    let checked = DIFFERENCES.iter().map(|(name, ..)| *name);
    let listed = ["overlays/prod", "overlays/dev"];
    let others = all().iter().filter(|it| !listed.contains(&it.folder));
    assert_eq!(BTreeSet::from_iter(checked), others.map(Rendered::name).collect());
    for (name, base, expected) in DIFFERENCES {
        let before = by_name(rendered(base));
        let after = by_name(all().iter().find(|it| it.name() == name).unwrap());
        let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        let signs = keys.into_iter().filter_map(|key| {
            let sign = match (before.get(key), after.get(key)) {
                (before, after) if before == after => return None,
                (None, _) => '+',
                (_, None) => '-',
                _ => '~',
            };
            Some(format!("{sign}{}/{}", key.0, key.1))
        });
        let expected = expected.replace("WITHOUT_GATE", WITHOUT_GATE);
        let expected = expected.replace("WITH_ENVOY", WITH_ENVOY);
        let expected = expected.split(' ').map(str::to_owned);
        assert_eq!(BTreeSet::from_iter(signs), BTreeSet::from_iter(expected), "{name}");
    }
}

/// A selector cannot be changed, so it never has the version; every version in a label is this one.
#[test]
fn selectors_are_names_and_versions_are_ours() {
    for rendered in all() {
        for object in &rendered.objects {
            let selector = match object["kind"].as_str().unwrap() {
                "Deployment" | "StatefulSet" => &object["spec"]["selector"]["matchLabels"],
                "Service" => &object["spec"]["selector"],
                _ => &Value::Null,
            };
            if let Some(labels) = selector.as_object() {
                let names: Vec<_> = labels.keys().collect();
                assert_eq!(names, ["app.kubernetes.io/name"], "{}", name_of(object));
            }
            for labels in [&object["metadata"], &object["spec"]["template"]["metadata"]] {
                let version = &labels["labels"]["app.kubernetes.io/version"];
                let is_ours = version.is_null() || version == env!("CARGO_PKG_VERSION");
                assert!(is_ours, "{} {}: {version}", object["kind"], name_of(object));
            }
        }
    }
}

/// The ConfigMaps, Secrets and claims that a pod names, with whether it is optional.
fn referred(workload: &Value) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let mut refer = |kind, reference: &Value, name: &str| {
        if let (Some(name), false) = (reference[name].as_str(), reference["optional"] == true) {
            found.push((kind, name.to_owned()));
        }
    };
    for volume in items(&pod(workload)["volumes"]) {
        let sources = items(&volume["projected"]["sources"]).iter();
        for source in sources.chain([volume]) {
            refer("ConfigMap", &source["configMap"], "name");
            refer("Secret", &source["secret"], "secretName");
        }
        refer("PersistentVolumeClaim", &volume["persistentVolumeClaim"], "claimName");
    }
    for container in containers(workload) {
        for from in items(&container["envFrom"]) {
            refer("ConfigMap", &from["configMapRef"], "name");
        }
        for variable in items(&container["env"]) {
            refer("Secret", &variable["valueFrom"]["secretKeyRef"], "name");
        }
    }
    found
}

/// Production names Secrets only; a test of `secrets.rs` compares them with the documentation.
#[test]
fn pods_and_autoscalers_refer_to_objects_of_their_overlay() {
    for rendered in all() {
        let has = |kind: &str, name: &str| {
            of_kind(&rendered.objects, kind).any(|object| name_of(object) == name)
        };
        for workload in workloads(&rendered.objects) {
            for (kind, name) in referred(workload) {
                let found = has(kind, &name) || (kind == "Secret" && !rendered.is_development());
                assert!(found, "{}: {}: {kind} {name}", rendered.folder, name_of(workload));
            }
        }
        for kind in ["HorizontalPodAutoscaler", "ScaledObject"] {
            for scaler in of_kind(&rendered.objects, kind) {
                let of = &scaler["spec"]["scaleTargetRef"];
                assert!(has("Deployment", of["name"].as_str().unwrap()), "{kind}: {of}");
            }
        }
    }
}

/// A changed ConfigMap rolls its pods out, except those that its readers reload. Gateways of the
/// user watch theirs.
#[test]
fn what_is_not_reloaded_has_a_hash_in_its_name() {
    let reloaded = [
        "anteroom-config",
        "anteroom-lua",
        "gateway-check-headers",
        "grafana-dashboards",
        "loadtest",
        "prometheus-rules",
    ];
    for rendered in all() {
        for map in of_kind(&rendered.objects, "ConfigMap").map(name_of) {
            assert_ne!(without_hash(map) != map, reloaded.contains(&map), "{map}");
        }
    }
}

/// The addresses of the form `name:port` that a text has.
fn addresses(text: &str) -> impl Iterator<Item = (&str, u64)> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"-.:".contains(c));
    words.filter_map(|word| {
        let (host, port) = word.trim_matches(':').rsplit_once(':')?;
        let is_name = host.starts_with(|c: char| c.is_ascii_lowercase()) && !host.contains('.');
        (is_name && host != "localhost").then_some((host, port.parse().ok()?))
    })
}

#[test]
fn addresses_in_development_lead_to_a_port_of_a_service() {
    for rendered in all().iter().filter(|it| it.is_development()) {
        let maps = of_kind(&rendered.objects, "ConfigMap");
        // Queries and panels have no addresses, and words of this form.
        let maps =
            maps.filter(|it| !["grafana-dashboards", "prometheus-rules"].contains(&name_of(it)));
        let data = maps.flat_map(|it| it["data"].as_object()).flat_map(|data| data.values());
        let containers = workloads(&rendered.objects).flat_map(containers);
        let variables = containers.flat_map(|it| items(&it["env"])).map(|it| &it["value"]);
        let texts = data.chain(variables).filter_map(Value::as_str);
        // Comments end a sentence with a colon and begin a number.
        let lines = texts.flat_map(str::lines).filter(|line| !line.trim_start().starts_with('#'));
        let mut found = BTreeSet::new();
        // As Envoy writes them.
        let lines: Vec<_> = lines.map(|line| line.replace(", port_value: ", ":")).collect();
        let found_here = lines.iter().flat_map(|line| addresses(line));
        for (host, port) in found_here.filter(|(host, _)| *host != "sha256") {
            let service = rendered.find("Service", host);
            let ports = service.map_or(&[][..], |service| items(&service["spec"]["ports"]));
            assert!(ports.iter().any(|it| it["port"] == port), "{host}:{port}");
            found.insert(host);
        }
        let mut expected = BTreeSet::from(["admission", "concert", "prometheus", "redis"]);
        expected.extend(rendered.has_envoy_gate().then_some("envoy-pods"));
        assert_eq!(found, expected, "{}", rendered.folder);
    }
}

#[test]
fn the_service_monitor_scrapes_every_service_of_ours() {
    let mut seen = BTreeSet::new();
    for rendered in all() {
        let Some(monitor) = rendered.find("ServiceMonitor", "anteroom") else { continue };
        let monitor = &monitor["spec"];
        let wanted = monitor["selector"]["matchLabels"].as_object().unwrap();
        let services = of_kind(&rendered.objects, "Service").filter(|service| {
            let labels = &service["metadata"]["labels"];
            let ports = items(&service["spec"]["ports"]);
            wanted.iter().all(|(key, value)| labels[key] == *value)
                && ports.iter().any(|port| port["name"] == monitor["endpoints"][0]["port"])
        });
        let names = BTreeSet::from_iter(services.map(name_of));
        let ours = OURS.iter().filter(|ours| rendered.find("Deployment", ours.name).is_some());
        assert_eq!(names, ours.map(|ours| ours.metrics).collect(), "{}", rendered.folder);
        seen.extend(names);
    }
    assert_eq!(seen, OURS.iter().map(|ours| ours.metrics).collect());
}
