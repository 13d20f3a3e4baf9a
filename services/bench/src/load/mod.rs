//! The load generator: keep-alive connections that each send a request, read the whole answer and
//! send the next, without a pause; with gRPC, streams of a few connections. It is lean, because
//! it shares the cores with what it measures; what it costs is reported. An answer that is not the
//! expected one ends the run with its text.

mod calls;

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use hdrhistogram::Histogram;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::{answer::Head, cpu, request::Requests};

/// No answer is longer.
const MOST_ANSWER: usize = 16 * 1024;
/// An answer that comes later than this after the end is none.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a thread looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// What is to be sent, and how.
#[derive(Clone)]
pub struct Plan {
    /// Where to; connections take turns.
    pub addresses: Vec<SocketAddr>,
    /// What.
    pub requests: Arc<Requests>,
    /// The status that is right, see [`is_right`].
    pub expect: u16,
    /// How many requests at a time: on as many connections, or, with gRPC, streams.
    pub connections: usize,
    /// How many threads drive them.
    pub threads: usize,
    /// Whether the time of each answer is kept.
    pub times: bool,
}

/// Whether this status is the expected one. On a machine that is slow for a moment a script may
/// run a second time for what it has done already: then a join finds the place that it has made.
fn is_right(status: u16, expect: u16) -> bool {
    status == expect || (expect, status) == (201, 200)
}

/// A load that runs. Dropping it ends it.
pub struct Load {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads share with the driver.
struct Shared {
    plan: Plan,
    stop: AtomicBool,
    /// Requests begun, over all connections: the number of the next.
    begun: AtomicU64,
    workers: Vec<Worker>,
    failure: Mutex<Option<anyhow::Error>>,
}

/// What one thread counts. On a cache line of its own.
#[repr(align(128))]
#[derive(Default)]
struct Worker {
    answered: AtomicU64,
    /// From request to answer, in ns.
    times: Mutex<Option<Histogram<u64>>>,
    thread: AtomicU64,
    cpu_at_end: AtomicU64,
}

impl Load {
    /// Connects and begins.
    pub fn start(plan: Plan) -> Self {
        let worker =
            |_| Worker { times: Mutex::new(plan.times.then(new_histogram)), ..Worker::default() };
        let workers = (0..plan.threads.max(1)).map(worker).collect();
        let shared = Arc::new(Shared {
            plan,
            stop: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            workers,
            failure: Mutex::new(None),
        });
        let threads = (0..shared.workers.len())
            .map(|worker| {
                let shared = shared.clone();
                std::thread::spawn(move || shared.work(worker))
            })
            .collect();
        Self { shared, threads }
    }

    /// Requests that have been answered so far.
    pub fn answered(&self) -> u64 {
        self.shared.workers.iter().map(|worker| worker.answered.load(Ordering::Relaxed)).sum()
    }

    /// The times of all answers since the last call of this, in ns.
    pub fn take_times(&self) -> Histogram<u64> {
        let mut all = new_histogram();
        for worker in &self.shared.workers {
            if let Some(times) = &mut *lock(&worker.times) {
                // Both are of the same kind.
                let _ = all.add(&*times);
                times.reset();
            }
        }
        all
    }

    /// Processor time of the generator so far, in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        let of = |worker: &Worker| match worker.cpu_at_end.load(Ordering::Acquire) {
            0 => cpu::of_own_thread(worker.thread.load(Ordering::Relaxed)),
            at_end => at_end,
        };
        self.shared.workers.iter().map(of).sum()
    }

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        self.threads.iter().any(|thread| !thread.is_finished())
    }

    /// Ends it, and returns what went wrong, if anything did.
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.end();
        match lock(&self.shared.failure).take() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A panic there has already been printed, and shows as a failure of the next look.
            let _ = thread.join();
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}

