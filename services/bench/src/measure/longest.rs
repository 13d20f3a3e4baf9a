//! The longest scripts, with the store on a core of its own as far as the machine has one.

use std::process::Command;

use anteroom_testkit::Redis;

use crate::{
    meter::{self, Question},
    progress::say,
    report::{Bound, Row, Section},
    sections::Sections,
    settings::Settings,
    world::World,
};

/// The name for `--only`.
pub const NAME: &str = "longest";
/// From here on a script is in the slow log.
const SLOW_US: u32 = 500;
/// Small batches and the largest.
const CONNECTIONS: [usize; 2] = [64, 1_000];
/// Windows of each: the more calls, the more the last percentile means.
const WINDOWS: usize = 3;
/// Joins of other sections have smaller numbers.
const FIRST_SERIES: u64 = 1_000;

/// Measures each operation at several numbers of connections. `question` makes the one of the n-th
/// operation; its second argument is the series of its joins.
pub async fn measure(
    settings: &Settings,
    sections: &Sections,
    world: &World,
    operations: usize,
    question: impl Fn(usize, u64) -> Question,
) -> anyhow::Result<()> {
    let redis = &world.anteroom.deployment.redis;
    let server: String = redis.run(&["INFO", "server"]).await;
    if !knows_percentiles(&server) {
        sections.note("the longest scripts: this Redis is older than 7 and keeps no percentiles");
        return Ok(());
    }
    let slow = SLOW_US.to_string();
    for (name, value) in [
        ("latency-tracking-info-percentiles", "50 99 99.99 100"),
        ("slowlog-log-slower-than", &slow),
        ("slowlog-max-len", "10000"),
    ] {
        redis.run::<()>(&["CONFIG", "SET", name, value]).await;
    }
    let (mut rows, alone) = (Vec::new(), Alone::new(settings, world));
    for operation in 0..operations {
        for (series, connections) in (FIRST_SERIES..).step_by(WINDOWS).zip(CONNECTIONS) {
            let settings = settings.connections(connections);
            // For longer than queue time goes on without them: nothing here ends so soon.
            world.anteroom.scheduler.process.freeze();
            reset(redis).await;
            let (mut items, mut calls, mut store_us) = (0.0, 0.0, 0.0);
            for series in (series..).take(WINDOWS) {
                let it = meter::measure(world, &settings, &question(operation, series)).await?;
                (items, calls) = (items + it.counted.items, calls + it.counted.calls);
                store_us += it.store_us * it.requests;
            }
            let name = question(operation, 0).operation.trim_start_matches("queue.");
            let name = format!("{name}, {connections}");
            rows.push(row(redis, name, items / calls, store_us / items).await);
            world.anteroom.scheduler.process.thaw();
            tokio::time::sleep(meter::SOME_TICKS).await;
        }
    }
    reset(redis).await;
    tokio::time::sleep(settings.window * WINDOWS as u32).await;
    rows.push(row(redis, "ticks".to_owned(), 1.0, f64::NAN).await);
    let cores = match alone {
        Some(_) => {
            "Redis has the last core, where nothing ordinary may interrupt it (SCHED_FIFO); all else \
             of ours has the others"
        }
        None => "Redis shares its core: there is only one, or taskset and chrt may not be used",
    };
    sections.put(Section {
        name: NAME,
        title: "The longest scripts".to_owned(),
        how: format!(
            "In the longest line, at {CONNECTIONS:?} connections, the scheduler stopped meanwhile; its \
             ticks have a row of their own, without load. {cores}. By Redis' clock (`INFO \
             latencystats` of EVALSHA, `SLOWLOG` over {SLOW_US} µs): what the kernel, and the host of \
             a virtual machine, took of the core while a script ran is in it. Redis µs: processor time \
             of the whole process, its share of the kernel's work included."
        ),
        rows,
    });
    Ok(())
}

