//! Visitors of one request each, tried again after some statuses; everyone has a connection of
//! their own.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};
use url::Url;

use super::measure::{Arrivals, Measure, Measured, growth};

/// What a visitor does.
#[derive(Clone, Debug)]
pub struct Visits {
    /// The address that is asked for.
    pub target: Url,
    /// Statuses after which the request is tried again at once.
    pub retry_on: Vec<u16>,
    /// How often at most.
    pub retry_max: u32,
    /// Of a visit.
    pub timeout: Duration,
}

/// What is written down while they run.
#[derive(Default)]
struct Record {
    measured: Measured,
    /// When each visitor should have come, and how long the visit took, in seconds.
    arrivals: Vec<(f64, f64)>,
    stays: Duration,
    late: Vec<Duration>,
}

impl Measure for Visits {
    async fn at(
        &self,
        visitors_per_second: f64,
        arrivals: Arrivals,
        length: Duration,
    ) -> anyhow::Result<Measured> {
        // One whom nobody answers shows a wrong address before the load does.
        self.connect().await?;
        let record = Arc::new(Mutex::new(Record::default()));
        let (start, mut visits) = (Instant::now(), JoinSet::new());
        for n in 0.. {
            let due = arrivals.due(n, visitors_per_second);
            if due >= length {
                break;
            }
            sleep_until(start + due).await;
            let (visitor, record) = (self.clone(), Arc::clone(&record));
            visits.spawn(async move {
                visitor.visit(start, due, &record).await;
            });
            while visits.try_join_next().is_some() {}
        }
        visits.join_all().await;
        let record = std::mem::take(&mut *record.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(record.end())
    }
}

impl Arrivals {
    /// When the n-th visitor comes.
    fn due(self, n: u32, visitors_per_second: f64) -> Duration {
        let even = Duration::from_secs_f64(f64::from(n) / visitors_per_second);
        match self {
            Self::Even => even,
            Self::Batches(interval) => {
                interval.mul_f64((even.as_secs_f64() / interval.as_secs_f64()).floor())
            }
        }
    }
}

impl Visits {
    async fn connect(&self) -> anyhow::Result<http1::SendRequest<Empty<Bytes>>> {
        let host = self.target.host_str().context("an address names a host")?;
        let port = self.target.port_or_known_default().unwrap_or(80);
        let at = || format!("{}: nobody answers", self.target);
        let stream = TcpStream::connect((host, port)).await.with_context(at)?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(async move {
            // What breaks it is told by the request.
            let _ = connection.await;
        });
        Ok(sender)
    }

    async fn visit(&self, start: Instant, due: Duration, record: &Mutex<Record>) {
        let came = start + due;
        let late = came.elapsed();
        let end = came + self.timeout;
        let write = |of: &dyn Fn(&mut Record)| {
            of(&mut record.lock().unwrap_or_else(PoisonError::into_inner));
        };
        write(&|record| record.late.push(late));
        let mut from = came;
        let mut sender = None;
        for attempt in 0..=self.retry_max {
            let status = in_time(end, self.ask(&mut sender)).await;
            let took = from.elapsed();
            let retried = status.is_some_and(|it| self.retry_on.contains(&it.as_u16()));
            let fails = !retried && !status.is_some_and(|it| it.is_success());
            let gives_up = retried && attempt == self.retry_max;
            write(&|record| {
                let measured = &mut record.measured;
                measured.requests += 1;
                measured.again += u64::from(attempt > 0);
                measured.failed += u64::from(fails || gives_up);
                if let Some(status) = status {
                    *measured.statuses.entry(status.as_u16()).or_default() += 1;
                }
                // It grows to any value.
                let _ = measured.latency.record(u64::try_from(took.as_micros()).unwrap_or(0));
            });
            if !retried {
                write(&|record| {
                    let stay = came.elapsed();
                    record.arrivals.push((due.as_secs_f64(), stay.as_secs_f64()));
                    record.measured.visits += u64::from(!fails);
                    record.stays += if fails { Duration::ZERO } else { stay };
                });
                return;
            }
            from = Instant::now();
        }
    }

    async fn ask(
        &self,
        sender: &mut Option<http1::SendRequest<Empty<Bytes>>>,
    ) -> anyhow::Result<StatusCode> {
        let sender = match sender {
            Some(sender) => sender,
            none => none.insert(self.connect().await?),
        };
        let host = self.target.authority();
        let path = &self.target[url::Position::BeforePath..url::Position::AfterQuery];
        let request = Request::get(path).header("host", host).body(Empty::new())?;
        sender.ready().await?;
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        answer.into_body().collect().await?;
        Ok(status)
    }
}

async fn in_time<T>(end: Instant, asked: impl Future<Output = anyhow::Result<T>>) -> Option<T> {
    timeout_at(end, asked).await.ok()?.ok()
}

impl Record {
    fn end(mut self) -> Measured {
        self.late.sort();
        let at = self.late.len() * 95 / 100;
        self.measured.driver_late = self.late.get(at).copied().unwrap_or_default();
        self.measured.arrived = self.late.len() as u64;
        let visits = u32::try_from(self.measured.visits.max(1)).unwrap_or(u32::MAX);
        self.measured.stay = self.stays / visits;
        self.measured.growth = growth(self.arrivals);
        self.measured
    }
}
