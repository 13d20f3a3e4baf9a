//! Issuers are rolled and scaled while they issue: each unit is given once, and what they had in
//! hand is given back, not left to its lease.

mod applicants;
mod money;

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use crate::{
    progress::{Look, until},
    run::Run,
    table::Line,
    workloads::settled,
};
use applicants::Applicants;
use money::Money;

const ISSUER: &str = "deployment/issuer";
const STOCK: u64 = 3_000;
/// A tenth of them more than the event takes.
const VISITORS: u32 = 3_600;
/// Of one issuer, by its default `concurrency`.
const IN_HAND: u64 = 64;
/// What is done, and how many issuers are there afterwards.
const CHANGES: [(&str, u64); 5] = [
    ("roll issuers", 2),
    ("issuers, 2 to 5", 5),
    ("issuers, 5 to 1", 1),
    ("issuers, 1 to 0", 0),
    ("issuers, 0 to 2", 2),
];
const BEGINS_WITHIN: Duration = Duration::from_secs(60);
/// Two leases.
const ENDS_WITHIN: Duration = Duration::from_secs(240);

/// All of it, with money that moves meanwhile.
pub async fn in_mid_issue(run: &Run) -> anyhow::Result<()> {
    let applicants = Applicants::of(run).await?;
    let money = Money::of(run).await?;
    applicants.put_in(STOCK).await?;
    let over = Cell::new(false);
    let issues = async {
        let changes = async {
            let lines = change(run, &applicants).await?;
            let (_, took) = until("the end of all applications", ENDS_WITHIN, async || {
                let look = applicants.look().await?;
                let left = look.pending + look.claimed;
                let done = look.issued > 0 && left == 0;
                Ok(if done { Look::Done(()) } else { Look::NotYet(format!("{left} left")) })
            })
            .await?;
            over.set(true);
            anyhow::Ok((lines, took))
        };
        let applies = async {
            applicants.apply(VISITORS).await;
            Ok(())
        };
        let (changed, (), ()) = tokio::try_join!(changes, applies, money.moves(&over))?;
        Ok(changed)
    };
    let ((lines, ended), took, seen) = run.under_load(issues).await?;
    lines.into_iter().for_each(|line| run.add(line));
    applicants.ask().await;
    let verdict = applicants.verdict(STOCK);
    let look = applicants.look().await?;
    let held = verdict.held() && (look.issued, look.dead) == (STOCK, 0) && seen.undisturbed();
    let says = format!("{verdict}; all over {:.0} s after the last change", ended.as_secs_f64());
    run.add(Line::new("issue", says, Some(held)).took(took).under(seen));
    let (says, held) = money.audit().await?;
    run.add(Line::new("pool", says, Some(held)));
    Ok(())
}

/// From two issuers to two others, by way of none.
async fn change(run: &Run, applicants: &Applicants) -> anyhow::Result<Vec<Line>> {
    until("the first unit", BEGINS_WITHIN, async || {
        let issued = applicants.look().await?.issued;
        Ok(if issued > 0 { Look::Done(()) } else { Look::NotYet("none is issued".to_owned()) })
    })
    .await?;
    let mut lines = Vec::new();
    for (at, (name, replicas)) in CHANGES.into_iter().enumerate() {
        let before = applicants.look().await?;
        let began = Instant::now();
        let scaled = format!("--replicas={replicas}");
        let how = if at == 0 { ["rollout", "restart", ISSUER] } else { ["scale", ISSUER, &scaled] };
        run.kubectl.run(&how).await?;
        settled(&run.kubectl, ISSUER).await?;
        let took = began.elapsed();
        let look = applicants.look().await?;
        // More than those who are there can have is in no issuer's hands.
        let held = look.claimed <= replicas * IN_HAND && look.pending > 0;
        let says = format!(
            "in hand before {}, after {}; issued {} to {}; {} wait",
            before.claimed, look.claimed, before.issued, look.issued, look.pending
        );
        lines.push(Line::new(name, says, Some(held)).took(took));
    }
    Ok(lines)
}
