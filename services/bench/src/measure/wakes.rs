//! How soon an idle issuer issues an application: woken by a message, and where every message is
//! lost.

use std::time::{Duration, Instant};

use anteroom_core::event::{Application, Apply, Event};
use anteroom_testkit::{PATIENCE, PERMISSIONS, Service};
use anyhow::ensure;

use crate::{
    progress::say,
    report::{Bound, Row, Section},
    sections::Sections,
    settings::Settings,
    stats::{most, percentile},
    world::World,
};

/// The name for `--only`.
pub const NAME: &str = "wakes";
/// Applications, one after the other.
const BY_MESSAGE: u64 = 1_000;
const BY_LOOK: u64 = 200;
/// Kicks and own looks come later than this is patient: nothing but a message wakes.
const EVENTS: &str = "[events.heard]\nstock = 1_000_000\nkick_interval = \"60s\"\n\
                      [events.unheard]\nstock = 1_000_000\nkick_interval = \"250ms\"\n";
const KICK_MS: f64 = 250.0;
/// After it an issuer that has issued is idle again.
const A_PAUSE: Duration = Duration::from_millis(20);
/// The store's user of the issuer that hears nothing, and its password.
const DEAF: [(&str, &str); 2] =
    [("ANTEROOM_STORE__USERNAME", "deaf"), ("ANTEROOM_STORE__PASSWORD", "pass")];

/// Measures both.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let world = World::start(&[EVENTS.to_owned()]).await?;
    let deployment = &world.anteroom.deployment;
    let mut rows = Vec::new();
    let issuer = deployment.issuer().await;
    let heard = world.event("heard")?;
    let times = wakes(&issuer, &heard, settings.scaled(BY_MESSAGE), A_PAUSE).await?;
    rows.push(row("by a message", &times, 20.0));
    drop(issuer);

    // It may do all that an issuer does but listen: the kicks of the scheduler are lost on it, too.
    let rules = PERMISSIONS.iter().filter(|rule| *rule != "+subscribe").cloned();
    deployment.redis.user("deaf", &rules.collect::<Vec<_>>()).await;
    let issuer = deployment.issuer_with(&DEAF).await;
    let pause = Duration::from_secs_f64(KICK_MS / 1e3);
    let times = wakes(&issuer, &world.event("unheard")?, settings.scaled(BY_LOOK), pause).await?;
    ensure!(
        issuer.logged("cannot subscribe to a channel of Redis") > 0,
        "the issuer hears messages"
    );
    rows.push(row("every message lost", &times, KICK_MS + 50.0));
    sections.put(Section {
        name: NAME,
        title: "An idle issuer wakes".to_owned(),
        how: format!(
            "From the call that applies to the first look that finds the application issued, one \
             application after the other, in ms; looks follow each other without a pause. By a \
             message: `kick_interval` is a minute. Every message lost: the issuer's user of Redis may \
             not subscribe, `kick_interval` is {KICK_MS} ms, and applications come at any moment of it."
        ),
        rows,
    });
    Ok(())
}

/// The times of so many applications in ms, each after a pause of up to so long and long enough for
/// the issuer to be idle.
async fn wakes(
    issuer: &Service,
    event: &Event,
    applications: u64,
    longest_pause: Duration,
) -> anyhow::Result<Vec<f64>> {
    issuer.until_ready().await;
    let mut times = Vec::new();
    // The first finds an issuer that has just started.
    for n in 0..=applications {
        // By turns at each moment of the longest pause.
        let share = (n * 37 % 100) as f64 / 100.0;
        tokio::time::sleep(A_PAUSE.max(longest_pause.mul_f64(share))).await;
        let visitor = format!("visitor {n}");
        let begun = Instant::now();
        let applied = event.apply(&visitor).await?;
        ensure!(matches!(applied, Apply::Accepted(_)), "{visitor}: {applied:?}");
        while !matches!(event.status(&visitor).await?, Some(Application::Issued { .. })) {
            ensure!(begun.elapsed() < PATIENCE, "{visitor} is not issued in {PATIENCE:?}");
        }
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times.split_off(1))
}

fn row(name: &str, times: &[f64], at_most_ms: f64) -> Row {
    let row = Row::new(name)
        .figure("wakes", times.len() as f64)
        .figure("p50 ms", percentile(times, 0.5))
        .within("p99 ms", percentile(times, 0.99), Some(Bound::AtMost(at_most_ms)))
        .figure("longest ms", most(times));
    say(&format!("wakes: {}, {:?}", row.name, row.figures));
    row
}
