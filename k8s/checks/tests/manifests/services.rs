//! The services themselves read what they would be given: arguments, environment, ConfigMaps and
//! Secrets, by `--check-config`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use anteroom_testkit::{binary, docs};
use serde_json::Value;

use crate::rendered::{OURS, Rendered, all, find, items, pod};

/// The value of each Secret that an overlay only names, before the name of the key.
const STAND_IN: &str = "a-stand-in-of-the-tests-of-32-bytes-and-more";

/// The value of a key of a ConfigMap or a Secret of the overlay.
fn datum(rendered: &Rendered, kind: &str, name: &str, key: &str) -> String {
    match find(&rendered.objects, kind, name) {
        Some(object) if kind == "Secret" => crate::secrets::decoded(object, key),
        Some(object) => object["data"][key].as_str().unwrap_or_default().to_owned(),
        None => {
            assert_eq!(kind, "Secret", "{}: no ConfigMap {name}", rendered.folder);
            format!("{STAND_IN}-{key}")
        }
    }
}

/// The environment that the kubelet would give to the first container.
fn environment(rendered: &Rendered, workload: &Value) -> BTreeMap<String, String> {
    let container = &pod(workload)["containers"][0];
    let mut environment = BTreeMap::new();
    for from in items(&container["envFrom"]) {
        let name = from["configMapRef"]["name"].as_str().unwrap();
        let object = find(&rendered.objects, "ConfigMap", name).unwrap();
        for (key, value) in object["data"].as_object().into_iter().flatten() {
            environment.insert(key.clone(), value.as_str().unwrap().to_owned());
        }
    }
    for variable in items(&container["env"]) {
        let secret = &variable["valueFrom"]["secretKeyRef"];
        let value = match variable["value"].as_str() {
            Some(value) => value.to_owned(),
            None => {
                let of = |field: &str| secret[field].as_str().unwrap();
                datum(rendered, "Secret", of("name"), of("key"))
            }
        };
        environment.insert(variable["name"].as_str().unwrap().to_owned(), value);
    }
    environment
}

/// The files that the configuration names, as the environment would name them.
fn secret_files(rendered: &Rendered) -> BTreeMap<String, String> {
    let config = datum(rendered, "ConfigMap", "anteroom-config", "anteroom.toml");
    let config: toml::Table = config.parse().unwrap();
    let events = config.get("events").and_then(toml::Value::as_table);
    let files = events.into_iter().flatten().filter_map(|(name, event)| {
        let file = event.get("secret_file")?.as_str()?.to_owned();
        Some((format!("ANTEROOM_EVENTS__{}__SECRET_FILE", name.to_uppercase()), file))
    });
    files.collect()
}

/// Writes what is mounted below `root`, and puts `root` before each path that leads there.
fn mount(rendered: &Rendered, workload: &Value, root: &Path, texts: &mut [&mut String]) {
    let pod = pod(workload);
    for mount in items(&pod["containers"][0]["volumeMounts"]) {
        let volume = items(&pod["volumes"]).iter().find(|volume| volume["name"] == mount["name"]);
        let volume = volume.unwrap();
        let path = mount["mountPath"].as_str().unwrap();
        let folder = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(&folder).unwrap();
        let mut used = BTreeSet::new();
        for text in texts.iter_mut() {
            let Some(key) = text.strip_prefix(path).map(|rest| rest.trim_start_matches('/')) else {
                continue;
            };
            let (kind, name) = match volume["secret"]["secretName"].as_str() {
                Some(name) => ("Secret", name),
                None => ("ConfigMap", volume["configMap"]["name"].as_str().unwrap()),
            };
            let listed = items(&volume["secret"]["items"]);
            assert!(listed.is_empty() || listed.iter().any(|item| item["path"] == key), "{text}");
            fs::write(folder.join(key), datum(rendered, kind, name, key)).unwrap();
            used.insert(key.to_owned());
            **text = folder.join(key).into_os_string().into_string().unwrap();
        }
        assert!(!used.is_empty(), "{}: nothing reads {path}", rendered.folder);
    }
}

/// `--check-config` of a service of an overlay, without the container's root before its paths: the
/// exit code and what it prints. Nothing if the overlay has no such service.
fn checked(
    rendered: &Rendered,
    service: &str,
    adapt: impl Fn(String) -> String,
) -> Option<(Option<i32>, String)> {
    let Some(workload) = rendered.find("Deployment", service) else {
        let is_component = OURS.iter().any(|ours| ours.name == service && ours.is_component);
        assert!(is_component, "{}: no {service}", rendered.folder);
        return None;
    };
    let mut environment = environment(rendered, workload);
    if service == "issuer" {
        environment.extend(secret_files(rendered));
    }
    let command = items(&pod(workload)["containers"][0]["command"]);
    let mut words: Vec<_> = command.iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    let root = tempfile::tempdir().unwrap();
    let mut texts: Vec<&mut String> = environment.values_mut().collect();
    texts.extend(words.iter_mut().skip(1));
    mount(rendered, workload, root.path(), &mut texts);
    let file = &words[2];
    fs::write(file, adapt(fs::read_to_string(file).unwrap())).unwrap();

    let program = Path::new(&words[0]).file_name().unwrap().to_str().unwrap();
    let mut check = Command::new(binary(program));
    check.env_clear().args(&words[1..]).arg("--check-config").envs(&environment);
    let output = check.output().unwrap();
    Some((
        output.status.code(),
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap(),
    ))
}

