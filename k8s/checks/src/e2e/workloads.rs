//! Deployments, StatefulSets and their pods.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context as _;
use serde_json::Value;

use crate::{
    kubectl::Kubectl,
    progress::{Look, until},
};

/// An image that is not there shows in a minute; the rest is a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(300);

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// How often its containers were started again.
    pub restarts: u64,
}

/// Waits until everything in the namespace is as it is to be, and nothing else is left of it.
pub async fn all_ready(kubectl: &Kubectl) -> anyhow::Result<Duration> {
    let ready = until("ready", READY_WITHIN, async || {
        let all = kubectl.json(&["get", "deployments,statefulsets"]).await?;
        let items = all["items"].as_array().context("a list")?;
        let waiting: Vec<_> = items.iter().filter_map(missing).collect();
        Ok(if items.is_empty() || !waiting.is_empty() {
            Look::NotYet(format!("waiting for {}", waiting.join(", ")))
        } else {
            Look::Done(())
        })
    });
    ready.await.map(|((), took)| took)
}

/// The same of one, such as `deployment/admission`; pods that end are gone then, too.
pub async fn settled(kubectl: &Kubectl, workload: &str) -> anyhow::Result<Duration> {
    let settled = until(workload, READY_WITHIN, async || {
        let state = kubectl.json(&["get", workload]).await?;
        if let Some(waiting) = missing(&state) {
            return Ok(Look::NotYet(waiting));
        }
        let there = all_pods(kubectl, &state).await?;
        let ready = there.iter().filter(|pod| is_ready(pod)).count();
        let wanted = count(&state["spec"]["replicas"]);
        let done = there.len() == ready && ready as u64 == wanted;
        let so_far = format!("{} pods, {ready} ready, {wanted} to stay", there.len());
        Ok(if done { Look::Done(()) } else { Look::NotYet(so_far) })
    });
    match settled.await {
        Ok(((), took)) => Ok(took),
        Err(error) => Err(error.context(complaints(kubectl, workload).await)),
    }
}

/// Each pod of a workload that is not ready, with the last line of its log.
async fn complaints(kubectl: &Kubectl, workload: &str) -> String {
    let pods = async {
        let state = kubectl.json(&["get", workload]).await?;
        all_pods(kubectl, &state).await
    };
    let pods = pods.await.unwrap_or_default();
    let mut complaints = Vec::new();
    for pod in pods.iter().filter(|pod| !is_ready(pod)) {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let log = kubectl.run(&["logs", name, "--tail", "1"]).await;
        let last = log.unwrap_or_else(|error| format!("{error:#}"));
        complaints.push(format!("{name} is not ready: {}", last.trim_end()));
    }
    complaints.join("; ")
}

/// What a workload still waits for.
fn missing(workload: &Value) -> Option<String> {
    let (spec, status) = (&workload["spec"], &workload["status"]);
    let wanted = count(&spec["replicas"]);
    let generation = count(&workload["metadata"]["generation"]);
    let seen = count(&status["observedGeneration"]) >= generation;
    let parts = ["replicas", "updatedReplicas", "readyReplicas"];
    let complete = parts.iter().all(|part| count(&status[*part]) == wanted);
    let name = workload["metadata"]["name"].as_str().unwrap_or_default();
    let ready = count(&status["readyReplicas"]);
    (!(seen && complete)).then(|| format!("{name} ({ready} of {wanted} ready)"))
}

/// The pods of a workload that are to stay.
pub async fn pods(kubectl: &Kubectl, workload: &str) -> anyhow::Result<Vec<Pod>> {
    let state = kubectl.json(&["get", workload]).await?;
    let all = all_pods(kubectl, &state).await?;
    let mut pods: Vec<_> = all
        .iter()
        .filter(|pod| pod["metadata"]["deletionTimestamp"].is_null())
        .map(|pod| Pod {
            name: pod["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            restarts: containers(pod).map(|it| count(&it["restartCount"])).sum(),
        })
        .collect();
    pods.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(pods)
}

async fn all_pods(kubectl: &Kubectl, workload: &Value) -> anyhow::Result<Vec<Value>> {
    let labels = workload["spec"]["selector"]["matchLabels"].as_object();
    let labels = labels.context("a workload without a selector")?.iter();
    let labels = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    let selector = labels.collect::<Vec<_>>().join(",");
    let pods = kubectl.json(&["get", "pods", "--selector", &selector]).await?;
    Ok(pods["items"].as_array().cloned().unwrap_or_default())
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let mut ready = conditions.into_iter().flatten().filter(|it| it["type"] == "Ready");
    ready.any(|it| it["status"] == "True") && pod["metadata"]["deletionTimestamp"].is_null()
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    pod["status"]["containerStatuses"].as_array().into_iter().flatten()
}

/// The names of the containers of a workload that run this image, whatever its version.
pub async fn containers_of(
    kubectl: &Kubectl,
    workload: &str,
    image: &str,
) -> anyhow::Result<Vec<String>> {
    let state = kubectl.json(&["get", workload]).await?;
    let containers = state["spec"]["template"]["spec"]["containers"].as_array();
    let named = containers.into_iter().flatten().filter(|it| it["image"] == image);
    Ok(named.filter_map(|it| it["name"].as_str().map(str::to_owned)).collect())
}

/// Memory and processor time of each pod, by its name, as `kubectl top` shows them; empty where the
/// cluster has no metrics server.
pub async fn usage(kubectl: &Kubectl) -> BTreeMap<String, (String, String)> {
    let shown = kubectl.run(&["top", "pods", "--no-headers"]).await.unwrap_or_default();
    let row = |line: &str| {
        let mut cells = line.split_whitespace().map(str::to_owned);
        Some((cells.next()?, (cells.next()?, cells.next()?)))
    };
    shown.lines().filter_map(row).collect()
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}
