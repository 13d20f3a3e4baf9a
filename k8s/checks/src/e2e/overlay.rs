//! The overlay of a run, in a folder of its own: the one that is tried, with our namespace, our
//! images and the rules of the run.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    configuration::Configuration,
    kubectl::Kubectl,
    options::{Options, Usage, read},
    receiver,
};

/// The image that the manifests name.
const IMAGE: &str = "ghcr.io/anteroom/anteroom";

/// Of each container, in thousandths of a processor.
const REQUESTED_CPU: u64 = 20;

/// What is applied.
pub struct Overlay {
    folder: TempDir,
    /// The services' configuration in it.
    pub configuration: Configuration,
    /// The workloads in it, such as `deployment/admission`.
    pub workloads: BTreeSet<String>,
}

impl Overlay {
    /// Writes it; `digest` is that of the operator's key of this run.
    pub async fn write(kubectl: &Kubectl, options: &Options, digest: &str) -> anyhow::Result<Self> {
        let wrong = |error| Usage(format!("--overlay {}: {error}", options.overlay.display()));
        let tried = fs::canonicalize(&options.overlay).map_err(wrong)?;
        let objects = kubectl.render(&tried).await?;
        let map = objects.iter().find(|object| is(object, "ConfigMap", Configuration::MAP));
        let text = map.and_then(|map| map["data"][Configuration::KEY].as_str());
        let text = text.with_context(|| {
            format!(
                "the overlay has no ConfigMap {} with {}",
                Configuration::MAP,
                Configuration::KEY
            )
        })?;
        let mut configuration = Configuration::read(text)?;
        configuration.prepare(digest)?;
        let folder = tempfile::tempdir()?;
        let mut patches = Vec::new();
        let mut add = |name: String, patch: &str| {
            patches.push(json!({ "path": name }));
            fs::write(folder.path().join(&name), patch)
        };
        add("configuration.yaml".to_owned(), &configuration.object()?.to_string())?;
        for name in &options.without {
            let mut left_out = objects.iter().filter(|object| belongs(object, name)).peekable();
            if left_out.peek().is_none() {
                let rule = "the overlay has nothing of that name";
                return Err(Usage(format!("--without {name}: {rule}")).into());
            }
            for (number, object) in left_out.enumerate() {
                add(format!("without-{name}-{number}.yaml"), &deleted(object).to_string())?;
            }
        }
        let stays = |object: &&Value| options.without.iter().all(|name| !belongs(object, name));
        for (number, object) in objects.iter().filter(stays).enumerate() {
            let small = small(object).or_else(|| scales_alike(object, &objects));
            if let Some(small) = small {
                add(format!("small-{number}.yaml"), &small.to_string())?;
            }
        }
        let workloads = objects.iter().filter(stays).filter_map(workload).collect();
        if let Some(patch) = receiver::patch(&objects, &options.receiver_image) {
            add("receiver-patch.yaml".to_owned(), &patch.to_string())?;
        }
        if options.image_previous.is_some() {
            let more = &options.previous_permissions;
            if let Some(patch) = with_permissions(&objects, more)? {
                add("permissions.yaml".to_owned(), &patch.to_string())?;
            }
        }
        for (number, file) in options.patch.iter().enumerate() {
            add(format!("patch-{number}.yaml"), &read("--patch", file)?)?;
        }
        fs::write(folder.path().join("receiver.yaml"), receiver::files().to_string())?;
        let root = fs::canonicalize(folder.path())?;
        let (image, tag) = split(&options.image);
        let kustomization = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "namespace": kubectl.namespace,
            "resources": [relative(&root, &tried), "receiver.yaml"],
            "images": [{ "name": IMAGE, "newName": image, tag.0: tag.1 }],
            "patches": patches,
        });
        fs::write(root.join("kustomization.yaml"), kustomization.to_string())?;
        Ok(Self { folder, configuration, workloads })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn is(object: &Value, kind: &str, name: &str) -> bool {
    object["kind"] == kind && object["metadata"]["name"] == name
}

/// Whether an object is a component's, by its name or that of what it selects.
fn belongs(object: &Value, name: &str) -> bool {
    let labels = &object["metadata"]["labels"];
    let keys = ["app.kubernetes.io/name", "app.kubernetes.io/component"];
    object["metadata"]["name"] == name || keys.iter().any(|key| labels[key] == name)
}

fn deleted(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": { "name": object["metadata"]["name"] },
        "$patch": "delete",
    })
}

/// A workload that asks for little, so that five admissions have room in a small cluster. What it
/// may use stays as it is.
fn small(object: &Value) -> Option<Value> {
    let containers = object["spec"]["template"]["spec"]["containers"].as_array()?;
    let small = containers.iter().map(|container| {
        let resources = json!({ "requests": { "cpu": format!("{REQUESTED_CPU}m") } });
        json!({ "name": container["name"], "resources": resources })
    });
    let pod = json!({ "containers": small.collect::<Vec<_>>() });
    Some(json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": { "name": object["metadata"]["name"] },
        "spec": { "template": { "spec": pod } },
    }))
}

/// The users of Redis, of whom ours gets more permissions; absent where the overlay has no Redis.
fn with_permissions(objects: &[Value], more: &str) -> anyhow::Result<Option<Value>> {
    const SECRET: &str = "redis-auth";
    const USERS: &str = "users.acl";
    let Some(secret) = objects.iter().find(|object| is(object, "Secret", SECRET)) else {
        return Ok(None);
    };
    let decoded = |key: &str| {
        let value = secret["data"][key].as_str().with_context(|| format!("{SECRET}: no {key}"))?;
        // Kustomize breaks long values into lines.
        let value: String = value.split_whitespace().collect();
        let text = String::from_utf8(STANDARD.decode(value)?)?;
        anyhow::Ok(text.trim_end().to_owned())
    };
    let ours = format!("user {} ", decoded("username")?);
    let users = decoded(USERS)?;
    let line = |line: &str| match line.starts_with(&ours) {
        true => format!("{line} {more}\n"),
        false => format!("{line}\n"),
    };
    let users: String = users.lines().map(line).collect();
    Ok(Some(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": SECRET },
        "data": { USERS: STANDARD.encode(users) },
    })))
}

