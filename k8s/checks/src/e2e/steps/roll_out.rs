//! A new version under load: the one before comes in first, then this one.

use anyhow::ensure;

use crate::{
    options::Options,
    run::Run,
    steps::change,
    workloads::{containers_of, settled},
};

const GATE: &str = "deployment/gate";
const WORKLOADS: [&str; 3] = ["deployment/admission", "deployment/scheduler", "deployment/issuer"];

/// What is rolled. A version that knows no events has no issuer.
fn workloads(options: &Options) -> &'static [&'static str] {
    let without = options.previous_without.iter().any(|key| key == "events");
    if options.image_previous.is_some() && without { &WORKLOADS[..2] } else { &WORKLOADS }
}

/// Back by one version, with a configuration that it knows, and on again. A new configuration comes
/// behind the new version.
pub async fn from_the_version_before(run: &Run) -> anyhow::Result<()> {
    let options = &run.options;
    let Some(previous) = &options.image_previous else {
        let again = async {
            for workload in workloads(options) {
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
    let on = roll(run, previous, &options.image);
    run.undisturbed("roll out", "the version before to this one", on).await?;
    change::write(run).await
}

/// The gate, as a change of its files rolls it.
pub async fn gate(run: &Run) -> anyhow::Result<()> {
    let rolls = async {
        run.kubectl.run(&["rollout", "restart", GATE]).await?;
        settled(&run.kubectl, GATE).await
    };
    run.undisturbed("roll gate", "other pods", rolls).await
}

/// All services at once, as an overlay with another image does it.
async fn roll(run: &Run, from: &str, to: &str) -> anyhow::Result<()> {
    for workload in workloads(&run.options) {
        let containers = containers_of(&run.kubectl, workload, from).await?;
        ensure!(!containers.is_empty(), "{workload} does not run {from}");
        for container in containers {
            run.kubectl.run(&["set", "image", workload, &format!("{container}={to}")]).await?;
        }
    }
    all_settled(run).await
}

async fn all_settled(run: &Run) -> anyhow::Result<()> {
    for workload in workloads(&run.options) {
        settled(&run.kubectl, workload).await?;
    }
    Ok(())
}
