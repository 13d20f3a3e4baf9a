//! A gateway: the real program with the files of its example. Only addresses and paths are put in,
//! and sizes made small enough for a test.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anteroom_testkit::{PATIENCE, Process, until_some};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::program::{Program, Run, Sign};

/// One change of an example: a text that it has exactly once, and what replaces it.
pub type Edit<'a> = (&'a str, String);

/// A running gateway. It ends with this guard.
pub struct Gateway {
    program: Program,
    port: u16,
    process: Process,
    directory: TempDir,
    sign: Sign,
}

impl Gateway {
    /// Copies the example, makes the edits, checks that the program has no complaint, and starts it
    /// on this port. `None` when another process has taken a port meanwhile.
    pub async fn start(program: Program, port: u16, edits: &[Edit<'_>]) -> Option<Self> {
        Self::of_example(program, port, edits, Sign::OF_EXAMPLE).await
    }

    /// The same, and it gives `sign` once it serves.
    pub async fn of_example(
        program: Program,
        port: u16,
        edits: &[Edit<'_>],
        sign: Sign,
    ) -> Option<Self> {
        let directory = folder();
        write_example(program, directory.path(), edits);
        Self::run(program, port, directory, sign).await
    }

    /// The same with files of its own, in place of the example's. It gives `sign` once it serves.
    pub async fn of_files(
        program: Program,
        port: u16,
        files: &[(&str, &str)],
        sign: Sign,
    ) -> Option<Self> {
        let directory = folder();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).expect("written");
        }
        Self::run(program, port, directory, sign).await
    }

    /// The same of an NGINX.
    pub async fn nginx(port: u16, conf: &str) -> Option<Self> {
        Self::of_files(Program::Nginx, port, &[("nginx.conf", conf)], Sign::OF_EXAMPLE).await
    }

    /// The same of an Envoy that refuses what the example refuses.
    pub async fn envoy(port: u16, yaml: &str) -> Option<Self> {
        Self::of_files(Program::Envoy, port, &[("envoy.yaml", yaml)], Sign::OF_EXAMPLE).await
    }

    async fn run(program: Program, port: u16, directory: TempDir, sign: Sign) -> Option<Self> {
        if program.checks() {
            let mut check = Process::start(program.command(directory.path(), port, Run::Check));
            let status = check.exit(PATIENCE).await;
            let log = check.stderr();
            if log.contains("ddress already in use") {
                return None;
            }
            let clean = status.success() && !program.complains(&log);
            assert!(clean, "the files of {program:?} are not clean:\n{log}");
        }
        let process = program.serve(port, directory.path(), sign).await?;
        if !program.checks() {
            let log = process.stdout();
            assert!(!program.complains(&log), "the files of {program:?} are not clean:\n{log}");
        }
        Some(Self { program, port, process, directory, sign })
    }

    /// Ends it, and starts it again on the same port.
    pub async fn restart(&mut self) {
        self.process.term();
        self.process.exit(PATIENCE).await;
        // A port without a listener may be lent to a connection that goes elsewhere.
        let start = async || self.program.serve(self.port, self.directory.path(), self.sign).await;
        self.process = until_some("the old port is free", PATIENCE, start).await;
    }

    /// Puts another port into its files, and makes it read them in its own way while it serves.
    pub async fn reload(&mut self, old: u16, new: u16) {
        let (old, new) = (old.to_string(), new.to_string());
        for name in self.program.files() {
            let file = self.directory.path().join(name);
            let text = fs::read_to_string(&file).expect("a file of the example");
            if text.contains(&old) {
                fs::write(file, text.replace(&old, &new)).expect("written");
            }
        }
        match self.program {
            Program::Nginx => self.process.signal(Signal::SIGHUP),
            Program::Caddy => self.process.signal(Signal::SIGUSR1),
            Program::Haproxy => self.process.signal(Signal::SIGUSR2),
            Program::Envoy | Program::EnvoyGrpc => {
                let next = self.program.command(self.directory.path(), self.port, Run::Succeed);
                let mut before = std::mem::replace(&mut self.process, Process::start(next));
                before.exit(PATIENCE).await;
            }
            // It watches them.
            Program::Traefik => {}
        }
    }

    /// The id of its process. NGINX and HAProxy have children that serve.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What the example of NGINX logs of each request.
    pub fn access_log(&self) -> String {
        fs::read_to_string(self.directory.path().join("access.log")).unwrap_or_default()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        match self.program {
            // The workers of a master end with it, but outlive one that is killed.
            Program::Nginx | Program::Haproxy => {
                self.process.term();
                let end = Instant::now() + PATIENCE;
                while self.process.try_exit().is_none() && Instant::now() < end {
                    thread::sleep(Duration::from_millis(2));
                }
            }
            // It leaves a file in the memory that it shares with its successor.
            Program::Envoy | Program::EnvoyGrpc => {
                let name = format!("/dev/shm/envoy_shared_memory_{}0", self.port);
                let _ = fs::remove_file(name);
            }
            Program::Caddy | Program::Traefik => {}
        }
    }
}

fn folder() -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    // Started as root, NGINX keeps its files as another user.
    let open = Permissions::from_mode(0o755);
    fs::set_permissions(directory.path(), open).expect("permissions");
    directory
}

/// The text of one of an example's files.
pub fn example(program: Program, name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let file = Path::new(folder).join(program.folder()).join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn write_example(program: Program, folder: &Path, edits: &[Edit<'_>]) {
    let mut texts: Vec<_> = program.files().iter().map(|name| example(program, name)).collect();
    for (old, new) in edits {
        let found: usize = texts.iter().map(|text| text.matches(*old).count()).sum();
        assert_eq!(found, 1, "{old:?} must be in the example exactly once");
        for text in &mut texts {
            *text = text.replace(old, new);
        }
    }
    for (name, text) in program.files().iter().zip(texts) {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("written");
    }
}
