//! BullMQ, the job queue on Redis of most Node services: installed for the benchmark alone.

use std::{path::PathBuf, process::Command, time::Duration};

use anteroom_testkit::{PATIENCE, Process, Redis};
use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::Drained;
use crate::{cpu, progress::say};

/// Of exact versions.
const FILES: [(&str, &str); 2] = [
    ("package.json", include_str!("../../../bullmq/package.json")),
    ("drain.mjs", include_str!("../../../bullmq/drain.mjs")),
];
const INSTALL: [&str; 5] =
    ["install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"];
const INSTALLS_WITHIN: Duration = Duration::from_secs(300);
/// Jobs that a worker has under way at once.
pub const CONCURRENCY: u64 = 50;
/// A share of the jobs goes before the measured ones.
const WARM_UP: u64 = 5;

/// An installed BullMQ.
pub struct Bullmq {
    folder: PathBuf,
}

#[derive(Deserialize)]
struct Report {
    seconds: f64,
    cpu_us: f64,
}

impl Bullmq {
    /// Installs it into this folder.
    pub async fn install(folder: PathBuf) -> anyhow::Result<Self> {
        for program in ["node", "npm"] {
            let version = Command::new(program).arg("--version").output();
            let is_there = version.is_ok_and(|version| version.status.success());
            ensure!(is_there, "no {program} on the PATH (apt-get install nodejs npm)");
        }
        std::fs::create_dir_all(&folder)?;
        for (name, text) in FILES {
            std::fs::write(folder.join(name), text)?;
        }
        say("installing BullMQ");
        let mut npm = Command::new("npm");
        npm.args(INSTALL).current_dir(&folder);
        let mut npm = Process::start(npm);
        let status = npm.exit(INSTALLS_WITHIN).await;
        ensure!(status.success(), "npm cannot install it: {}", npm.stderr());
        Ok(Self { folder })
    }

    /// Works off so many jobs in this Redis.
    pub async fn drain(&self, redis: &Redis, jobs: u64) -> anyhow::Result<Drained> {
        let mut node = Command::new("node");
        let numbers = [u64::from(redis.port()), jobs, jobs.div_ceil(WARM_UP), CONCURRENCY];
        node.arg("drain.mjs").args(numbers.map(|it| it.to_string())).current_dir(&self.folder);
        let mut node = Process::start(node);
        let store = redis.id().context("the store runs")?;
        node.line("filled", PATIENCE).await;
        let before = cpu::of_process(store)?;
        let line = node.line("drained ", PATIENCE).await;
        let store_us = (cpu::of_process(store)? - before) as f64 / 1e3;
        let report: Report = serde_json::from_str(line.trim_start_matches("drained "))?;
        ensure!(node.exit(PATIENCE).await.success(), "BullMQ: {}", node.stderr());
        let jobs = jobs as f64;
        Ok(Drained {
            rate: (jobs - 1.0) / report.seconds,
            worker_us: report.cpu_us / jobs,
            store_us: store_us / jobs,
        })
    }
}
