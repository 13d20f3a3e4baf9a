//! What Kustomize makes of each folder stands in `k8s/checks/snapshots`, so that a change of it is
//! seen and meant. `UPDATE_SNAPSHOTS=1` writes them.

use std::{env, fs, path::Path};

use anteroom_k8s_checks::objects;

use crate::rendered::{all, k8s};

/// Made of files that stand elsewhere in the repository, and change there.
const OF_FILES: [(&str, &str); 4] = [
    ("ConfigMap", "gate-anteroom"),
    ("ConfigMap", "grafana-dashboards"),
    ("ConfigMap", "prometheus-rules"),
    ("PrometheusRule", "anteroom"),
];

/// Whether snapshots and copies are to be written.
pub fn update() -> bool {
    env::var_os("UPDATE_SNAPSHOTS").is_some_and(|value| !value.is_empty())
}

/// Whether this is what such a file was made into.
fn is_of_file(document: &str) -> bool {
    OF_FILES.iter().any(|(kind, name)| {
        document.contains(&format!("\nkind: {kind}\n"))
            && document.contains(&format!("\n  name: {name}"))
    })
}

/// The text without the contents of such files, and without the hashes that they give to names.
fn shortened(text: &str) -> String {
    let mut short = String::new();
    for document in text.split_inclusive("\n---\n") {
        let (is_of_file, mut is_content) = (is_of_file(document), false);
        for line in document.lines() {
            if !line.starts_with(' ') && !line.is_empty() {
                is_content = is_of_file && ["data:", "spec:"].contains(&line);
            }
            if !is_content {
                let hashed = "name: gate-anteroom";
                let end = line.find(hashed).map_or(line.len(), |at| at + hashed.len());
                short.push_str(&line[..end]);
                short.push('\n');
            }
        }
    }
    short
}

/// Holds a file to what it should be, or writes it.
pub fn hold(file: &Path, fresh: &str) {
    if update() {
        fs::write(file, fresh).unwrap();
        return;
    }
    let kept = fs::read_to_string(file).unwrap_or_default();
    let name = file.file_name().unwrap().to_str().unwrap();
    // By what it says: another Kustomize may write it in another way.
    if objects(&kept).ok() != objects(fresh).ok() {
        let lines = kept.lines().zip(fresh.lines()).enumerate();
        let first = lines.into_iter().find(|(_, (kept, fresh))| kept != fresh);
        panic!("{name} is not what Kustomize makes; UPDATE_SNAPSHOTS=1 writes it anew: {first:?}");
    }
}

#[test]
fn what_would_be_applied_is_what_was_seen() {
    for rendered in all() {
        let file = k8s().join(format!("checks/snapshots/{}.yaml", rendered.name()));
        hold(&file, &shortened(&rendered.text));
    }
}
