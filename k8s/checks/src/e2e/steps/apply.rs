//! From the empty namespace to a line of visitors, and from there to the verdict.

use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::{
    configuration::QUEUE,
    forward::{Forward, status},
    jobs,
    progress::{Look, pause, say, until},
    run::Run,
    seen::Seen,
    table::Line,
    visitors::Visitors,
    workloads::{all_ready, usage},
};

/// A line forms as soon as the visitors have come.
const LINE_WITHIN: Duration = Duration::from_secs(90);
/// A look at what is seen while nothing is done.
const CALM: Duration = Duration::from_secs(20);
/// `kubectl top` knows of nothing younger.
const MEASURED: Duration = Duration::from_secs(30);
/// The bound of the rehearsal itself, and its start.
const REHEARSED_WITHIN: Duration = Duration::from_secs(400);
/// Visits break off, the record is judged, the report is written.
const JUDGED_WITHIN: Duration = Duration::from_secs(120);

/// `kubectl apply -k` until everything is ready.
pub async fn overlay(run: &Run) -> anyhow::Result<()> {
    let began = Instant::now();
    let folder = run.overlay.to_string_lossy();
    run.kubectl.run(&["apply", "--kustomize", &folder]).await?;
    all_ready(&run.kubectl).await?;
    run.add(Line::new("apply", "everything is ready", Some(true)).took(began.elapsed()));
    // It fails where something would change.
    let again = run.kubectl.run(&["diff", "--kustomize", &folder]).await;
    let says = again.as_ref().map_or_else(ToString::to_string, |_| "nothing changes".to_owned());
    run.add(Line::new("apply again", says, Some(again.is_ok())));
    for object in jobs::needs(&run.key) {
        run.kubectl.apply(&object).await?;
    }
    // A volume may hold what an earlier run left.
    let service = Forward::open(&run.kubectl, "service/admission", 8081).await?;
    let reset = service.request("POST", &format!("/v1/admin/queues/{QUEUE}/reset"));
    let answer = status(reset.bearer_auth(&run.key)).await?;
    ensure!(answer == 202, "a reset of the queue is answered {answer}");
    Ok(())
}

/// A line forms, and what it costs.
pub async fn visitors(run: &Run) -> anyhow::Result<()> {
    run.kubectl.apply(&jobs::visitors(&run.options)).await?;
    let visitors = Visitors::follow(&run.kubectl, jobs::VISITORS);
    visitors.mark().await?;
    let wanted = u64::from(run.options.visitors) / 2;
    until("a line", LINE_WITHIN, async || {
        let depth = visitors.depth();
        let is_long = depth >= wanted;
        Ok(if is_long { Look::Done(()) } else { Look::NotYet(format!("{depth} wait")) })
    })
    .await?;
    run.set_visitors(Some(visitors));
    let calm = async {
        pause("nothing is done", CALM).await;
        Ok(())
    };
    let ((), _, seen) = run.under_load(calm).await?;
    let held = seen.undisturbed();
    run.add(Line::new("calm", "a line stands, nothing is done", Some(held)).under(seen));
    pause("until kubectl top knows", MEASURED).await;
    let usage = usage(&run.kubectl).await;
    if usage.is_empty() {
        say("  this cluster has no metrics server: memory and CPU are not known");
    }
    for (pod, (cpu, memory)) in usage {
        run.add(Line::new(format!("pod {pod}"), format!("{cpu} CPU, {memory}"), None));
    }
    Ok(())
}

/// A crowd with all its habits, besides those who are there.
pub async fn rehearsal(run: &Run) -> anyhow::Result<()> {
    run.kubectl.apply(&jobs::rehearsal(&run.options)).await?;
    let crowd = Visitors::follow(&run.kubectl, jobs::REHEARSAL);
    let (verdict, took, seen) = run.under_load(crowd.verdict(REHEARSED_WITHIN)).await?;
    // Turns of the crowd stand between those of the visitors.
    let seen = Seen { gap_seconds: None, ..seen };
    let held = verdict.holds(1..=6) && verdict.over == "complete" && seen.undisturbed();
    run.add(Line::new("rehearsal", verdict.report(), Some(held)).took(took).under(seen));
    Ok(())
}

/// The visitors leave, and the witness says what it has found.
pub async fn promises(run: &Run) -> anyhow::Result<()> {
    let visitors = run.visitors()?;
    // They write their report when they are to end.
    run.kubectl.run(&["delete", "job", jobs::VISITORS, "--wait=false"]).await?;
    let verdict = visitors.verdict(JUDGED_WITHIN).await?;
    run.add(Line::new("promises", verdict.report(), Some(verdict.holds(1..=5))));
    run.set_visitors(None);
    Ok(())
}
