//! The longest scripts, with the store on a core of its own as far as the machine has one.

use std::process::Command;

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
/// From here on a script stands in the slow log.
const SLOW_US: i64 = 500;
/// Small batches and the largest.
const CONNECTIONS: [usize; 2] = [64, 1_000];

/// Id, time, µs, command, client's address, client's name.
type Slow = (i64, i64, i64, Vec<Vec<u8>>, String, String);

/// Asks the questions of each operation, at several numbers of connections. `question` makes the one
/// of the n-th operation; its second argument tells its joins from all others.
pub async fn run(
    settings: &Settings,
    sections: &Sections,
    world: &World,
    operations: usize,
    question: impl Fn(usize, u64) -> Question,
) -> anyhow::Result<()> {
    let redis = &world.anteroom.redis;
    let server: String = redis.run(&["INFO", "server"]).await;
    if !knows_percentiles(&server) {
        sections.note("the longest scripts: this Redis is older than 7 and keeps no percentiles");
        return Ok(());
    }
    redis.run::<()>(&["CONFIG", "SET", "latency-tracking-info-percentiles", "50 99 99.99"]).await;
    let slow = SLOW_US.to_string();
    redis.run::<()>(&["CONFIG", "SET", "slowlog-log-slower-than", &slow]).await;
    let (mut rows, pinned) = (Vec::new(), Pinned::new(settings, world));
    for operation in 0..operations {
        redis.run::<()>(&["CONFIG", "RESETSTAT"]).await;
        redis.run::<()>(&["SLOWLOG", "RESET"]).await;
        let (mut calls, mut items) = (0.0, 0.0);
        for (series, connections) in (1_000..).zip(CONNECTIONS) {
            let settings = settings.connections(connections);
            let it = meter::measure(world, &settings, &question(operation, series)).await?;
            (calls, items) = (calls + it.calls, items + it.items);
        }
        let stats: String = redis.run(&["INFO", "latencystats"]).await;
        let logged: Vec<Slow> = redis.run(&["SLOWLOG", "GET", "128"]).await;
        let longest = logged.iter().map(|entry| entry.2).max().unwrap_or_default();
        let name = question(operation, 0).operation.trim_start_matches("queue.");
        let row = Row::new(name)
            .figure("calls", calls)
            .figure("items a call", items / calls)
            .figure("p50 µs", percentile(&stats, "p50"))
            .figure("p99 µs", percentile(&stats, "p99"))
            .within("p99.99 µs", percentile(&stats, "p99.99"), Some(Bound::AtMost(1_000.0)))
            .figure("over 500 µs", logged.len() as f64)
            .figure("longest of these", longest as f64);
        say(&format!("longest, {name}: {:?}", row.figures));
        rows.push(row);
    }
    let cores = match pinned {
        Some(_) => "Redis has the last core, all else of ours the others",
        None => "Redis shares its core: there is only one, or no taskset",
    };
    sections.put(Section {
        name: NAME,
        title: "The longest scripts".to_owned(),
        how: format!(
            "In the longest line, at {CONNECTIONS:?} connections; the scheduler's ticks run beside and \
             are counted. {cores}. By Redis' clock (`INFO latencystats`, EVALSHA of all scripts): \
             what other programs took of that core while a script ran is in it. The slow log holds \
             scripts over {SLOW_US} µs, at most 128."
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

/// A percentile of EVALSHA in µs.
fn percentile(stats: &str, name: &str) -> f64 {
    let line = stats.lines().find_map(|it| it.strip_prefix("latency_percentiles_usec_evalsha:"));
    let mut fields = line.unwrap_or_default().split(',').filter_map(|field| field.split_once('='));
    fields.find(|field| field.0 == name).and_then(|it| it.1.trim().parse().ok()).unwrap_or(f64::NAN)
}

/// The store alone on the last core, all else of ours on the others; undone in the end.
struct Pinned {
    all: String,
    processes: [u32; 4],
}

impl Pinned {
    /// `None` where that cannot be done.
    fn new(settings: &Settings, world: &World) -> Option<Self> {
        let last = settings.cores.checked_sub(1).filter(|last| *last > 0)?;
        let store = world.store_id().ok()?;
        let (admission, scheduler) = (&world.anteroom.admission, &world.anteroom.scheduler);
        let others = [admission.id(), scheduler.id(), std::process::id()];
        let pinned = Self {
            all: format!("0-{last}"),
            processes: [store, admission.id(), scheduler.id(), std::process::id()],
        };
        let others_pinned = others.iter().all(|id| set_cores(*id, &format!("0-{}", last - 1)));
        (others_pinned && set_cores(store, &last.to_string())).then_some(pinned)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        for id in self.processes {
            set_cores(id, &self.all);
        }
    }
}

fn set_cores(id: u32, cores: &str) -> bool {
    let id = id.to_string();
    let taskset = Command::new("taskset").args(["-a", "-c", "-p", cores, &id]).output();
    taskset.is_ok_and(|output| output.status.success())
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
