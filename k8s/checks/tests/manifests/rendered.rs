//! What Kustomize makes of the overlays, once for all tests.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anteroom_k8s_checks::{build, objects};
use serde_json::Value;

/// The overlays, and those of a user who takes a component that no overlay of ours has.
const FOLDERS: [&str; 16] = [
    "overlays/dev",
    "overlays/dev-envoy",
    "overlays/prod",
    "checks/overlays/contour",
    "checks/overlays/envoy",
    "checks/overlays/envoy-gateway",
    "checks/overlays/envoy-gateway-grpc",
    "checks/overlays/hpa-requests",
    "checks/overlays/ingress-nginx",
    "checks/overlays/istio",
    "checks/overlays/keda",
    "checks/overlays/loadtest",
    "checks/overlays/plan",
    "checks/overlays/sentinel",
    "checks/overlays/traefik",
    "checks/overlays/webhook",
];

/// A service of ours that runs all the time.
pub struct Ours {
    /// Its Deployment.
    pub name: &'static str,
    /// The name in the labels of its pods.
    pub label: &'static str,
    /// The Service that names each of its pods for Prometheus.
    pub metrics: &'static str,
    pub metrics_port: u16,
    /// Whether a component brings it, so that an overlay can be without it.
    pub is_component: bool,
}

pub const OURS: [Ours; 4] = [
    Ours {
        name: "admission",
        label: "admission",
        metrics: "admission-metrics",
        metrics_port: 9090,
        is_component: false,
    },
    Ours {
        name: "scheduler",
        label: "scheduler",
        metrics: "scheduler",
        metrics_port: 9091,
        is_component: false,
    },
    Ours {
        name: "issuer",
        label: "issuer",
        metrics: "issuer",
        metrics_port: 9092,
        is_component: true,
    },
    Ours {
        name: "envoy",
        // Pods of Envoy Gateway have the name "envoy".
        label: "anteroom-envoy",
        metrics: "envoy-metrics",
        metrics_port: 9093,
        is_component: true,
    },
];

/// What one folder would apply.
#[derive(Clone)]
pub struct Rendered {
    /// Below `k8s`.
    pub folder: &'static str,
    pub text: String,
    pub objects: Vec<Value>,
}

/// All of them.
pub fn all() -> &'static [Rendered] {
    static ALL: OnceLock<Vec<Rendered>> = OnceLock::new();
    ALL.get_or_init(|| {
        let render = |folder| {
            let text = build(&k8s().join(folder)).unwrap_or_else(|error| panic!("{error:#}"));
            Rendered { folder, objects: objects(&text).unwrap(), text }
        };
        FOLDERS.map(render).into()
    })
}

/// One of them.
pub fn rendered(folder: &str) -> &'static Rendered {
    all().iter().find(|rendered| rendered.folder == folder).unwrap()
}

pub fn k8s() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

impl Rendered {
    /// The name of its snapshot.
    pub fn name(&self) -> &'static str {
        self.folder.rsplit('/').next().unwrap()
    }

    /// Whether it is made of `overlays/dev`, with its secrets that everyone can read.
    pub fn is_development(&self) -> bool {
        ["dev", "dev-envoy", "loadtest", "plan"].contains(&self.name())
    }

    /// Whether it has the pod "gate". The components of other gateways remove it.
    pub fn has_gate(&self) -> bool {
        self.find("Deployment", "gate").is_some()
    }

    /// Whether that pod is NGINX.
    pub fn has_nginx_gate(&self) -> bool {
        self.has_gate() && self.find("ConfigMap", "gate-nginx").is_some()
    }

    /// Whether that pod is Envoy.
    pub fn has_envoy_gate(&self) -> bool {
        self.has_gate() && self.find("ConfigMap", "gate-envoy").is_some()
    }

    pub fn find(&self, kind: &str, name: &str) -> Option<&Value> {
        find(&self.objects, kind, name)
    }
}

/// The object of this kind and name. What a generator made may have a hash behind its name.
pub fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> Option<&'a Value> {
    of_kind(objects, kind).find(|object| {
        name_of(object).strip_prefix(name).is_some_and(|rest| {
            rest.is_empty() || rest.strip_prefix('-').is_some_and(|hash| hash.len() == 10)
        })
    })
}

pub fn of_kind<'a>(objects: &'a [Value], kind: &str) -> impl Iterator<Item = &'a Value> {
    objects.iter().filter(move |object| object["kind"] == kind)
}

pub fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Whatever brings pods: its template is at `spec.template`.
pub fn workloads(objects: &[Value]) -> impl Iterator<Item = &Value> {
    objects.iter().filter(|object| object["spec"]["template"]["spec"]["containers"].is_array())
}

/// The pod of a workload.
pub fn pod(workload: &Value) -> &Value {
    &workload["spec"]["template"]["spec"]
}

/// The items of a list, none where there is no list.
pub fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// Its containers, those that run before it included.
pub fn containers(workload: &Value) -> impl Iterator<Item = &Value> {
    let pod = pod(workload);
    items(&pod["containers"]).iter().chain(items(&pod["initContainers"]))
}

/// Puts a value where a pointer leads, also where nothing was.
pub fn put(object: &mut Value, pointer: &str, value: Value) {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let parent = object.pointer_mut(parent).unwrap_or_else(|| panic!("nothing at {pointer}"));
    match parent {
        Value::Array(values) => values[last.parse::<usize>().unwrap()] = value,
        _ => parent[last.replace("~1", "/")] = value,
    }
}

#[test]
fn every_component_is_in_an_overlay_that_is_checked() {
    let read =
        |folder: &str| fs::read_to_string(k8s().join(folder).join("kustomization.yaml")).unwrap();
    let names = fs::read_dir(k8s().join("components")).unwrap();
    let names: Vec<_> = names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.len() > 5, "only {names:?}");
    let overlays: Vec<_> = FOLDERS.iter().map(|folder| read(folder)).collect();
    let components: Vec<_> = names.iter().map(|name| read(&format!("components/{name}"))).collect();
    for name in names {
        let in_overlay = format!("components/{name}\n");
        // A component can include another one.
        let in_component = format!("  - ../{name}\n");
        let found = overlays.iter().any(|text| text.contains(&in_overlay))
            || components.iter().any(|text| text.contains(&in_component));
        assert!(found, "{name}");
    }
}