/// The name of a workload as kubectl takes it.
fn workload(object: &Value) -> Option<String> {
    let kind = ["Deployment", "StatefulSet"].into_iter().find(|kind| object["kind"] == *kind)?;
    let name = object["metadata"]["name"].as_str()?;
    Some(format!("{}/{name}", kind.to_ascii_lowercase()))
}

/// An autoscaler measures the processor time as a share of what a pod asks for. That share becomes
/// so much larger that the pod which asks for little is scaled at the same use as before.
fn scales_alike(object: &Value, objects: &[Value]) -> Option<Value> {
    if object["kind"] != "HorizontalPodAutoscaler" {
        return None;
    }
    let of = &object["spec"]["scaleTargetRef"];
    let of = objects
        .iter()
        .find(|it| it["kind"] == of["kind"] && it["metadata"]["name"] == of["name"])?;
    let containers = of["spec"]["template"]["spec"]["containers"].as_array()?;
    let cpu = |container: &Value| thousandths(&container["resources"]["requests"]["cpu"]);
    let requested: u64 = containers.iter().filter_map(cpu).sum();
    let small = REQUESTED_CPU * containers.len() as u64;
    let mut metrics = object["spec"]["metrics"].clone();
    for metric in metrics.as_array_mut()? {
        let is_cpu = metric["resource"]["name"] == "cpu";
        let share = &mut metric["resource"]["target"]["averageUtilization"];
        if let (true, Some(percent)) = (is_cpu, share.as_u64()) {
            *share = json!(percent * requested / small);
        }
    }
    Some(json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": { "name": object["metadata"]["name"] },
        "spec": { "metrics": metrics },
    }))
}

/// Processors, such as "2" or "100m".
fn thousandths(cpu: &Value) -> Option<u64> {
    let text = cpu.as_str()?;
    match text.strip_suffix('m') {
        Some(thousandths) => thousandths.parse().ok(),
        None => text.parse::<u64>().ok().map(|whole| 1000 * whole),
    }
}

/// An image's name, and by what kustomize names its version.
fn split(image: &str) -> (&str, (&'static str, &str)) {
    if let Some((name, digest)) = image.split_once('@') {
        return (name, ("digest", digest));
    }
    match image.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
        Some((name, tag)) => (name, ("newTag", tag)),
        None => (image, ("newTag", "latest")),
    }
}

/// kustomize takes no absolute path.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let up = from.components().skip(1).map(|_| "..");
    up.chain(to.strip_prefix("/").ok().and_then(Path::to_str)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_user_of_redis_gets_what_the_version_before_needs() {
        let users = "user default off +@all\nuser anteroom on #00 -@all +get\n";
        let data = json!({
            "username": STANDARD.encode("anteroom\n"), "users.acl": STANDARD.encode(users),
        });
        let secret =
            json!({ "kind": "Secret", "metadata": { "name": "redis-auth" }, "data": data });
        let patch = with_permissions(&[secret], "+script|load").expect("users").expect("a patch");
        let users = patch["data"]["users.acl"].as_str().expect("text");
        let users = String::from_utf8(STANDARD.decode(users).expect("base64")).expect("UTF-8");
        let ours = "user anteroom on #00 -@all +get +script|load";
        assert_eq!(users, format!("user default off +@all\n{ours}\n"));
        assert_eq!(with_permissions(&[], "").expect("nothing"), None);
    }

    #[test]
    fn an_autoscaler_of_a_small_workload_scales_at_the_same_use() {
        let container = json!({ "resources": { "requests": { "cpu": "1" } } });
        let pod = json!({ "containers": [container] });
        let name = json!({ "name": "envoy" });
        let workload = json!({
            "kind": "Deployment", "metadata": name, "spec": { "template": { "spec": pod } },
        });
        let target = json!({ "type": "Utilization", "averageUtilization": 70 });
        let scaler = json!({
            "kind": "HorizontalPodAutoscaler", "metadata": name,
            "spec": {
                "scaleTargetRef": { "kind": "Deployment", "name": "envoy" },
                "metrics": [{ "resource": { "name": "cpu", "target": target } }],
            },
        });
        let patch = scales_alike(&scaler, std::slice::from_ref(&workload)).expect("an autoscaler");
        let target = &patch["spec"]["metrics"][0]["resource"]["target"];
        assert_eq!(target["averageUtilization"], 3500, "70 % of 1 processor are 700m");
        assert!(scales_alike(&workload, &[]).is_none());
        assert_eq!(thousandths(&json!("250m")), Some(250));
    }

    #[test]
    fn an_image_is_split_as_kustomize_names_its_parts() {
        for (image, parts) in [
            ("r.example:5000/a/b:1.2", ("r.example:5000/a/b", ("newTag", "1.2"))),
            ("r.example:5000/a/b", ("r.example:5000/a/b", ("newTag", "latest"))),
            ("a/b@sha256:00", ("a/b", ("digest", "sha256:00"))),
        ] {
            assert_eq!(split(image), parts, "{image}");
        }
        let path = relative(Path::new("/tmp/x"), Path::new("/a/b"));
        assert_eq!(path, Path::new("../../a/b"));
    }
}
