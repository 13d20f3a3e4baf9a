//! A load that several machines share: each plays its part of the visitors at the same time.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::progress::Progress;
use crate::scenario::Scenario;

/// The file of a share, in the folder of its reports.
pub const FILE: &str = "share.json";
/// Of that file.
pub const SCHEMA_VERSION: u32 = 1;
/// The longest wait for a start.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3_600);

/// One part of several of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// From 0.
    pub index: u32,
    /// How many shares there are.
    pub count: u32,
}

impl Share {
    /// The only part.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Reads `INDEX/COUNT`, where INDEX begins at 0.
    fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let parts = parts.and_then(|(index, count)| index.parse().ok().zip(count.parse().ok()));
        let share = parts.map(|(index, count)| Self { index, count });
        share
            .filter(|share| share.index < share.count && share.count <= 1_000)
            .ok_or_else(|| "must be INDEX/COUNT, such as 0/4 to 3/4; at most 1000".to_owned())
    }

    /// How many of so many it plays.
    pub fn of(self, all: u32) -> u32 {
        all.saturating_sub(self.index).div_ceil(self.count)
    }

    /// The number among all of its visitor who has so many before, both from 0.
    pub fn number(self, before: u32) -> u32 {
        before.saturating_mul(self.count).saturating_add(self.index)
    }

    /// Whether it plays the visitor of this number.
    pub fn plays(self, number: u32) -> bool {
        number % self.count == self.index
    }

    /// Its part of a rate.
    pub fn rate(self, all: f64) -> f64 {
        all / f64::from(self.count)
    }
}

/// Reads a moment that is ahead.
fn start(text: &str) -> Result<Timestamp, String> {
    let at: Timestamp = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    let wait = at.duration_since(Timestamp::now());
    if wait.is_negative() {
        return Err(format!("was {} s ago: give a time in the future", -wait.as_secs()));
    }
    let is_near = wait.unsigned_abs() <= LONGEST_WAIT;
    is_near.then_some(at).ok_or_else(|| "must be within 24h".to_owned())
}

/// Which part this machine plays, and when.
#[derive(Args, Clone, Debug)]
pub struct Part {
    /// The part of the load that this machine plays, INDEX from 0: 0/4 to 3/4 on four machines.
    /// `merge` makes one report of their folders
    #[arg(long, value_name = "INDEX/COUNT", value_parser = Share::parse)]
    share: Option<Share>,
    /// When the load begins (RFC 3339), such as 2026-11-24T20:00:00Z; at most 24h ahead
    #[arg(long, value_name = "TIME", value_parser = start)]
    start_at: Option<Timestamp>,
}

impl Part {
    /// The part of the load.
    pub fn part(&self) -> Share {
        self.share.unwrap_or(Share::WHOLE)
    }

    /// Whether others play parts, too.
    pub fn is_shared(&self) -> bool {
        self.share.is_some()
    }

    /// Waits for the start.
    pub async fn wait(&self, cancelled: &CancellationToken) {
        let Some(at) = self.start_at else { return };
        let left = || at.duration_since(Timestamp::now());
        let all = u64::try_from(left().as_millis()).unwrap_or(0);
        let progress = Progress::new("waiting for the start", all);
        while left().is_positive() && !cancelled.is_cancelled() {
            let wait = left().unsigned_abs().min(Duration::from_secs(1));
            cancelled.run_until_cancelled(tokio::time::sleep(wait)).await;
            let ahead = u64::try_from(left().as_millis()).unwrap_or(0);
            progress.at(all.saturating_sub(ahead), || format!("{} s", ahead / 1_000));
        }
    }

    /// Writes down what this part has shown, for `merge`; nothing where no others play.
    pub fn write<R: Serialize>(
        &self,
        folder: &Path,
        started_at: Timestamp,
        scenario: &Scenario,
        result: &R,
    ) -> anyhow::Result<()> {
        let Some(share) = self.share else { return Ok(()) };
        let (file, text) = scenario.source.clone();
        let arguments = common(std::env::args().skip(1));
        let schema_version = SCHEMA_VERSION;
        let part = Played { schema_version, share, started_at, arguments, file, text, result };
        let path = folder.join(FILE);
        let text = serde_json::to_string(&part)?;
        std::fs::write(&path, text).with_context(|| path.display().to_string())
    }
}

/// What one machine has shown: `share.json`.
#[derive(Serialize, Deserialize)]
pub struct Played<R> {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Which part of the load.
    pub share: Share,
    /// By the clock of the machine.
    pub started_at: Timestamp,
    /// Of the command line, without those that differ between shares.
    pub arguments: Vec<String>,
    /// Of the scenario.
    pub file: String,
    /// Of the scenario.
    pub text: String,
    /// What was measured.
    pub result: R,
}

/// The arguments of a command, without those that differ between its shares.
fn common(arguments: impl Iterator<Item = String>) -> Vec<String> {
    const DIFFER: [&str; 4] = ["--share", "--start-at", "--output", "--scenario"];
    let mut value_follows = false;
    let is_common = |argument: &String| {
        let (name, has_value) =
            argument.split_once('=').map_or((argument.as_str(), false), |(name, _)| (name, true));
        let differs = DIFFER.contains(&name);
        !std::mem::replace(&mut value_follows, differs && !has_value) && !differs
    };
    arguments.filter(is_common).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_the_whole_without_overlap() {
        for all in [1, 7, 100] {
            let shares = (0..4).map(|index| Share { index, count: 4 });
            let mut numbers: Vec<_> = shares
                .flat_map(|share| (0..share.of(all)).map(move |before| share.number(before)))
                .collect();
            numbers.sort_unstable();
            assert!(numbers.iter().copied().eq(0..all), "{all}: {numbers:?}");
        }
        assert_eq!(Share::parse("3/4"), Ok(Share { index: 3, count: 4 }));
        assert!(Share { index: 3, count: 4 }.plays(7) && !Share { index: 3, count: 4 }.plays(8));
        for wrong in ["4/4", "1", "-1/4", "0/0", "0/1001", "a/b"] {
            assert!(Share::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn arguments_that_differ_between_shares_are_left_out() {
        let arguments = ["ramp", "--share", "0/4", "--users=5", "--output=a", "--whole-run"];
        let arguments = common(arguments.into_iter().map(str::to_owned));
        assert_eq!(arguments, ["ramp", "--users=5", "--whole-run"]);
    }
}
