//! A new version under load: the one before comes in first, then this one.

use anyhow::ensure;

use crate::{
    run::Run,
    steps::change,
    workloads::{containers_of, settled},
};

/// The gate, and the service that some gates ask.
const GATES: [&str; 2] = ["deployment/gate", "deployment/envoy"];
/// The key that the secrets of the development overlay need.
const DEVELOPMENT: &str = "admission.development";
/// Each with the key of anteroom.toml that a version must know to have it.
const WORKLOADS: [(&str, Option<&str>); 4] = [
    ("deployment/admission", None),
    ("deployment/scheduler", None),
    ("deployment/issuer", Some("events")),
    ("deployment/envoy", Some("envoy")),
];

/// What is rolled: what the overlay has, and the version before too.
fn workloads(run: &Run) -> impl Iterator<Item = &'static str> {
    let options = &run.options;
    let is_known = |key: &str| {
        options.image_previous.is_none() || options.previous_without.iter().all(|it| it != key)
    };
    let there = WORKLOADS.into_iter().filter(move |(_, key)| key.is_none_or(is_known));
    there.map(|(workload, _)| workload).filter(|workload| run.has(workload))
}

/// Back by one version, with a configuration that it knows, and on again. A new configuration comes
/// behind the new version.
pub async fn from_the_version_before(run: &Run) -> anyhow::Result<()> {
    let options = &run.options;
    let Some(previous) = &options.image_previous else {
        let again = async {
            for workload in workloads(run) {
                run.kubectl.run(&["rollout", "restart", workload]).await?;
            }
            all_settled(run).await
        };
        let says = "the same version: --image-previous names none";
        return run.undisturbed("roll out", says, again).await;
    };
    let known = run.configuration().without(&options.previous_without).object()?;
    let back = async {
        change::write_as(run, &known).await?;
        roll(run, &options.image, previous).await
    };
    run.undisturbed("roll back", "this version to the one before", back).await?;
    // All else that is new comes behind the new version, which starts with public secrets only if
    // the file has this key.
    let still: Vec<_> =
        options.previous_without.iter().filter(|key| *key != DEVELOPMENT).cloned().collect();
    let known = run.configuration().without(&still).object()?;
    let on = async {
        change::write_as(run, &known).await?;
        roll(run, previous, &options.image).await
    };
    run.undisturbed("roll out", "the version before to this one", on).await?;
    change::write(run).await
}

/// The gate, as a change of its files rolls it, and what it asks.
pub async fn gates(run: &Run) -> anyhow::Result<()> {
    for workload in GATES.into_iter().filter(|workload| run.has(workload)) {
        let rolls = async {
            run.kubectl.run(&["rollout", "restart", workload]).await?;
            settled(&run.kubectl, workload).await
        };
        let name = workload.rsplit('/').next().unwrap_or_default();
        run.undisturbed(&format!("roll {name}"), "other pods", rolls).await?;
    }
    Ok(())
}

/// All services at once, as an overlay with another image does it.
async fn roll(run: &Run, from: &str, to: &str) -> anyhow::Result<()> {
    for workload in workloads(run) {
        let containers = containers_of(&run.kubectl, workload, from).await?;
        ensure!(!containers.is_empty(), "{workload} does not run {from}");
        for container in containers {
            run.kubectl.run(&["set", "image", workload, &format!("{container}={to}")]).await?;
        }
    }
    all_settled(run).await
}

async fn all_settled(run: &Run) -> anyhow::Result<()> {
    for workload in workloads(run) {
        settled(&run.kubectl, workload).await?;
    }
    Ok(())
}