/// Redis from 7 on, and Valkey, which says that it is like Redis 7.
fn knows_percentiles(server: &str) -> bool {
    let version = server.lines().find_map(|line| line.strip_prefix("redis_version:"));
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    major.is_some_and(|major| major >= 7)
}

async fn reset(redis: &Redis) {
    redis.run::<()>(&["CONFIG", "RESETSTAT"]).await;
    redis.run::<()>(&["SLOWLOG", "RESET"]).await;
}

/// What Redis has seen since the reset.
async fn row(redis: &Redis, name: String, items_a_call: f64, item_us: f64) -> Row {
    let calls = redis.evalsha_calls().await;
    let stats: String = redis.run(&["INFO", "latencystats"]).await;
    let slow: u64 = redis.run(&["SLOWLOG", "LEN"]).await;
    let row = Row::new(name)
        .figure("calls", calls as f64)
        .figure("items a call", items_a_call)
        .figure("Redis µs an item", item_us)
        .figure("p50 µs", percentile(&stats, "p50"))
        .figure("p99 µs", percentile(&stats, "p99"))
        .within("p99.99 µs", percentile(&stats, "p99.99"), Some(Bound::AtMost(1_000.0)))
        .figure("longest µs", percentile(&stats, "p100"))
        .figure("over 500 µs", slow as f64);
    say(&format!("longest: {}, {:?}", row.name, row.figures));
    row
}

/// A percentile of EVALSHA in µs.
fn percentile(stats: &str, name: &str) -> f64 {
    let line = stats.lines().find_map(|it| it.strip_prefix("latency_percentiles_usec_evalsha:"));
    let mut fields = line.unwrap_or_default().split(',').filter_map(|field| field.split_once('='));
    fields.find(|field| field.0 == name).and_then(|it| it.1.trim().parse().ok()).unwrap_or(f64::NAN)
}

/// The store alone on the last core, before all else there; the rest of ours on the other cores.
/// Undone in the end.
struct Alone {
    all_cores: String,
    store: u32,
    others: [u32; 3],
}

impl Alone {
    /// `None` where that cannot be done.
    fn new(settings: &Settings, world: &World) -> Option<Self> {
        let last = settings.cores.checked_sub(1).filter(|last| *last > 0)?;
        let (admission, scheduler) = (&world.anteroom.admission, &world.anteroom.scheduler);
        let alone = Self {
            all_cores: format!("0-{last}"),
            store: world.store_id().ok()?,
            others: [admission.process.id(), scheduler.process.id(), std::process::id()],
        };
        let before_last = format!("0-{}", last - 1);
        let apart = alone.others.iter().all(|id| set_cores(*id, &before_last))
            && set_cores(alone.store, &last.to_string());
        // First in, first out: nothing ordinary takes the core from it.
        (apart && run(&["chrt", "-a", "-f", "-p", "1", &alone.store.to_string()])).then_some(alone)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        run(&["chrt", "-a", "-o", "-p", "0", &self.store.to_string()]);
        set_cores(self.store, &self.all_cores);
        for id in self.others {
            set_cores(id, &self.all_cores);
        }
    }
}

fn set_cores(id: u32, cores: &str) -> bool {
    run(&["taskset", "-a", "-c", "-p", cores, &id.to_string()])
}

fn run(words: &[&str]) -> bool {
    let output = Command::new(words[0]).args(&words[1..]).output();
    output.is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_percentile_is_read() {
        let stats = "# Latencystats\r\nlatency_percentiles_usec_evalsha:p50=80.5,p99=210.9,p99.99=404.1\r\n";
        assert_eq!(super::percentile(stats, "p99.99"), 404.1);
        assert!(super::percentile("", "p50").is_nan());
        assert!(super::knows_percentiles("redis_mode:standalone\r\nredis_version:7.0.15\r\n"));
        assert!(!super::knows_percentiles("redis_version:6.2.1\r\n"));
    }
}
