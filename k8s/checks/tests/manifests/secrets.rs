//! Secrets: fixed ones are labelled and fit each other, all others are named and documented.

use std::{collections::BTreeSet, fs};

use anteroom_testkit::PERMISSIONS;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::rendered::{all, containers, items, k8s, of_kind, pod, rendered, workloads};

/// A key of a Secret, as the pod sees it.
pub fn decoded(secret: &Value, key: &str) -> String {
    use base64::Engine as _;
    let coded = secret["data"][key].as_str().unwrap_or_else(|| panic!("no {key}: {secret}"));
    let coded: String = coded.split_whitespace().collect();
    let bytes = base64::engine::general_purpose::STANDARD.decode(coded).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn only_the_development_overlay_has_secrets_and_they_say_so() {
    for rendered in all() {
        let is_dev = rendered.is_development();
        let secrets: Vec<_> = of_kind(&rendered.objects, "Secret").collect();
        assert_eq!(secrets.is_empty(), !is_dev, "{}", rendered.folder);
        for secret in secrets {
            let label = &secret["metadata"]["labels"]["anteroom.dev/insecure"];
            assert_eq!(label, "for-development-only");
            for key in secret["data"].as_object().unwrap().keys() {
                let is_marked = decoded(secret, key).contains("development-only");
                assert!(is_marked || ["username", "users.acl"].contains(&key.as_str()), "{key}");
            }
        }
    }
}

/// The Secrets and their keys that the pods of an overlay take.
fn taken(objects: &[Value]) -> BTreeSet<(String, String)> {
    let mut taken = BTreeSet::new();
    let mut take = |name: &Value, key: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        taken.insert((text(name), text(key)));
    };
    for workload in workloads(objects) {
        for variable in containers(workload).flat_map(|container| items(&container["env"])) {
            let secret = &variable["valueFrom"]["secretKeyRef"];
            if secret.is_object() {
                take(&secret["name"], &secret["key"]);
            }
        }
        for volume in items(&pod(workload)["volumes"]) {
            for item in items(&volume["secret"]["items"]) {
                take(&volume["secret"]["secretName"], &item["key"]);
            }
            if volume["secret"]["items"].is_null() && volume["secret"].is_object() {
                take(&volume["secret"]["secretName"], &Value::Null);
            }
        }
    }
    for tls in of_kind(objects, "Ingress").flat_map(|ingress| items(&ingress["spec"]["tls"])) {
        take(&tls["secretName"], &Value::Null);
    }
    taken
}

#[test]
fn what_production_takes_is_documented_and_what_development_takes_is_there() {
    let head = fs::read_to_string(k8s().join("overlays/prod/kustomization.yaml")).unwrap();
    for (name, key) in taken(&rendered("overlays/prod").objects) {
        let line = head.lines().find(|line| line.starts_with(&format!("#   Secret {name} ")));
        let line = line.unwrap_or_else(|| panic!("no word about {name}"));
        assert!(line.contains(&key), "{name}: {key}");
    }
    let dev = rendered("overlays/dev");
    for (name, key) in taken(&dev.objects) {
        let secret = dev.find("Secret", &name).unwrap_or_else(|| panic!("no {name}"));
        assert!(key.is_empty() || secret["data"][&key].is_string(), "{name}: {key}");
    }
}

/// Else an operator who tried the one and goes on with the other signs with public secrets.
#[test]
fn production_never_takes_a_secret_of_development() {
    let (dev, prod) = (rendered("overlays/dev"), rendered("overlays/prod"));
    let namespaces = |objects: &[Value]| -> BTreeSet<_> {
        objects
            .iter()
            .filter_map(|it| it["metadata"]["namespace"].as_str().map(str::to_owned))
            .collect()
    };
    assert!(namespaces(&dev.objects).is_disjoint(&namespaces(&prod.objects)));
}

#[test]
fn digests_in_the_configuration_are_those_of_the_keys() {
    let dev = rendered("overlays/dev");
    let config = dev.find("ConfigMap", "anteroom-config").unwrap();
    let config: toml::Table = config["data"]["anteroom.toml"].as_str().unwrap().parse().unwrap();
    let keys = dev.find("Secret", "anteroom-keys").unwrap();
    let named = config["keys"].as_table().unwrap();
    assert!(named.keys().eq(keys["data"].as_object().unwrap().keys()));
    for (name, key) in named {
        let digest = format!("sha256:{}", sha256(&decoded(keys, name)));
        assert_eq!(key["digest"].as_str().unwrap(), digest, "{name}");
    }
}

/// Exactly what `docs/how-to/redis.md` names; without a password a ping. The default user is
/// off, and may everything: Redis reads its file of writes with that user's permissions.
#[test]
fn the_stores_users_may_what_is_documented_and_no_more() {
    let auth = rendered("overlays/dev").find("Secret", "redis-auth").unwrap();
    let name = decoded(auth, "username");
    let hash = sha256(&decoded(auth, "password"));
    let documented = PERMISSIONS.join(" ");
    let users = format!(
        "user default off ~* &* +@all\nuser probe on nopass resetchannels -@all +ping\n\
         user {name} on #{hash} resetchannels {documented}\n"
    );
    assert_eq!(decoded(auth, "users.acl"), users);
}
