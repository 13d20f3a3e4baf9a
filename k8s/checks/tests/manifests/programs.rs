//! What programs are given, and a Prometheus that reads it.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::rendered::{OURS, Ours, Rendered, all, items, pod, rendered};

/// What is mounted under this name, all ConfigMaps of the volume together.
pub fn mounted(
    rendered: &Rendered,
    kind: &str,
    workload: &str,
    volume: &str,
) -> Vec<(String, String)> {
    let workload = rendered.find(kind, workload).unwrap();
    let volumes = items(&pod(workload)["volumes"]);
    let volume = volumes.iter().find(|had| had["name"] == volume).unwrap();
    let single = [volume.clone()];
    let sources = volume["projected"]["sources"].as_array().map_or(&single[..], Vec::as_slice);
    let mut files = Vec::new();
    for source in sources {
        let name = source["configMap"]["name"].as_str().unwrap();
        let data = &rendered.find("ConfigMap", name).unwrap()["data"];
        for (file, text) in data.as_object().unwrap() {
            files.push((file.clone(), text.as_str().unwrap().to_owned()));
        }
    }
    files
}

/// The program, also where only root's PATH has it.
pub fn program(name: &str) -> Command {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&folders).chain([Path::new("/usr/sbin").to_owned()]);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    Command::new(found.unwrap_or_else(|| panic!("no {name}: scripts/prerequisites.sh installs it")))
}

/// Needs no cluster to be parsed: promtool reads the file and the rules beside it.
#[test]
fn prometheus_takes_its_configuration_and_its_rules() {
    let dev = rendered("overlays/dev");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let mut files = mounted(dev, "Deployment", "prometheus", "config");
    files.extend(mounted(dev, "Deployment", "prometheus", "rules"));
    for (file, text) in files {
        let text = text.replace("/etc/prometheus/rules", path).replace("*.yaml", "*.rules.yaml");
        fs::write(folder.path().join(file), text).unwrap();
    }
    let mut check = program("promtool");
    check.args(["check", "config"]).arg(folder.path().join("prometheus.yml"));
    let output = check.output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("rules found"), "{text}");
    let config = dev.find("ConfigMap", "prometheus-config").unwrap();
    let config = config["data"]["prometheus.yml"].as_str().unwrap();
    let config: Value = serde_saphyr::from_str(config).unwrap();
    let jobs = items(&config["scrape_configs"]);
    assert_eq!(jobs.len(), OURS.len());
    for Ours { label, metrics, metrics_port, .. } in OURS {
        let job = jobs.iter().find(|job| job["job_name"] == label).unwrap();
        let by = &job["dns_sd_configs"][0];
        assert_eq!((&by["names"], &by["port"]), (&json!([metrics]), &json!(metrics_port)));
        let service = all().iter().find_map(|rendered| rendered.find("Service", metrics)).unwrap();
        assert_eq!(service["spec"]["clusterIP"], "None", "{metrics}: DNS has to name each pod");
        let port = json!({"name": "metrics", "port": metrics_port, "targetPort": "metrics"});
        assert_eq!(service["spec"]["ports"], json!([port]), "{metrics}");
        // The name of the job with the ServiceMonitor.
        assert_eq!(service["metadata"]["labels"]["app.kubernetes.io/name"], label);
    }
}
