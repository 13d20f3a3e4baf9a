//! `make run` as a newcomer meets it: it starts, the lines that it prints work when pasted, and
//! however it ends, nothing is left behind.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anteroom_testkit::{PATIENCE, Process, Redis, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The folder with both binaries of this build. Cargo makes admission for a test of the whole
/// workspace. For a test of this package alone it may be missing or old; then it is made here.
fn binaries() -> PathBuf {
    let scheduler = Path::new(env!("CARGO_BIN_EXE_anteroom-scheduler"));
    let folder = scheduler.parent().expect("a binary lies in a folder");
    let sources = ["lua", "services/core/src", "services/runtime/src", "services/admission/src"];
    let newest = sources.iter().map(|folder| changed_at(&Path::new(ROOT).join(folder))).max();
    if Some(changed_at(&folder.join("anteroom-admission"))) < newest {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "--package", "anteroom-admission"])
            .current_dir(ROOT)
            .status();
        assert!(status.expect("cargo runs").success(), "admission is built");
    }
    folder.to_owned()
}

/// When a file, or the newest file in a folder, was last changed; long ago when there is none.
fn changed_at(path: &Path) -> SystemTime {
    if let Ok(entries) = fs::read_dir(path) {
        let files = entries.filter_map(|entry| Some(changed_at(&entry.ok()?.path())));
        return files.max().unwrap_or(SystemTime::UNIX_EPOCH);
    }
    let changed = fs::metadata(path).and_then(|metadata| metadata.modified());
    changed.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The script, with a folder for temporary files of its own.
struct Run {
    script: Process,
    temporary: TempDir,
}

impl Run {
    fn start(variables: &[(&str, &str)]) -> Self {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let mut command = Command::new(format!("{ROOT}/scripts/run.sh"));
        command.env("ANTEROOM_BIN_DIR", binaries()).env("TMPDIR", temporary.path());
        for variable in [
            "ANTEROOM_ADMISSION__LISTEN",
            "ANTEROOM_ADMISSION__SERVICE_LISTEN",
            "ANTEROOM_ADMISSION__METRICS_LISTEN",
            "ANTEROOM_SCHEDULER__METRICS_LISTEN",
        ] {
            command.env(variable, "127.0.0.1:0");
        }
        command.env_remove("ANTEROOM_STORE__URL").envs(variables.iter().copied());
        Self { script: Process::start(command), temporary }
    }

    async fn until_running(&mut self) {
        self.script.line("Anteroom is running", PATIENCE).await;
        self.script.line("/authorize", PATIENCE).await;
    }

    /// Everything that it started: all of it has the folder in its environment, and Redis, which
    /// writes its title over that, has it there.
    fn processes(&self) -> Vec<(Pid, String)> {
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

    fn count(&self, program: &str) -> usize {
        self.processes().iter().filter(|(_, line)| line.contains(program)).count()
    }

    /// Waits for its end and looks what is left.
    async fn ends_with(mut self, code: i32) -> String {
        let status = self.script.exit(PATIENCE).await;
        let said = format!("{}\n{}", self.script.stdout(), self.script.stderr());
        assert_eq!(status.code(), Some(code), "{said}");
        until("no process is left", PATIENCE, async || self.processes().is_empty()).await;
        let left: Vec<_> = fs::read_dir(self.temporary.path()).expect("still there").collect();
        assert!(left.is_empty(), "{left:?}");
        self.script.stderr()
    }
}

#[tokio::test]
async fn the_printed_lines_work_and_ctrl_c_leaves_nothing() {
    let mut run = Run::start(&[]);
    run.until_running().await;
    assert_eq!((run.count("anteroom-admission"), run.count("anteroom-scheduler")), (1, 1));
    assert_eq!(run.count("redis.sock"), 1, "a server of its own, on a socket");
    let said = run.script.stdout();
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("TOKEN=") || line.starts_with("curl "))
        .collect();
    assert_eq!(lines.len(), 3, "{said}");
    let output = Command::new("bash").args(["-c", &lines.join("\n")]).output().expect("bash");
    let answers = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(answers.starts_with("art1."), "{answers}");
    assert!(answers.contains("\"status\":\"ready\""), "nobody waits: {answers}");
    assert!(answers.contains("HTTP/1.1 200 OK\r\nx-anteroom-visitor: 1\r\n"), "{answers}");
    run.script.signal(Signal::SIGINT);
    run.ends_with(0).await;
}

#[tokio::test]
async fn it_uses_the_store_that_is_named_and_sigterm_leaves_nothing() {
    let redis = Redis::start().await;
    let mut run = Run::start(&[("ANTEROOM_STORE__URL", &redis.url())]);
    run.until_running().await;
    assert_eq!(run.count("redis.sock"), 0);
    assert!(redis.run::<u64>(&["DBSIZE"]).await > 0, "the rules are there");
    run.script.term();
    run.ends_with(0).await;
}

#[tokio::test]
async fn a_service_that_dies_ends_everything_with_its_last_words() {
    let mut run = Run::start(&[]);
    run.until_running().await;
    let processes = run.processes();
    let scheduler = processes.iter().find(|(_, line)| line.contains("anteroom-scheduler"));
    kill(scheduler.expect("it runs").0, Signal::SIGKILL).expect("killed");
    let said = run.ends_with(1).await;
    assert!(said.contains("scheduler ended by itself, with code 137"), "{said}");
    assert!(said.contains("\"message\":\"listening\""), "its last lines: {said}");
}

#[tokio::test]
async fn a_taken_port_is_named_before_anything_starts() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let run = Run::start(&[("ANTEROOM_ADMISSION__SERVICE_LISTEN", &address)]);
    let said = run.ends_with(1).await;
    assert!(said.contains(&format!("{address} is taken by another program")), "{said}");
    assert!(said.contains("ANTEROOM_ADMISSION__SERVICE_LISTEN"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[tokio::test]
async fn a_configuration_that_is_refused_is_told() {
    let run = Run::start(&[("ANTEROOM_QUEUES__CONCERT__CAPACITY", "0")]);
    let said = run.ends_with(1).await;
    assert!(said.contains("queues.concert.capacity"), "{said}");
    assert!(said.contains("with code 64"), "{said}");
}
