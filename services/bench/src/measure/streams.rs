//! Event streams held on one admission: all alive after half a minute, and what each takes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, ensure};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use crate::{
    answer::Head,
    cpu,
    progress::say,
    report::{Bound, Row, Section},
    request::with_token,
    sections::Sections,
    settings::Settings,
    world::{World, line},
};

/// The name for `--only`.
pub const NAME: &str = "streams";
/// The default of `sse_max`.
const STREAMS: u64 = 8_000;
/// Twice the longest time between two events of a stream, and a little.
const HELD: Duration = Duration::from_secs(32);
/// For files that are open anyhow, and for connections that are turned away.
const SPARE_FILES: u64 = 768;
/// Admission has two ports, and streams take half of the connections of one.
const FILES_A_STREAM: u64 = 4;
const KIBIBYTE: f64 = 1024.0;

/// Opens the streams, holds them, counts those that are alive.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let wanted = settings.scaled(STREAMS);
    let files = most_open_files().unwrap_or(1_024);
    let streams = wanted.min(files.saturating_sub(SPARE_FILES) / FILES_A_STREAM);
    if streams < wanted {
        sections.note(format!("{wanted} streams: only {files} files may be open (ulimit -n)"));
    }
    let held = if settings.quick { Duration::from_millis(500) } else { HELD };
    let world = World::start(&[line("line")]).await?;
    let places = world.fill("line", streams).await?;
    let tokens = world.tokens("line", &places, streams);

    let id = world.anteroom.admission.process.id();
    let address = world.anteroom.admission.address("public");
    let before = cpu::resident_bytes(id)? as f64;
    say(&format!("opening {streams} streams"));
    let events: Arc<Vec<AtomicU64>> = Arc::new(tokens.iter().map(|_| AtomicU64::new(0)).collect());
    let open = async |token: String| -> anyhow::Result<TcpStream> {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(&with_token("/v1/queues/line/token/events", &token)).await?;
        Ok(stream)
    };
    let opened: Vec<_> = stream::iter(tokens).map(open).buffered(64).try_collect().await?;
    let mut readers = JoinSet::new();
    for (n, stream) in opened.into_iter().enumerate() {
        readers.spawn(read(stream, n, events.clone()));
    }
    let (cpu_before, mut waited) = (cpu::of_process(id)?, Duration::ZERO);
    while waited < held {
        let step = Duration::from_secs(1).min(held - waited);
        tokio::time::sleep(step).await;
        waited += step;
        if let Some(ended) = readers.try_join_next() {
            ended.context("a reader of a stream panicked")??;
        }
    }
    let cpu = (cpu::of_process(id)? - cpu_before) as f64 / 1e6 / held.as_secs_f64();
    let resident = cpu::resident_bytes(id)? as f64;
    let least = if settings.quick { 1 } else { 2 };
    let counts: Vec<_> = events.iter().map(|it| it.load(Ordering::Relaxed)).collect();
    let alive = counts.iter().filter(|it| **it >= least).count();
    ensure!(readers.len() as u64 == streams, "{} of {streams} streams are left", readers.len());
    let all: u64 = counts.iter().sum();
    let all_alive = Bound::AtLeast(streams as f64);
    sections.put(Section {
        name: NAME,
        title: "Event streams on one admission".to_owned(),
        how: format!(
            "Each stream is a place of its own in line. Alive: open after {held:?}, and heard at least \
             {least} times. Memory: resident memory of admission with all streams less before, by \
             their number; its sockets' buffers are the kernel's and not in it."
        ),
        rows: vec![
            Row::new(format!("{streams} streams"))
                .within("alive", alive as f64, Some(all_alive))
                .figure("KiB a stream", (resident - before) / streams as f64 / KIBIBYTE)
                .figure("events/s", all as f64 / held.as_secs_f64())
                .figure("CPU ms a second", cpu)
                .figure("µs an event", cpu * 1e3 * held.as_secs_f64() / all as f64),
        ],
    });
    Ok(())
}

/// Counts the events of one stream, and fails when it ends.
async fn read(mut stream: TcpStream, n: usize, events: Arc<Vec<AtomicU64>>) -> anyhow::Result<()> {
    let mut buffer = [0; 2_048];
    let mut text = Vec::new();
    loop {
        let read = stream.read(&mut buffer).await?;
        ensure!(read > 0, "stream {n} ended after {:?}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&buffer[..read]);
        if let Some(head) = Head::parse(&text)? {
            ensure!(head.status == 200, "{}", String::from_utf8_lossy(&text));
            let count = text.windows(7).filter(|window| window == b"event: ").count() as u64;
            events[n].store(count, Ordering::Relaxed);
        }
    }
}

/// The soft limit of this process, which its children inherit.
fn most_open_files() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}
