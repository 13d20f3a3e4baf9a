//! The load generator: keep-alive connections that each send a request, read the whole answer and
//! send the next, without a pause. It is lean, because it shares the cores with what it measures;
//! what it costs is reported. An answer that is not the expected one ends the run with its text.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
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
    /// How many connections.
    pub connections: usize,
    /// How many threads drive them.
    pub threads: usize,
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
    thread: AtomicU64,
    cpu_at_end: AtomicU64,
}

impl Load {
    /// Connects and begins.
    pub fn start(plan: Plan) -> Self {
        let workers = (0..plan.threads.max(1)).map(|_| Worker::default()).collect();
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
        match self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
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

impl Shared {
    /// One thread: its share of the connections, until the end.
    fn work(&self, worker: usize) {
        let tally = &self.workers[worker];
        tally.thread.store(cpu::own_thread(), Ordering::Relaxed);
        let share = (worker..self.plan.connections).step_by(self.workers.len());
        let run = async {
            let connections = share.map(|number| self.connection(number, tally));
            tokio::select! {
                all = futures_util::future::try_join_all(connections) => all.map(drop),
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
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
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
        let mut stream = TcpStream::connect(address).await.context("the load cannot connect")?;
        stream.set_nodelay(true)?;
        let mut request = Vec::with_capacity(1024);
        let mut answer = vec![0; MOST_ANSWER];
        while !self.stop.load(Ordering::Relaxed) {
            let n = self.begun.fetch_add(1, Ordering::Relaxed);
            let bytes = self.plan.requests.get(n, &mut request);
            match stream.try_write(bytes) {
                Ok(written) if written == bytes.len() => {}
                Ok(written) => stream.write_all(&bytes[written..]).await?,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    stream.write_all(bytes).await?;
                }
                Err(error) => return Err(error.into()),
            }
            self.read(&mut stream, &mut answer).await?;
            tally.answered.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Reads one whole answer and checks its status.
    async fn read(&self, stream: &mut TcpStream, answer: &mut [u8]) -> anyhow::Result<()> {
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
                    return Ok(());
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
