//! Whether this program, or the machine that it runs on, was the limit of a run. Then the figures
//! say nothing of the service: no plan follows from them.
//!
//! All limits are judged here: file descriptors, local ports, memory, the name server, lateness,
//! processor time. Every command uses it.

use std::collections::BTreeMap;
use std::fs::{read_dir, read_to_string};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use crate::client::{Fault, Sources};
use crate::load::share;

/// Visits under way at most, also where more descriptors are allowed.
pub const MOST_IN_FLIGHT: u64 = 50_000;
/// Descriptors of the program itself: standard streams, the runtime, reports.
const RESERVE: u64 = 100;
/// One request of so many that failed here makes the figures of all the others doubtful.
const ONE_OF: u64 = 1_000;
/// Between two looks at the clock.
const TICK: Duration = Duration::from_millis(20);
/// A timer that fires so late is late.
const LATE: Duration = Duration::from_millis(50);
/// So many timers may be late.
const LATE_SHARE: f64 = 0.05;
/// One timer that is so late is too much: all requests of that time look slow.
const STALLED: Duration = Duration::from_secs(1);
/// A program that takes so much of all processors is their limit.
const ALONE: f64 = 0.9;
/// So much of them is too much where they are all busy: the service may be on the same machine.
const SHARED: f64 = 0.5;
/// So much of the time in which it had work is too long to wait for a processor.
const WAITED: f64 = 0.25;
/// So busy processors are all busy.
const BUSY: f64 = 0.9;
/// What helps a process that has too few processors.
const OWN_MACHINE: &str =
    "Run it on a machine of its own with more processors, or on more machines";

/// The limit that was reached, and the remedy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("this program was the limit, not the service: {what}. {remedy}.")]
pub struct OwnLimit {
    what: String,
    remedy: String,
}

impl OwnLimit {
    fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into() }
    }

    /// Of a name that was not found.
    pub fn of_lookup(host: &str, error: io::Error) -> anyhow::Error {
        // The C library's text for EAI_AGAIN; the standard library shows no code.
        if error.to_string().contains("Temporary failure") {
            let what = format!("the name server did not answer for {host} ({error})");
            return Self::new(what, "Check /etc/resolv.conf, or use an IP address").into();
        }
        anyhow::Error::from(error).context(format!("{host} has no address"))
    }

    /// Of connections that are open at once.
    fn descriptors(what: impl Into<String>, wanted: u64) -> Self {
        let wanted = wanted + RESERVE;
        Self::new(
            what,
            format!("Raise the limit, such as with `ulimit -n {wanted}`, or use more machines"),
        )
    }

    fn ports(what: impl Into<String>) -> Self {
        let remedy = "Spread the connections over local addresses with --source-addresses, such as \
            127.0.1.0/24 for a service on this machine, or use more machines";
        Self::new(what, remedy)
    }

    /// What requests that failed here say, of so many in all.
    pub fn of_faults(faults: &BTreeMap<Fault, u64>, requests: u64) -> Option<Self> {
        let own = faults.iter().filter(|(fault, _)| fault.is_own());
        let (fault, most) = own.clone().max_by_key(|(_, count)| **count)?;
        let all: u64 = own.map(|(_, count)| count).sum();
        if all * ONE_OF <= requests {
            return None;
        }
        let what = format!("{all} of {requests} requests failed here ({fault}: {most})");
        Some(match fault {
            Fault::Ports => Self::ports(what),
            Fault::Memory => Self::new(what, "Use a machine with more memory, or more machines"),
            _ => Self::descriptors(what, requests.min(MOST_IN_FLIGHT)),
        })
    }

    /// Of visitors who arrived while as many connections were open as the machine allows.
    pub fn of_unplayed(unplayed: u64, of: u64) -> Option<Self> {
        let what = format!("{unplayed} of {of} visitors found no file descriptor left here");
        (unplayed * ONE_OF > of).then(|| Self::descriptors(what, MOST_IN_FLIGHT))
    }
}

/// Raises the descriptor limit of this process as far as it may, and returns how many connections
/// it may have open at once.
pub fn connections() -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    // A limit that cannot be raised stays as it is.
    let limit = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_or(soft, |()| hard);
    Ok(limit.saturating_sub(RESERVE))
}

/// How many local ports the kernel chooses from, for the connections of one local address to one
/// server.
pub fn ports() -> u64 {
    let range = read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut bounds = range.split_whitespace().filter_map(|bound| bound.parse::<u64>().ok());
    let bounds = bounds.next().zip(bounds.next());
    bounds.map_or(28_232, |(first, last)| last.saturating_sub(first) + 1)
}

