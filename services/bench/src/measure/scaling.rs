//! The cost of a request must not rise with the number of schedulers, queues or admissions:
//! authorize, the same load, beside the smallest system.

use crate::{
    measure::rows::HelloWorld,
    meter::{self, Window, over},
    progress::say,
    report::{Bound, Row, Section},
    sections::Sections,
    settings::Settings,
    stats::median,
    world::{World, local, room},
};

/// The name for `--only`.
pub const NAME: &str = "scaling";
const VISITORS: u64 = 10_000;
const QUEUES: usize = 50;
const ROUNDS: usize = 3;
/// A tenth is what two runs of the same differ by on a quiet machine.
const MOST_TIMES: f64 = 1.10;

/// The systems, the smallest first.
const SYSTEMS: [&str; 9] = [
    SMALLEST,
    "4 schedulers",
    "50 queues",
    "3 admissions",
    MORE_LOAD,
    LOCAL,
    LOCAL_ADMISSIONS,
    HELLO,
    HELLOS,
];
const SMALLEST: &str = "the smallest";
/// As many connections to each admission as the others have in all.
const MORE_LOAD: &str = "3 admissions, 3 times the connections";

const LOCAL: &str = "local answers";
/// Compared with one that has local answers too.
const LOCAL_ADMISSIONS: &str = "local answers, 3 admissions";
const MOST_TIMES_LOCAL: f64 = 1.15;

/// What any server pays for more processes on the same cores.
const HELLO: &str = "hello-world";
const HELLOS: &str = "hello-world, 3 processes";

/// Measures each system in each round.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let visitors = settings.scaled(VISITORS);
    let queue = |n: usize| room(&format!("room-{n}"), visitors);
    let mut small = World::start(&[queue(0)]).await?;
    let many = World::start(&(0..QUEUES).map(queue).collect::<Vec<_>>()).await?;
    let answering = World::start(&[local(&queue(0))]).await?;
    let mut answering_thrice = World::start(&[local(&queue(0))]).await?;
    for _ in 1..3 {
        answering_thrice.add_admission().await;
    }
    let mut hellos = Vec::new();
    for _ in 0..3 {
        hellos.push(HelloWorld::start(settings).await?);
    }
    // Their ticks are their own system's.
    many.anteroom.scheduler.process.freeze();
    let small_question = small.authorize("room-0", visitors, VISITORS).await?;
    let many_question = many.authorize("room-0", visitors, VISITORS).await?;
    let local_question = answering.authorize("room-0", visitors, VISITORS).await?;
    answering.anteroom.scheduler.process.freeze();
    let thrice_question = answering_thrice.authorize("room-0", visitors, VISITORS).await?;
    answering_thrice.anteroom.scheduler.process.freeze();
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
                        small.add_admission().await;
                    }
                    let times = if *system == MORE_LOAD { 3 } else { 1 };
                    let settings = settings.connections(times * settings.connections);
                    let window = meter::measure(&small, &settings, &small_question).await;
                    small.more_admissions.clear();
                    window
                }
                LOCAL | LOCAL_ADMISSIONS => {
                    let (world, question) = if *system == LOCAL {
                        (&answering, &local_question)
                    } else {
                        (&answering_thrice, &thrice_question)
                    };
                    small.anteroom.scheduler.process.freeze();
                    world.anteroom.scheduler.process.thaw();
                    // While there were no ticks, nothing could be answered locally. After the first
                    // window each process knows each visitor again.
                    meter::measure(world, settings, question).await?;
                    let window = meter::measure(world, settings, question).await;
                    world.anteroom.scheduler.process.freeze();
                    small.anteroom.scheduler.process.thaw();
                    window
                }
                HELLO => hellos[0].run().await,
                HELLOS => HelloWorld::run_all(&hellos).await,
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

/// Of all services and the store.
fn all_us(it: &Window) -> f64 {
    it.both_us() + it.scheduler_us
}

fn section(settings: &Settings, windows: &[Vec<Window>]) -> Section {
    let rows = SYSTEMS.iter().zip(windows).map(|(system, windows_of)| {
        let of = |of: fn(&Window) -> f64| over(windows_of, of);
        let base = match *system {
            LOCAL_ADMISSIONS => LOCAL,
            HELLO | HELLOS => HELLO,
            _ => SMALLEST,
        };
        let base = SYSTEMS.iter().position(|name| *name == base).and_then(|at| windows.get(at));
        let base = base.into_iter().flatten();
        let times: Vec<_> =
            base.zip(windows_of).map(|(base, it)| all_us(it) / all_us(base)).collect();
        // With more load, batches are larger: that one is there to compare with.
        let bound = match *system {
            SMALLEST | MORE_LOAD | LOCAL | HELLO | HELLOS => None,
            LOCAL_ADMISSIONS => Some(Bound::AtMost(MOST_TIMES_LOCAL)),
            _ => Some(Bound::AtMost(MOST_TIMES)),
        };
        Row::new(*system)
            .figure("requests/s", of(|it| it.rate))
            .figure("admission µs", of(|it| it.server_us))
            .figure("Redis µs", of(|it| it.store_us))
            .figure("scheduler µs", of(|it| it.scheduler_us))
            .figure("all three", of(all_us))
            .within("×", median(&times), bound)
            .figure("EVALSHA/request", of(Window::calls_a_request))
    });
    Section {
        name: NAME,
        title: "Schedulers, queues, admissions".to_owned(),
        how: format!(
            "Authorize at {} connections, shared by all processes but in the row that says so. The smallest system has one \
             scheduler, one queue and one admission; `×` compares the processor time of services \
             and Redis with its in the same round, median of {} rounds. Local answers and the \
             hello-world are compared with their own smallest system. Ticks and snapshots are \
             counted; they cost the same without requests.",
            settings.connections,
            ROUNDS.min(settings.rounds)
        ),
        rows: rows.collect(),
    }
}
