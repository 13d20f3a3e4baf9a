//! The process metrics under their standard names, read from `/proc` when they are asked for.
//!
//! The collector of the prometheus crate cuts the processor time to whole seconds, which makes
//! steps of any rate.

use std::{
    fs,
    sync::{Mutex, PoisonError},
};

use nix::{
    sys::resource::{Resource, getrlimit},
    unistd::{SysconfVar, sysconf},
};
use prometheus::{
    Counter, Gauge, Opts,
    core::{Collector, Desc},
    proto::MetricFamily,
};

/// The processor time, and the gauges in the order of [`GAUGES`].
pub(crate) struct ProcessMetrics {
    cpu: Counter,
    gauges: [Gauge; GAUGES.len()],
    units: Units,
    /// Held while they are read: two scrapes at once must not see each other's half.
    scrape: Mutex<()>,
}

const GAUGES: [(&str, &str); 6] = [
    ("process_open_fds", "Number of open file descriptors."),
    ("process_max_fds", "Maximum number of open file descriptors."),
    ("process_virtual_memory_bytes", "Virtual memory size in bytes."),
    ("process_resident_memory_bytes", "Resident memory size in bytes."),
    ("process_start_time_seconds", "Start time of the process since unix epoch in seconds."),
    ("process_threads", "Number of OS threads in the process."),
];

/// What the numbers of the kernel are counted in.
#[derive(Clone, Copy)]
struct Units {
    ticks_per_second: f64,
    page_bytes: f64,
    /// When the machine was started, in seconds since 1970.
    booted_at: f64,
}

/// What `/proc/self/stat` says, in seconds and bytes.
#[derive(Debug, PartialEq)]
struct Stat {
    cpu_seconds: f64,
    threads: f64,
    started_at: f64,
    virtual_bytes: f64,
    resident_bytes: f64,
}

impl ProcessMetrics {
    pub(crate) fn new() -> prometheus::Result<Self> {
        let cpu =
            Counter::new("process_cpu_seconds_total", "User and system CPU time spent in seconds.");
        let gauge = |(name, help): (&str, &str)| Gauge::with_opts(Opts::new(name, help));
        let [open, max, size, resident, start, threads] = GAUGES.map(gauge);
        let gauges = [open?, max?, size?, resident?, start?, threads?];
        Ok(Self { cpu: cpu?, gauges, units: Units::of_this_machine(), scrape: Mutex::default() })
    }

    /// Reads everything; `None` where the system has no `/proc`.
    fn read(&self) -> Option<()> {
        let stat = Stat::parse(&fs::read_to_string("/proc/self/stat").ok()?, self.units)?;
        // One of them is the folder's own, while it is read.
        let open_fds = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
        let (max_fds, _) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
        self.cpu.reset();
        self.cpu.inc_by(stat.cpu_seconds);
        let values = [
            open_fds as f64,
            max_fds as f64,
            stat.virtual_bytes,
            stat.resident_bytes,
            stat.started_at,
            stat.threads,
        ];
        for (gauge, value) in self.gauges.iter().zip(values) {
            gauge.set(value);
        }
        Some(())
    }
}

impl Units {
    fn of_this_machine() -> Self {
        let known =
            |name, usual: f64| sysconf(name).ok().flatten().map_or(usual, |value| value as f64);
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let booted_at = stat.lines().find_map(|line| line.strip_prefix("btime ")?.parse().ok());
        Self {
            ticks_per_second: known(SysconfVar::CLK_TCK, 100.0),
            page_bytes: known(SysconfVar::PAGE_SIZE, 4096.0),
            booted_at: booted_at.unwrap_or_default(),
        }
    }
}

impl Stat {
    /// The fields are numbered as in proc(5); those from the third on follow the name of the
    /// program, which may itself hold blanks and brackets.
    fn parse(text: &str, units: Units) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self {
            cpu_seconds: (field(14)? + field(15)?) / units.ticks_per_second,
            threads: field(20)?,
            started_at: units.booted_at + field(22)? / units.ticks_per_second,
            virtual_bytes: field(23)?,
            resident_bytes: field(24)? * units.page_bytes,
        })
    }
}

impl Collector for ProcessMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.cpu.desc().into_iter().chain(self.gauges.iter().flat_map(Collector::desc)).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let _scrape = self.scrape.lock().unwrap_or_else(PoisonError::into_inner);
        if self.read().is_none() {
            return Vec::new();
        }
        let gauges = self.gauges.iter().flat_map(Collector::collect);
        self.cpu.collect().into_iter().chain(gauges).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use prometheus::Registry;

    use super::*;

    #[test]
    fn fields_are_found_behind_any_name() {
        let units = Units { ticks_per_second: 100.0, page_bytes: 4096.0, booted_at: 1_000.0 };
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 100 0 0 0 151 42 0 0 20 0 9 0 5050 8192 3 \
            18446744073709551615";
        let expected = Stat {
            cpu_seconds: 1.93,
            threads: 9.0,
            started_at: 1_050.5,
            virtual_bytes: 8192.0,
            resident_bytes: 12_288.0,
        };
        assert_eq!(Stat::parse(stat, units), Some(expected));
        assert_eq!(Stat::parse("7 (a) S 1", units), None);
    }

    #[test]
    fn processor_time_shows_in_parts_of_a_second() {
        let registry = Registry::new();
        registry.register(Box::new(ProcessMetrics::new().expect("names"))).expect("fresh names");
        let value = |name: &str| {
            let text = prometheus::TextEncoder::new().encode_to_string(&registry.gather());
            let text = text.expect("text");
            let found = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
            found.unwrap_or_else(|| panic!("no {name} in\n{text}"))
        };
        let cpu = || -> f64 { value("process_cpu_seconds_total") };
        let (before, began) = (cpu(), Instant::now());
        // Work until it shows: long before a whole second of it.
        while cpu() == before {
            assert!(began.elapsed() < Duration::from_secs(60), "no processor time in a minute");
        }
        let worked = cpu() - before;
        assert!(worked > 0.0 && worked < 0.5, "{worked} s at once");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64();
        let started: f64 = value("process_start_time_seconds");
        assert!((0.0..3_600.0).contains(&(now - started + 1.0)), "{started} of {now}");
        let resident: f64 = value("process_resident_memory_bytes");
        assert!(resident > 1e6 && value("process_virtual_memory_bytes") >= resident);
        assert!(value("process_open_fds") >= 3.0 && value("process_threads") >= 1.0);
        assert!(value("process_max_fds") > value("process_open_fds"));
    }
}