/// Refuses a run that needs more connections at once than this machine can have.
///
/// # Errors
///
/// [`OwnLimit`]; when the limits cannot be read.
pub fn check(wanted: u64, sources: &Sources) -> anyhow::Result<()> {
    let allowed = connections()?;
    let what = format!("{wanted} connections at once, {allowed} file descriptors are allowed");
    ensure!(wanted <= allowed, OwnLimit::descriptors(what, wanted));
    let ports = ports() * sources.count() as u64;
    let what = format!("{wanted} connections at once, {ports} local ports are available");
    ensure!(wanted <= ports, OwnLimit::ports(what));
    Ok(())
}

/// A second of a run: what had been used before it, and how late timers fired in it.
#[derive(Clone, Copy, Debug)]
struct Second {
    began: Instant,
    /// Processor time of this process, in seconds.
    own: f64,
    /// How long its threads had waited for a processor, in seconds.
    waited: f64,
    /// Of the machine, in ticks: all, and idle.
    machine: [u64; 2],
    /// Timers that were due.
    ticks: u32,
    /// Those that fired late.
    late: u32,
    /// The latest.
    latest: Duration,
}

impl Second {
    fn begins() -> Self {
        // Of the own process it is always known.
        let own = getrusage(UsageWho::RUSAGE_SELF).map_or(0.0, |usage| {
            let times = [usage.user_time(), usage.system_time()];
            times.map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6).iter().sum()
        });
        let stat = read_to_string("/proc/stat").unwrap_or_default();
        let all = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
        // User, nice, system, idle, wait for disks, interrupts and what other machines took.
        let all: Vec<u64> = all.take(8).filter_map(|ticks| ticks.parse().ok()).collect();
        let machine = [all.iter().sum(), all.iter().skip(3).take(2).sum()];
        let (began, waited, latest) = (Instant::now(), waited(), Duration::ZERO);
        Self { began, own, waited, machine, ticks: 0, late: 0, latest }
    }
}

/// How long the threads of this process have waited for a processor, in seconds.
fn waited() -> f64 {
    let tasks = read_dir("/proc/self/task").into_iter().flatten().flatten();
    let waited = tasks.filter_map(|task| {
        let times = read_to_string(task.path().join("schedstat")).ok()?;
        times.split_whitespace().nth(1)?.parse::<f64>().ok()
    });
    waited.sum::<f64>() / 1e9
}

/// What a stretch of time cost this process.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Processor time, of all threads.
    pub cpu_seconds: f64,
    /// Processors that it used on average.
    pub cores: f64,
    /// Threads that waited for a processor on average.
    pub cores_waited: f64,
    /// Processors that it may use.
    pub cores_allowed: f64,
    /// The busy share of all processors of the machine, of all programs.
    pub machine_busy: f64,
    /// The share of timers that fired more than 50 ms late.
    pub late_share: f64,
    /// The latest timer.
    pub latest_ms: f64,
    /// The most memory that was resident so far.
    pub max_rss_bytes: u64,
}

/// Watches this process from its start on.
pub struct Watch {
    seconds: Arc<Mutex<Vec<Second>>>,
    _task: AbortOnDropHandle<()>,
}

impl Watch {
    /// Starts.
    pub fn start() -> Self {
        let first = Second::begins();
        let seconds = Arc::new(Mutex::new(vec![first]));
        let noted = Arc::clone(&seconds);
        let watching = async move {
            let mut due = first.began;
            loop {
                due += TICK;
                sleep_until(due).await;
                let late = due.elapsed();
                let mut seconds = noted.lock();
                // By the moment at which it was due, also after a stall.
                let at = usize::try_from((due - first.began).as_secs()).unwrap_or(usize::MAX);
                if at >= seconds.len() {
                    seconds.push(Second::begins());
                }
                let second = &mut seconds[at];
                second.ticks += 1;
                second.late += u32::from(late > LATE);
                second.latest = second.latest.max(late);
            }
        };
        let _task = AbortOnDropHandle::new(tokio::spawn(watching));
        Self { seconds, _task }
    }

    /// What the seconds of a stretch cost, since the start.
    pub fn cost(&self, of: Range<Duration>) -> Cost {
        let seconds = self.seconds.lock();
        let last = seconds.len() - 1;
        let whole = |at: Duration| usize::try_from(at.as_secs()).unwrap_or(usize::MAX).min(last);
        let (from, to) = (whole(of.start), whole(of.end));
        let of = &seconds[from..=to];
        // What the last second takes is not known yet.
        let (first, last) = (&of[0], &of[of.len() - 1]);
        let [all, idle] = [0, 1].map(|at| last.machine[at].saturating_sub(first.machine[at]));
        let cpu_seconds = last.own - first.own;
        let seconds = (last.began - first.began).as_secs_f64().max(1e-3);
        let kibibytes = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss());
        Cost {
            cpu_seconds,
            cores: cpu_seconds / seconds,
            cores_waited: (last.waited - first.waited).max(0.0) / seconds,
            cores_allowed: std::thread::available_parallelism().map_or(1.0, |it| it.get() as f64),
            machine_busy: share(all.saturating_sub(idle), all),
            late_share: of.iter().map(|it| f64::from(it.late)).sum::<f64>()
                / of.iter().map(|it| f64::from(it.ticks)).sum::<f64>().max(1.0),
            latest_ms: of.iter().map(|it| it.latest).max().unwrap_or_default().as_secs_f64() * 1e3,
            max_rss_bytes: 1_024 * u64::try_from(kibibytes).unwrap_or(0),
        }
    }

    /// What all seconds cost up to now.
    pub fn cost_so_far(&self) -> Cost {
        self.cost(Duration::ZERO..Duration::MAX)
    }
}

