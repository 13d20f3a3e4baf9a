//! What Kustomize makes of the overlays, once for all tests.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anteroom_k8s_checks::{build, objects};
use serde_json::Value;

/// The overlays, and those of a user who takes a component that no overlay of ours has.
const FOLDERS: [&str; 8] = [
    "overlays/dev",
    "overlays/prod",
    "checks/overlays/hpa-requests",
    "checks/overlays/keda",
    "checks/overlays/loadtest",
    "checks/overlays/plan",
    "checks/overlays/sentinel",
    "checks/overlays/webhook",
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
        ["dev", "loadtest", "plan"].contains(&self.name())
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

#[test]
fn every_component_is_in_an_overlay_that_is_checked() {
    let kustomizations: Vec<_> = FOLDERS
        .iter()
        .map(|folder| fs::read_to_string(k8s().join(folder).join("kustomization.yaml")).unwrap())
        .collect();
    let mut components = 0;
    for entry in fs::read_dir(k8s().join("components")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let line = format!("components/{name}\n");
        assert!(kustomizations.iter().any(|text| text.contains(&line)), "{name}");
        components += 1;
    }
    assert!(components > 5, "only {components}");
}
