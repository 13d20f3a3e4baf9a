//! What visitors see, who come through the gate all the time: read from the log of their job.

use std::{
    collections::BTreeMap,
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    task::JoinHandle,
};

use crate::{
    kubectl::Kubectl,
    progress::{Look, until},
    seen::{Delivery, Seen},
};

/// An image may have to be pulled first.
const HEARD_WITHIN: Duration = Duration::from_secs(180);
/// So long after a step it is looked at what visitors saw of it …
pub const SETTLED: Duration = Duration::from_secs(20);
/// … except for turns that were given in the last part of that: not all have learnt of them.
const LEARNT: Duration = Duration::from_secs(10);

/// All requests.
#[derive(Clone, Debug, Default, Deserialize)]
struct Connections {
    kept: Delivery,
    new: Delivery,
}

/// What the harness says each second (`rehearse --follow`).
#[derive(Clone, Debug, Deserialize)]
struct Second {
    at_ms: u64,
    depth: Option<u64>,
    connections: Connections,
    promoted_ms: Vec<u64>,
}

/// What it says at the end.
#[derive(Clone, Debug, Deserialize)]
pub struct Verdict {
    /// Why it was over.
    pub over: String,
    /// Visitors that came.
    pub came: u64,
    /// Visits that were refused for good.
    pub refused: u64,
    /// What the witness found.
    pub promises: Promises,
}

/// What the witness found.
#[derive(Clone, Debug, Deserialize)]
pub struct Promises {
    /// By number; null where it could not be judged.
    pub held: BTreeMap<u8, Option<bool>>,
    /// What broke one.
    pub violations: Vec<String>,
    /// Requests in the record.
    pub lines: usize,
}

#[derive(Default)]
struct Log {
    seconds: Vec<Second>,
    verdict: Option<Verdict>,
    /// What the harness wrote besides.
    words: Vec<String>,
}

/// The log of a job of the load harness.
pub struct Visitors {
    name: &'static str,
    log: Arc<Mutex<Log>>,
    reading: JoinHandle<()>,
}

/// A moment of the log.
#[derive(Clone, Copy)]
pub struct Mark(usize);

impl Visitors {
    /// Reads the log of the job from its start.
    pub fn follow(kubectl: &Kubectl, name: &'static str) -> Self {
        let log = Arc::new(Mutex::new(Log::default()));
        let reading = tokio::spawn(read(kubectl.clone(), name, Arc::clone(&log)));
        Self { name, log, reading }
    }

    /// Now: the next line that comes.
    pub async fn mark(&self) -> anyhow::Result<Mark> {
        let known = self.log().seconds.len();
        let (mark, _) = until("word of the visitors", HEARD_WITHIN, async || {
            let log = self.log();
            if let Some(verdict) = &log.verdict {
                bail!("the {} are over: {}", self.name, verdict.report());
            }
            let last = log.words.last().cloned().unwrap_or_default();
            let more = log.seconds.len() > known;
            Ok(if more { Look::Done(Mark(known)) } else { Look::NotYet(last) })
        })
        .await?;
        Ok(mark)
    }

    /// How many stand in line.
    pub fn depth(&self) -> u64 {
        self.log().seconds.last().and_then(|second| second.depth).unwrap_or(0)
    }

    /// What was seen between two marks, of which the second is [`SETTLED`] after all was done.
    pub fn seen(&self, from: Mark, to: Mark) -> Seen {
        let log = self.log();
        let (first, last) = (&log.seconds[from.0], &log.seconds[to.0]);
        let seconds = &log.seconds[from.0..=to.0];
        let lost = |second: &Second| second.connections.kept.lost() + second.connections.new.lost();
        let mut losing = seconds.windows(2).filter(|pair| lost(&pair[1]) > lost(&pair[0]));
        let losing_ms = losing
            .next()
            .map_or(0, |pair| losing.next_back().unwrap_or(pair)[1].at_ms - pair[0].at_ms);
        let learnt = u64::try_from(LEARNT.as_millis()).unwrap_or(0);
        let gap_ms = longest_gap(
            log.seconds.iter().flat_map(|second| second.promoted_ms.iter().copied()),
            first.at_ms,
            last.at_ms.saturating_sub(learnt),
        );
        Seen {
            kept: last.connections.kept.since(&first.connections.kept),
            new: last.connections.new.since(&first.connections.new),
            gap_seconds: Some(seconds_of(gap_ms)),
            losing_seconds: seconds_of(losing_ms),
        }
    }

