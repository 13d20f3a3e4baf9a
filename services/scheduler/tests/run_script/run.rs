//! The script as a process, and everything that it starts.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anteroom_testkit::{PATIENCE, Process, binary, until};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tempfile::TempDir;

pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The folder with the binaries of this build.
fn binaries() -> PathBuf {
    let [folder, others @ ..] = ["admission", "scheduler", "issuer", "concert"].map(|name| {
        let file = binary(&format!("anteroom-{name}"));
        file.parent().expect("a binary lies in a folder").to_owned()
    });
    assert!(others.iter().all(|other| *other == folder), "{others:?}");
    folder
}

/// The script, or a command that ends in it, with a folder for temporary files of its own. Nothing
/// that it started outlives this guard.
pub struct Run {
    pub script: Process,
    temporary: TempDir,
}

impl Run {
    pub fn start(variables: &[(&str, &str)]) -> Self {
        Self::of(Command::new(format!("{ROOT}/scripts/run.sh")), variables)
    }

    /// Starts a command in a process group of its own, as a terminal does, and where Ctrl-C is
    /// heard: tests that run in the background inherit that it is not.
    pub fn of(typed: Command, variables: &[(&str, &str)]) -> Self {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let mut command = Command::new("env");
        command.arg("--default-signal=INT").arg(typed.get_program()).args(typed.get_args());
        command.current_dir(typed.get_current_dir().unwrap_or(Path::new(".")));
        command.env("ANTEROOM_BIN_DIR", binaries()).env("TMPDIR", temporary.path());
        command.process_group(0);
        for variable in [
            "ANTEROOM_ADMISSION__LISTEN",
            "ANTEROOM_ADMISSION__SERVICE_LISTEN",
            "ANTEROOM_ADMISSION__METRICS_LISTEN",
            "ANTEROOM_SCHEDULER__METRICS_LISTEN",
            "ANTEROOM_ISSUER__METRICS_LISTEN",
            "CONCERT_LISTEN",
        ] {
            command.env(variable, "127.0.0.1:0");
        }
        command.env_remove("ANTEROOM_STORE__URL").envs(variables.iter().copied());
        Self { script: Process::start(command), temporary }
    }

    pub async fn until_running(&mut self) {
        self.script.line("Anteroom is running", PATIENCE).await;
        self.script.line("/authorize", PATIENCE).await;
    }

    /// Everything that it started: all of it has the folder in its environment, and Redis, which
    /// writes its title over that, has it there.
    pub fn processes(&self) -> Vec<(Pid, String)> {
        let folder = self.temporary.path().display().to_string();
        let holds = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(&folder);
        fs::read_dir("/proc")
            .expect("Linux")
            .filter_map(|entry| {
                let process = entry.ok()?.path();
                let id = process.file_name()?.to_str()?.parse().ok()?;
                let line = fs::read(process.join("cmdline")).ok()?;
                let environment = fs::read(process.join("environ")).unwrap_or_default();
                let line_text = String::from_utf8_lossy(&line).replace('\0', " ");
                (holds(&line) || holds(&environment)).then(|| (Pid::from_raw(id), line_text))
            })
            .collect()
    }

    pub fn count(&self, program: &str) -> usize {
        self.processes().iter().filter(|(_, line)| line.contains(program)).count()
    }

    /// What Ctrl-C does: it reaches the whole group.
    pub fn interrupt(&self) {
        let group = i32::try_from(self.script.id()).expect("an id");
        killpg(Pid::from_raw(group), Signal::SIGINT).expect("it runs");
    }

    /// Where a port listens, by what the script says of it.
    pub fn address(&self, name: &str) -> String {
        let output = self.script.stdout();
        let line = output.lines().find(|line| line.trim_start().starts_with(name));
        let (_, rest) = line.and_then(|line| line.split_once("http://")).expect("an address");
        rest.split(['/', ',', ' ']).next().expect("an end").to_owned()
    }

    /// Where the metrics of a service are.
    pub fn metrics_address(&self, service: &str) -> String {
        let output = self.script.stdout();
        let mark = format!("/metrics ({service})");
        let (before, _) = output.split_once(&mark).expect("a metrics port");
        before.rsplit("http://").next().expect("an address").to_owned()
    }

    /// The search path of a user who has built the programs.
    pub fn path(&self) -> String {
        let path = std::env::var("PATH").expect("a path");
        format!("{}:{path}", binaries().display())
    }

    /// Waits for its end and looks what is left.
    pub async fn ends_with(mut self, code: i32) -> String {
        let status = self.script.exit(PATIENCE).await;
        let output = format!("{}\n{}", self.script.stdout(), self.script.stderr());
        assert_eq!(status.code(), Some(code), "{output}");
        until("no process is left", PATIENCE, async || self.processes().is_empty()).await;
        let left: Vec<_> = fs::read_dir(self.temporary.path()).expect("still there").collect();
        assert!(left.is_empty(), "{left:?}");
        self.script.stderr()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.script.kill();
        for (id, _) in self.processes() {
            // An error says that it has ended already.
            let _ = kill(id, Signal::SIGKILL);
        }
    }
}
