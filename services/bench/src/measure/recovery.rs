//! How soon what a killed issuer had in hand is issued by another.

use std::time::{Duration, Instant};

use anteroom_core::event::Event;
use anteroom_testkit::{PATIENCE, Service};
use anyhow::{bail, ensure};
use futures_util::future::try_join_all;

use crate::{
    progress::say,
    report::{Bound, Row, Section},
    sections::Sections,
    settings::Settings,
    stats::{least, most, percentile},
    world::{World, apply},
};

/// The name for `--only`.
pub const NAME: &str = "recovery";
/// Each issuer serves all of them, so that one kill shows as many recoveries.
const EVENTS: u64 = 8;
/// Of each event, in each round, and how many there are at the least: so many that a kill finds
/// some in hand.
const APPLICATIONS: (u64, u64) = (3_000, 500);
const KILLS: u64 = 20;
/// The shortest there is, so that there is time for many.
const LEASE_SECONDS: f64 = 1.0;
/// On a machine that is slow for a moment leases end, and no attempt is to be the last.
const RULES: &str = "stock = 1_000_000\nmax_attempts = 1000\n";
const A_LOOK: Duration = Duration::from_millis(5);

/// Kills one of two issuers in the midst of its work, again and again.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let section = |n| format!("[events.event-{n}]\n{RULES}lease = \"{LEASE_SECONDS}s\"\n");
    let world = World::start(&(0..EVENTS).map(section).collect::<Vec<_>>()).await?;
    let events = (0..EVENTS).map(|n| world.event(&format!("event-{n}")));
    let events = events.collect::<anyhow::Result<Vec<_>>>()?;
    let survivor = world.anteroom.deployment.issuer().await;
    survivor.until_ready().await;
    let (mut times, mut round) = (Vec::new(), 0);
    let kills = settings.scaled(KILLS);
    let applications = settings.scaled(APPLICATIONS.0).max(APPLICATIONS.1);
    while round < kills || times.is_empty() {
        round += 1;
        ensure!(round < kills + 20, "no issuer was killed with work in hand");
        let found = after_a_kill(&world, &survivor, &events, (round, applications)).await?;
        say(&format!(
            "recovery: {} of {EVENTS} events, at most {:.2} s",
            found.len(),
            most(&found)
        ));
        times.extend(found);
    }
    sections.put(Section {
        name: NAME,
        title: "A killed issuer's work".to_owned(),
        how: format!(
            "Two issuers drain {EVENTS} events; one is killed (SIGKILL) in the midst of it, {round} \
             times. Of each event of which it had claims: seconds from the kill until the last \
             application is issued, with leases of {LEASE_SECONDS} s."
        ),
        rows: vec![
            Row::new("recovery")
                .figure("events", times.len() as f64)
                .figure("least s", least(&times))
                .figure("p50 s", percentile(&times, 0.5))
                .within(
                    "p99 s",
                    percentile(&times, 0.99),
                    Some(Bound::AtMost(LEASE_SECONDS + 2.0)),
                )
                .figure("longest s", most(&times)),
        ],
    });
    Ok(())
}

/// Of the events of which the killed issuer had claims, the seconds until all are issued.
async fn after_a_kill(
    world: &World,
    survivor: &Service,
    events: &[Event],
    (round, applications): (u64, u64),
) -> anyhow::Result<Vec<f64>> {
    let mut victim = world.anteroom.deployment.issuer().await;
    victim.until_ready().await;
    let before = issued(events).await?.into_iter().sum::<u64>();
    let all = round * applications;
    // Both begin when all have applied.
    survivor.process.freeze();
    victim.process.freeze();
    try_join_all(events.iter().map(|event| apply(event, round, applications))).await?;
    survivor.process.thaw();
    victim.process.thaw();
    // Another moment of the work each time.
    let share = (round * 37 % 100) as f64 / 100.0;
    let least = before + ((all * EVENTS - before) as f64 * 0.8 * share) as u64;
    let begun = Instant::now();
    while issued(events).await?.into_iter().sum::<u64>() < least {
        ensure!(begun.elapsed() < PATIENCE, "the issuers issue nothing");
        tokio::time::sleep(A_LOOK).await;
    }
    let killed = Instant::now();
    victim.process.kill();
    let mut times = vec![None; events.len()];
    while times.iter().any(Option::is_none) {
        if killed.elapsed() > PATIENCE {
            let looks = try_join_all(events.iter().map(Event::snapshot)).await?;
            let left = looks.iter().find(|it| it.issued < all);
            bail!("not all of {all} are issued {PATIENCE:?} after the kill: {left:?}");
        }
        for (time, issued) in times.iter_mut().zip(issued(events).await?) {
            if issued == all {
                time.get_or_insert(killed.elapsed().as_secs_f64());
            }
        }
        tokio::time::sleep(A_LOOK).await;
    }
    // Where all was issued before its leases ended, it had nothing in hand.
    Ok(times.into_iter().flatten().filter(|time| *time > 0.9 * LEASE_SECONDS).collect())
}

async fn issued(events: &[Event]) -> anyhow::Result<Vec<u64>> {
    let looks = try_join_all(events.iter().map(Event::snapshot)).await?;
    Ok(looks.into_iter().map(|it| it.issued).collect())
}