fn digest_of(digit: char) -> String {
    format!("sha256:{}", String::from(digit).repeat(64))
}

/// The configuration as an operator would leave it: with keys of its own.
fn with_keys(config: String) -> String {
    ('0'..='1').fold(config, |config, digit| {
        config.replace(&digest_of(digit), &format!("sha256:{}", format!("{digit}f").repeat(32)))
    })
}

/// Warnings about the development overlay, which is for a port that is forwarded to this machine.
const MEANT_IN_DEVELOPMENT: [&str; 3] = [
    "public_url is a loopback address",
    "admission.development is true",
    "admission.trusted_proxies trusts",
];

#[test]
fn the_services_take_what_every_overlay_gives_them() {
    for rendered in all() {
        for service in OURS.map(|ours| ours.name) {
            let Some((code, text)) = checked(rendered, service, with_keys) else { continue };
            assert_eq!(code, Some(0), "{}: {service}: {text}", rendered.folder);
            let mut warnings = text.lines().filter(|line| line.starts_with("warn"));
            let meant = |line: &str| {
                rendered.is_development()
                    && MEANT_IN_DEVELOPMENT.iter().any(|warning| line.contains(warning))
            };
            assert!(warnings.all(meant), "{}: {service}: {text}", rendered.folder);
        }
    }
}

/// Else it would run with keys that no caller has.
#[test]
fn admission_refuses_the_placeholders_of_production() {
    for rendered in all().iter().filter(|it| !it.is_development()) {
        let mut left = vec!['0', '1'];
        left.retain(|digit| rendered.text.contains(&digest_of(*digit)));
        assert!(!left.is_empty(), "{}", rendered.folder);
        let (code, text) = checked(rendered, "admission", |config| config).unwrap();
        assert_eq!(code, Some(64), "{}: {text}", rendered.folder);
        let named = left.iter().any(|digit| text.contains(&digest_of(*digit)));
        assert!(named && text.contains("must not be a placeholder"), "{text}");
    }
}

/// Without the environment of the pods the ports are loopback addresses.
#[test]
fn the_file_of_production_alone_is_refused_too() {
    let check = |overlay: &str| {
        let file = crate::rendered::k8s().join("overlays").join(overlay).join("anteroom.toml");
        let mut command = Command::new(binary("anteroom-admission"));
        let output = command.env_clear().arg("--config").arg(file).arg("--check-config").output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (code, text) = check("prod");
    assert_eq!(code, Some(64), "{text}");
    assert!(text.contains(&digest_of('1')) || text.contains(&digest_of('0')), "{text}");
    let (code, text) = check("dev");
    assert_eq!(code, Some(0), "{text}");
}

/// The sample shop has no file: each of its options is one that it knows.
#[test]
fn the_shop_knows_what_it_is_given() {
    let help = Command::new(binary("anteroom-concert")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let mut seen = 0;
    for rendered in all() {
        let Some(concert) = rendered.find("Deployment", "concert") else { continue };
        for name in environment(rendered, concert).into_keys() {
            assert!(help.contains(&name), "{}: {name}", rendered.folder);
            seen += 1;
        }
    }
    assert!(seen > 5);
}

/// The keys that take effect after a restart only, such as `store.url`, by their reference.
fn keys_of_a_restart() -> BTreeSet<String> {
    let page = docs::read(docs::CONFIGURATION).text;
    let entries = page.split("\n### `").skip(1);
    let restarts = entries.filter(|entry| entry.contains("- Takes effect: after a restart\n"));
    restarts.filter_map(|entry| entry.split('`').next()).map(str::to_owned).collect()
}

/// So that an operator never changes the ConfigMap and waits for a change that does not come.
#[test]
fn what_needs_a_restart_is_environment_and_never_in_the_file() {
    let keys = keys_of_a_restart();
    for known in ["store.url", "log.level", "admission.listen", "scheduler.metrics_listen"] {
        assert!(keys.contains(known), "{known}: {keys:?}");
    }
    assert!(!keys.contains("admission.drain_delay") && !keys.contains("admission.trusted_proxies"));
    for rendered in all() {
        let config = rendered.find("ConfigMap", "anteroom-config").unwrap();
        assert_eq!(config["metadata"]["name"], "anteroom-config", "a hash would roll it out");
        let table: toml::Table = config["data"]["anteroom.toml"].as_str().unwrap().parse().unwrap();
        for key in &keys {
            let (section, key) = key.split_once('.').unwrap();
            let found = table.get(section).and_then(|section| section.get(key));
            // Beside the digests that it is about, for as long as they are there.
            let is_meant = (section, key) == ("admission", "development");
            assert!(found.is_none() || is_meant, "{}: {section}.{key}", rendered.folder);
        }
    }
}