impl Worker {
    /// Counts an answer to a request that was sent at `begun`.
    fn count(&self, begun: Option<Instant>) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        if let (Some(begun), Some(times)) = (begun, &mut *lock(&self.times)) {
            times.saturating_record(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Of times from 1 µs to an answer that is too late, in ns, to 0.1 %.
fn new_histogram() -> Histogram<u64> {
    let most = u64::try_from(PATIENCE.as_nanos()).unwrap_or(u64::MAX);
    Histogram::new_with_bounds(1_000, most, 3).expect("these are bounds")
}

async fn connect(address: SocketAddr) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(address).await.context("the load cannot connect")?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl Shared {
    /// One thread: its share of the connections, until the end.
    fn work(&self, worker: usize) {
        let tally = &self.workers[worker];
        tally.thread.store(cpu::own_thread(), Ordering::Relaxed);
        let share = (worker..self.plan.connections).step_by(self.workers.len());
        let all = async {
            if let Requests::Calls(calls) = &*self.plan.requests {
                return self.calls(worker, share.count(), calls, tally).await;
            }
            let connections = share.map(|number| self.connection(number, tally));
            futures_util::future::try_join_all(connections).await.map(drop)
        };
        let run = async {
            tokio::select! {
                all = all => all,
                () = self.too_late() => Err(anyhow::anyhow!("an answer never came")),
            }
        };
        let outcome = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(anyhow::Error::from)
            .and_then(|runtime| runtime.block_on(run));
        if let Err(error) = outcome {
            self.stop.store(true, Ordering::Relaxed);
            lock(&self.failure).get_or_insert(error);
        }
        let thread = tally.thread.load(Ordering::Relaxed);
        tally.cpu_at_end.store(cpu::of_own_thread(thread), Ordering::Release);
    }

    /// One clock for all connections: a timer for each answer would cost too much.
    async fn too_late(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            tokio::time::sleep(LOOK).await;
        }
        tokio::time::sleep(PATIENCE).await;
    }

    async fn connection(&self, number: usize, tally: &Worker) -> anyhow::Result<()> {
        let address = self.plan.addresses[number % self.plan.addresses.len()];
        let mut stream = connect(address).await?;
        let mut request = Vec::with_capacity(1024);
        let mut answer = vec![0; MOST_ANSWER];
        while !self.stop.load(Ordering::Relaxed) {
            let n = self.begun.fetch_add(1, Ordering::Relaxed);
            let bytes = self.plan.requests.get(n, &mut request);
            let begun = self.plan.times.then(Instant::now);
            match stream.try_write(bytes) {
                Ok(written) if written == bytes.len() => {}
                Ok(written) => stream.write_all(&bytes[written..]).await?,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    stream.write_all(bytes).await?;
                }
                Err(error) => return Err(error.into()),
            }
            let closes = self.read(&mut stream, &mut answer).await?;
            tally.count(begun);
            if closes {
                // NGINX ends a connection after 1 000 requests.
                stream = connect(address).await?;
            }
        }
        Ok(())
    }

    /// Reads one whole answer and checks its status. Whether the connection ends with it.
    async fn read(&self, stream: &mut TcpStream, answer: &mut [u8]) -> anyhow::Result<bool> {
        let mut read = 0;
        loop {
            stream.readable().await?;
            match stream.try_read(&mut answer[read..]) {
                Ok(0) => bail!("the connection was closed after {read} bytes of an answer"),
                Ok(more) => read += more,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error.into()),
            }
            let text = || String::from_utf8_lossy(&answer[..read]).into_owned();
            if let Some(head) = Head::parse(&answer[..read]).with_context(text)? {
                let (status, expect) = (head.status, self.plan.expect);
                ensure!(is_right(status, expect), "{status} instead of {expect}: {}", text());
                let whole = head.whole.with_context(|| format!("of unknown length: {}", text()))?;
                ensure!(read <= whole, "more than one answer: {}", text());
                if read == whole {
                    return Ok(head.closes);
                }
            }
            ensure!(read < answer.len(), "an answer without end");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_right;

    #[test]
    fn a_join_that_was_sent_twice_may_find_its_own_place_and_nothing_else_passes() {
        assert!(is_right(200, 200) && is_right(201, 201) && is_right(200, 201));
        assert!(!is_right(201, 200) && !is_right(503, 201) && !is_right(200, 401));
    }
}
