//! The namespace of a run: made by it, labelled by it, gone after it.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::{
    kubectl::Kubectl,
    options::Usage,
    progress::{Look, say, until},
};

/// Who has this label was made by this program, which may remove it.
const LABEL: &str = "anteroom.dev/e2e";
/// Pods get their grace periods.
const REMOVED_WITHIN: Duration = Duration::from_secs(180);

/// Makes the namespace. One of an earlier run is removed first; another program's is refused.
pub async fn make(kubectl: &Kubectl) -> anyhow::Result<()> {
    let name = &kubectl.namespace;
    if find(kubectl).await?.is_some() {
        remove(kubectl).await?;
    }
    let labels = json!({ LABEL: "true" });
    let metadata = json!({ "name": name, "labels": labels });
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
    kubectl.create(&namespace).await
}

/// Removes it with all that is in it, and gives volumes back that it held.
pub async fn remove(kubectl: &Kubectl) -> anyhow::Result<()> {
    let name = &kubectl.namespace;
    let Some(there) = find(kubectl).await? else { return Ok(()) };
    if there["metadata"]["labels"][LABEL].is_null() {
        let rule = "this program makes it, and removes it with all that is in it";
        let wrong = format!("--namespace {name}: exists, and has no label {LABEL}; {rule}");
        return Err(Usage(wrong).into());
    }
    say(&format!("removing the namespace {name}"));
    kubectl.run(&["delete", "namespace", name, "--ignore-not-found", "--wait=false"]).await?;
    until("removal", REMOVED_WITHIN, async || {
        Ok(match find(kubectl).await? {
            None => Look::Done(()),
            Some(_) => Look::NotYet("still there".to_owned()),
        })
    })
    .await?;
    report_retained(kubectl).await
}

async fn find(kubectl: &Kubectl) -> anyhow::Result<Option<Value>> {
    let name = &kubectl.namespace;
    let how = ["get", "namespace", name, "--ignore-not-found", "--output", "json"];
    let found = kubectl.run(&how).await?;
    if found.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&found).context("the namespace").map(Some)
}

/// A volume that is retained stays bound to a claim that is gone. It is not given to the next one
/// as it is: a line of visitors may be in it.
async fn report_retained(kubectl: &Kubectl) -> anyhow::Result<()> {
    let volumes = kubectl.json(&["get", "persistentvolumes"]).await?;
    for volume in volumes["items"].as_array().into_iter().flatten() {
        let claim = &volume["spec"]["claimRef"];
        let retained = volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain";
        if claim["namespace"] != *kubectl.namespace || !retained {
            continue;
        }
        let name = volume["metadata"]["name"].as_str().unwrap_or_default();
        say(&format!(
            "the volume {name} is retained, and released: it holds what was written. Empty it, then \
             kubectl patch pv {name} --type json --patch \
             '[{{\"op\":\"remove\",\"path\":\"/spec/claimRef\"}}]'"
        ));
    }
    Ok(())
}