impl Cost {
    /// The limit that this process was at, if it was.
    pub fn limit(&self) -> Option<OwnLimit> {
        let Self { cores, cores_allowed, machine_busy, late_share, latest_ms, .. } = *self;
        let used = cores / cores_allowed.max(1.0);
        let (late, busy) = (100.0 * late_share, 100.0 * machine_busy);
        let mut remedy = "Repeat the run on a machine that is less busy, offer less load, or use \
            more machines";
        let what = if latest_ms >= STALLED.as_secs_f64() * 1e3 {
            format!("it, or its machine, did not run for {:.1} s", latest_ms / 1e3)
        } else if used >= ALONE || (used >= SHARED && machine_busy >= BUSY) {
            remedy = OWN_MACHINE;
            format!("it used {cores:.2} of {cores_allowed} processors, which were {busy:.0} % busy")
        } else if late_share > LATE_SHARE {
            format!("{late:.0} % of its timers fired more than 50 ms late")
        } else {
            return None;
        };
        Some(OwnLimit::new(what, remedy))
    }

    /// Whether a closed load was smaller because this process waited for processors. Throughput
    /// says nothing of the service then, though no timer was late.
    pub fn starved(&self) -> Option<OwnLimit> {
        let Self { cores, cores_waited: waited, cores_allowed, .. } = self;
        let wanted = cores + waited;
        let what = format!("it used {cores:.2} processors, and {waited:.2} threads waited for one");
        let is_starved = *waited >= WAITED * wanted && wanted >= SHARED * cores_allowed;
        is_starved.then(|| OwnLimit::new(what, OWN_MACHINE))
    }

    /// Of two machines that shared a load: the sum of what they used, and the worse of the rest.
    pub fn or_worse(self, other: Self) -> Self {
        let limited = |cost: &Self| cost.limit().or_else(|| cost.starved()).is_some();
        let worse = if !limited(&self) && limited(&other) { other } else { self };
        Self {
            cpu_seconds: self.cpu_seconds + other.cpu_seconds,
            max_rss_bytes: self.max_rss_bytes + other.max_rss_bytes,
            ..worse
        }
    }

    /// For people.
    pub fn line(&self) -> String {
        format!(
            "The harness took {:.1} s of processor time ({:.2} of {} processors, which were {:.0} \
             % busy) and {:.0} MiB of memory; {:.1} % of its timers fired more than 50 ms late.",
            self.cpu_seconds,
            self.cores,
            self.cores_allowed,
            100.0 * self.machine_busy,
            self.max_rss_bytes as f64 / 1_048_576.0,
            100.0 * self.late_share
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_at_its_own_limit_says_which_and_what_helps() {
        let calm = Cost { cores: 0.6, cores_allowed: 2.0, machine_busy: 1.0, ..Cost::default() };
        assert_eq!(calm.limit(), None);
        for (cost, says) in [
            (Cost { cores: 1.38, ..calm }, "1.38 of 2 processors, which were 100 % busy"),
            (Cost { cores: 1.9, machine_busy: 0.0, ..calm }, "1.90 of 2 processors"),
            (Cost { late_share: 0.06, ..calm }, "6 % of its timers fired more than 50 ms late"),
            (Cost { latest_ms: 2_960.0, ..calm }, "did not run for 3.0 s"),
        ] {
            let limit = cost.limit().map(|limit| limit.to_string()).unwrap_or_default();
            assert!(limit.contains(says) && limit.contains("not the service"), "{limit}");
        }
        assert_eq!(Cost { cores: 1.38, machine_busy: 0.8, ..calm }.limit(), None, "it has room");
    }

    #[test]
    fn requests_that_failed_here_are_its_own_limit() {
        let of = |fault, count| OwnLimit::of_faults(&BTreeMap::from([(fault, count)]), 2_000);
        assert_eq!(of(Fault::Timeout, 2_000), None);
        assert_eq!(of(Fault::Descriptors, 2), None);
        for (fault, remedy) in [
            (Fault::Descriptors, "`ulimit -n"),
            (Fault::Ports, "--source-addresses"),
            (Fault::Memory, "more memory"),
        ] {
            let limit = of(fault, 3).map(|limit| limit.to_string()).unwrap_or_default();
            assert!(limit.contains("3 of 2000") && limit.contains(remedy), "{limit}");
        }
    }
}
