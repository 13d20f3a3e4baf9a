//! Where a run took place.

use std::{fmt, process::Command};

use serde::Serialize;

/// The machine and the programs.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// How many cores there are.
    pub cores: usize,
    /// The kernel's release.
    pub kernel: String,
    /// The store.
    pub store: String,
    /// The compiler.
    pub compiler: String,
    /// When, in UTC.
    pub date: String,
}

impl Machine {
    /// This one, with so many cores; `store` is the server's own name and version.
    pub fn this(cores: usize, store: String) -> Self {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = cpuinfo
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
            .map_or("unknown", |(_, name)| name);
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let compiler = Command::new("rustc").arg("--version").output();
        let compiler = compiler.map_or(Vec::new(), |output| output.stdout);
        Self {
            cpu: cpu.to_owned(),
            cores,
            kernel: format!("Linux {}", kernel.trim()),
            store,
            compiler: String::from_utf8_lossy(&compiler).trim().to_owned(),
            date: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, {} cores, {}", self.cpu, self.cores, self.kernel)?;
        writeln!(f, "{}, {}, {}", self.store, self.compiler, self.date)
    }
}
