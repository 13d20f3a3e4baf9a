//! What a service takes that has nothing to do, and how long it takes to be ready.

use std::time::{Duration, Instant};

use anteroom_testkit::Service;

use crate::{
    cpu,
    report::{Bound, Row, Section},
    sections::Sections,
    settings::Settings,
    stats::median,
    world::{World, room},
};

/// The name for `--only`.
pub const NAME: &str = "idle";
/// The ticks go on meanwhile.
const IDLE: Duration = Duration::from_secs(3);
const STARTS: usize = 5;
const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// What one start showed.
struct Started {
    ready_ms: f64,
    resident: f64,
    cpu: f64,
}

/// Starts each service several times beside a system that runs.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let world = World::start(&[room("room", 1_000)]).await?;
    let (starts, idle) =
        if settings.quick { (1, Duration::from_millis(200)) } else { (STARTS, IDLE) };
    let mut admissions = Vec::new();
    let mut schedulers = Vec::new();
    for _ in 0..starts {
        let begin = Instant::now();
        let admission = world.anteroom.deployment.admission().await;
        admissions.push(watch(admission, begin, idle).await?);
        let begin = Instant::now();
        let scheduler = world.anteroom.deployment.scheduler().await;
        schedulers.push(watch(scheduler, begin, idle).await?);
    }
    let row = |name: &str, starts: &[Started]| {
        let over = |of: fn(&Started) -> f64| median(&starts.iter().map(of).collect::<Vec<_>>());
        Row::new(name)
            .within("resident MiB", over(|it| it.resident), Some(Bound::AtMost(20.0)))
            .within("ready ms", over(|it| it.ready_ms), Some(Bound::AtMost(200.0)))
            .figure("CPU ms a second", over(|it| it.cpu))
    };
    sections.put(Section {
        name: NAME,
        title: "An idle service".to_owned(),
        how: format!(
            "One queue without visitors. Resident memory and processor time after {idle:?} of idleness; \
             from the start of the process to 200 on `/readyz`, looked at every 5 ms; medians of \
             {starts} starts."
        ),
        rows: vec![row("admission", &admissions), row("scheduler", &schedulers)],
    });
    Ok(())
}

async fn watch(service: Service, begin: Instant, idle: Duration) -> anyhow::Result<Started> {
    service.until_ready().await;
    let ready_ms = begin.elapsed().as_secs_f64() * 1e3;
    let process = service.process.id();
    let before = cpu::of_process(process)?;
    tokio::time::sleep(idle).await;
    let cpu = (cpu::of_process(process)? - before) as f64 / 1e6 / idle.as_secs_f64();
    let resident = cpu::resident_bytes(process)? as f64 / MEBIBYTE;
    Ok(Started { ready_ms, resident, cpu })
}
