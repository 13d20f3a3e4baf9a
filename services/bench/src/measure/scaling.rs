//! The cost of a request must not rise with the number of schedulers, queues or admissions:
//! authorize, the same load, beside the smallest system.

use std::sync::Arc;

use crate::{
    meter::{self, Question, Window},
    progress::say,
    report::{Bound, Row, Section},
    request::Requests,
    sections::Sections,
    settings::Settings,
    stats::median,
    world::{World, room},
};

/// The name for `--only`.
pub const NAME: &str = "scaling";
const VISITORS: u64 = 10_000;
const QUEUES: usize = 50;
const ROUNDS: usize = 3;
/// A tenth is what two runs of the same differ by on a quiet machine.
const MOST_TIMES: f64 = 1.10;

/// The systems, the smallest first.
const SYSTEMS: [&str; 5] = [SMALLEST, "4 schedulers", "50 queues", "3 admissions", MORE_LOAD];
const SMALLEST: &str = "the smallest";
/// As many connections to each admission as the others have in all.
const MORE_LOAD: &str = "3 admissions, 3 times the connections";

/// Measures each system in each round.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let visitors = settings.scaled(VISITORS);
    let queue = |n: usize| room(&format!("room-{n}"), visitors);
    let mut small = World::start(&[queue(0)]).await?;
    let many = World::start(&(0..QUEUES).map(queue).collect::<Vec<_>>()).await?;
    // Its ticks are its own system's.
    many.anteroom.scheduler.process.freeze();
    let small_question = question(&small, visitors).await?;
    let many_question = question(&many, visitors).await?;
    let mut windows = vec![Vec::new(); SYSTEMS.len()];
    for round in 0..ROUNDS.min(settings.rounds) {
        for (system, windows) in SYSTEMS.iter().zip(&mut windows) {
            let window = match *system {
                "4 schedulers" => {
                    for _ in 1..4 {
                        let another = small.anteroom.deployment.scheduler().await;
                        small.more_schedulers.push(another);
                    }
                    let window = meter::measure(&small, settings, &small_question).await;
                    small.more_schedulers.clear();
                    window
                }
                "50 queues" => {
                    small.anteroom.scheduler.process.freeze();
                    many.anteroom.scheduler.process.thaw();
                    let window = meter::measure(&many, settings, &many_question).await;
                    many.anteroom.scheduler.process.freeze();
                    small.anteroom.scheduler.process.thaw();
                    window
                }
                "3 admissions" | MORE_LOAD => {
                    for _ in 1..3 {
                        small.add_admission().await?;
                    }
                    let times = if *system == MORE_LOAD { 3 } else { 1 };
                    let settings = settings.connections(times * settings.connections);
                    let window = meter::measure(&small, &settings, &small_question).await;
                    small.end_more_admissions();
                    window
                }
                _ => meter::measure(&small, settings, &small_question).await,
            }?;
            say(&format!(
                "scaling, round {}: {system}: {:.2} µs a request",
                round + 1,
                all_us(&window)
            ));
            windows.push(window);
        }
    }
    sections.put(section(settings, &windows));
    Ok(())
}

async fn question(world: &World, visitors: u64) -> anyhow::Result<Question> {
    let places = world.admit("room-0", visitors).await?;
    let tokens = world.tokens("room-0", &places, VISITORS);
    let requests = Arc::new(Requests::with_tokens("/v1/queues/room-0/authorize", &tokens));
    Ok(Question { operation: "queue.authorize", requests, expect: 200 })
}

/// Of all services and the store.
fn all_us(it: &Window) -> f64 {
    it.per_request(it.admission_us + it.store_us + it.scheduler_us)
}

fn section(settings: &Settings, windows: &[Vec<Window>]) -> Section {
    let rows = SYSTEMS.iter().zip(windows).map(|(system, windows_of)| {
        let over =
            |of: &dyn Fn(&Window) -> f64| median(&windows_of.iter().map(of).collect::<Vec<_>>());
        let base = windows.first().into_iter().flatten();
        let times: Vec<_> =
            base.zip(windows_of).map(|(base, it)| all_us(it) / all_us(base)).collect();
        // With more load, batches are larger: that one is there to compare with.
        let has_bound = *system != SMALLEST && *system != MORE_LOAD;
        let bound = has_bound.then_some(Bound::AtMost(MOST_TIMES));
        Row::new(*system)
            .figure("requests/s", over(&Window::rate))
            .figure("admission µs", over(&|it| it.per_request(it.admission_us)))
            .figure("Redis µs", over(&|it| it.per_request(it.store_us)))
            .figure("scheduler µs", over(&|it| it.per_request(it.scheduler_us)))
            .figure("all three", over(&all_us))
            .within("×", median(&times), bound)
            .figure("EVALSHA/request", over(&|it| it.per_request(it.calls)))
    });
    Section {
        name: NAME,
        title: "Schedulers, queues, admissions".to_owned(),
        how: format!(
            "Authorize at {} connections, shared by all admissions but in the last row. The smallest system has one \
             scheduler, one queue and one admission; `×` compares the processor time of services \
             and Redis with its in the same round, median of {} rounds. Ticks and snapshots are \
             counted; they cost the same when nobody asks.",
            settings.connections,
            ROUNDS.min(settings.rounds)
        ),
        rows: rows.collect(),
    }
}