    /// The verdict, if it is known before it is waited for.
    pub fn early_verdict(&self) -> Option<Verdict> {
        self.log().verdict.clone()
    }

    /// Waits for the end of the job.
    pub async fn verdict(&self, within: Duration) -> anyhow::Result<Verdict> {
        let (verdict, _) = until(self.name, within, async || {
            let log = self.log();
            let last = log.words.last().cloned().unwrap_or_default();
            Ok(log.verdict.clone().map_or(Look::NotYet(last), Look::Done))
        })
        .await?;
        Ok(verdict)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Visitors {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl Verdict {
    /// For a person to read.
    pub fn report(&self) -> String {
        let Self { over, came, refused, promises } = self;
        let broken = promises.violations.join("; ");
        let says = promises.held.iter().map(|(promise, held)| match held {
            Some(true) => format!("{promise} held"),
            Some(false) => format!("{promise} BROKEN"),
            None => format!("{promise} not judged"),
        });
        let says = says.collect::<Vec<_>>().join(", ");
        let text = format!(
            "promises {says}; {came} visitors, {refused} refused for good, {} requests in the \
             record, {over}",
            promises.lines
        );
        if broken.is_empty() { text } else { format!("{text}: {broken}") }
    }

    /// Whether these promises were judged, and held, and no visitor was refused.
    pub fn holds(&self, promises: impl IntoIterator<Item = u8>) -> bool {
        let held = |promise| self.promises.held.get(&promise) == Some(&Some(true));
        self.refused == 0 && self.promises.violations.is_empty() && promises.into_iter().all(held)
    }
}

/// Follows the log until the verdict of the job. If the connection breaks, it reads the log from
/// the start.
async fn read(kubectl: Kubectl, name: &'static str, log: Arc<Mutex<Log>>) {
    loop {
        // What cannot be read now is tried again.
        let _ = read_once(&kubectl, name, &log).await;
        if log.lock().unwrap_or_else(PoisonError::into_inner).verdict.is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn read_once(kubectl: &Kubectl, name: &str, log: &Mutex<Log>) -> anyhow::Result<()> {
    let mut command = kubectl.command(&["logs", "--follow", &format!("job/{name}")]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("its output")?).lines();
    let mut read = 0;
    while let Some(line) = lines.next_line().await? {
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(second) = serde_json::from_str::<Second>(&line) {
            // Read from the start once more, it says what is known.
            read += 1;
            if read > log.seconds.len() {
                log.seconds.push(second);
            }
        } else if let Ok(verdict) = serde_json::from_str(&line) {
            log.verdict = Some(verdict);
        } else {
            log.words.push(line);
        }
    }
    Ok(())
}

/// The longest time without a promotion between two moments.
fn longest_gap(promoted_ms: impl Iterator<Item = u64>, from: u64, to: u64) -> u64 {
    let mut moments: Vec<_> = promoted_ms.filter(|at| (from..to).contains(at)).collect();
    moments.extend([from, to.max(from)]);
    moments.sort_unstable();
    moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
}

/// Times here are far below 2^53.
fn seconds_of(millis: u64) -> f64 {
    millis as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_is_found_whatever_the_order_in_which_turns_are_learnt() {
        let moments = [900, 100, 1_200, 5_000, 300, 9_000];
        assert_eq!(longest_gap(moments.into_iter(), 0, 1_300), 600);
        assert_eq!(longest_gap(moments.into_iter(), 0, 4_000), 2_800, "up to the end, too");
        assert_eq!(longest_gap([].into_iter(), 2_000, 1_000), 0);
    }
}
