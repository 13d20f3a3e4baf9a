//! A changed ConfigMap: in force everywhere, and nothing starts again.

use std::time::Instant;

use anyhow::Context as _;
use serde_json::Value;

use crate::{
    configuration::{Configuration, QUEUE},
    forward::Forward,
    progress::{Look, until},
    run::Run,
    steps::watch::{IN_FORCE_WITHIN, Pods},
    table::Line,
    workloads::pods,
};

const TITLE: &str = "Another evening";
const KEEP_TTL: (&str, u64) = ("6m", 360_000);

/// Another title, which every admission shows, and another rule, which a scheduler hands to the
/// store.
pub async fn configuration(run: &Run) -> anyhow::Result<()> {
    let workloads = ["deployment/admission", "deployment/scheduler"];
    let pages = Pods::of(run, workloads[0], 8080).await?;
    let schedulers = Pods::of(run, workloads[1], 9091).await?;
    let service = Forward::open(&run.kubectl, "service/admission", 8081).await?;
    let accepted = schedulers.accepted().await?;
    let there = [pods(&run.kubectl, workloads[0]).await?, pods(&run.kubectl, workloads[1]).await?];
    let changes = async {
        let began = Instant::now();
        run.configuration().change(TITLE, KEEP_TTL.0)?;
        write(run).await?;
        let page = async |way: &Forward| {
            anyhow::Ok(way.get(&format!("/queues/{QUEUE}")).await?.contains(TITLE))
        };
        pages.all("the title at each admission", page).await?;
        schedulers.more_accepted("the change at each scheduler", &accepted).await?;
        until("the rule in the store", IN_FORCE_WITHIN, async || {
            let keep_ttl = keep_ttl_ms(run, &service).await?;
            let done = keep_ttl == KEEP_TTL.1;
            Ok(if done { Look::Done(()) } else { Look::NotYet(format!("{keep_ttl} ms")) })
        })
        .await?;
        Ok(began.elapsed())
    };
    let (in_force, _, seen) = run.under_load(changes).await?;
    let now = [pods(&run.kubectl, workloads[0]).await?, pods(&run.kubectl, workloads[1]).await?];
    let same = now == there;
    let says = match same {
        true => "in force at every pod and in the store; none started again",
        false => "in force, but pods started again",
    };
    let held = same && in_force < IN_FORCE_WITHIN && seen.undisturbed();
    run.add(Line::new("ConfigMap", says, Some(held)).took(in_force).under(seen));
    Ok(())
}

/// Writes the configuration into the ConfigMap.
pub async fn write(run: &Run) -> anyhow::Result<()> {
    let patch = run.configuration().object()?;
    write_as(run, &patch).await
}

/// Writes this one.
pub async fn write_as(run: &Run, object: &Value) -> anyhow::Result<()> {
    let patch = object.to_string();
    let map = ["patch", "configmap", Configuration::MAP, "--type", "merge", "--patch", &patch];
    run.kubectl.run(&map).await.map(drop)
}

async fn keep_ttl_ms(run: &Run, service: &Forward) -> anyhow::Result<u64> {
    let look = service.request("GET", &format!("/v1/admin/queues/{QUEUE}")).bearer_auth(&run.key);
    let state: Value = look.send().await?.error_for_status()?.json().await?;
    state["rules"]["keep_ttl_ms"].as_u64().context("the rules have no keep_ttl_ms")
}
