//! What the checks of the manifests share: what Kustomize makes of a folder.

use std::{env, path::Path, process::Command};

use anyhow::{Context as _, bail};
use serde_json::Value;

/// The image of NGINX of the gate, which a run on a cluster also uses as a receiver of webhooks.
pub const NGINX: &str = "docker.io/nginxinc/nginx-unprivileged:1.28.0";

/// The call that builds a folder, such as `kubectl kustomize`. `scripts/kustomize.sh` prints one.
const CALL: &str = "ANTEROOM_KUSTOMIZE";

/// What Kustomize makes of a folder, as it would be applied.
///
/// # Errors
///
/// When there is no Kustomize, or it refuses the folder.
pub fn build(folder: &Path) -> anyhow::Result<String> {
    let call = env::var(CALL).ok().filter(|call| !call.is_empty());
    let call = call.unwrap_or_else(|| "kubectl kustomize".to_owned());
    let mut words = call.split_whitespace();
    let program = words.next().with_context(|| format!("{CALL}: no program"))?;
    let output = Command::new(program)
        .args(words)
        .arg(folder)
        .output()
        .with_context(|| format!("{program}: install kubectl, or name Kustomize in {CALL}"))?;
    if !output.status.success() {
        bail!("{}: {}", folder.display(), String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).context("Kustomize writes UTF-8")
}

/// The objects of a text of several documents.
///
/// # Errors
///
/// When it is no YAML.
pub fn objects(yaml: &str) -> anyhow::Result<Vec<Value>> {
    serde_saphyr::from_multiple(yaml).context("no YAML")
}
