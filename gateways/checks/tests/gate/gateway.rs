//! A gateway: the real program with the files of its example. Only addresses and paths are put in,
//! and sizes made small enough for a test.

use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anteroom_testkit::{PATIENCE, Process, client, until_some};
use tempfile::TempDir;

/// One change of an example: a text that it has exactly once, and what replaces it.
pub type Edit<'a> = (&'a str, String);

/// A program that an example is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Program {
    #[default]
    Nginx,
    Caddy,
    Haproxy,
    Envoy,
    Traefik,
}

impl Program {
    /// Its folder in `gateways/`.
    fn folder(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Caddy => "caddy",
            Self::Haproxy => "haproxy",
            Self::Envoy => "envoy",
            Self::Traefik => "traefik",
        }
    }

    /// The files that a user copies.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Nginx => &[
                "nginx.conf",
                "anteroom-http.conf",
                "anteroom-server.conf",
                "anteroom-protect.conf",
                "anteroom-service.conf",
            ],
            Self::Caddy => &["Caddyfile", "anteroom.caddy"],
            Self::Haproxy => &["haproxy.cfg", "anteroom.lua"],
            Self::Envoy => &["envoy.yaml", "anteroom.lua"],
            Self::Traefik => &[
                "traefik.yaml",
                "dynamic.yaml",
                "plugins-local/src/anteroom/.traefik.yml",
                "plugins-local/src/anteroom/anteroom.go",
            ],
        }
    }

    /// Where it is: named by a variable, as `make test` does for those that no distribution has, or
    /// on the PATH, `/usr/sbin` included.
    fn executable(self) -> Option<PathBuf> {
        let variable = format!("ANTEROOM_{}_BIN", self.folder().to_uppercase());
        if let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
            return Some(path.into());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path);
        let mut folders = folders.chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
        folders.find_map(|folder| Some(folder.join(self.folder())).filter(|file| file.is_file()))
    }

    /// Whether it is here. If not, a test of it is passed over with a line that says so; NGINX is
    /// always needed.
    pub fn is_installed(self) -> bool {
        let is_installed = self.executable().is_some();
        assert!(
            is_installed || self != Self::Nginx,
            "no nginx on the PATH: install it (apt-get install nginx-light) or name it in \
             ANTEROOM_NGINX_BIN"
        );
        if !is_installed {
            eprintln!("skipped: {} is not installed", self.folder());
        }
        is_installed
    }

    /// Whether it can check its files without running them.
    fn checks(self) -> bool {
        self != Self::Traefik
    }

    /// Runs the files of a folder, or only checks them.
    fn command(self, folder: &Path, only_checks: bool) -> Command {
        let mut command = Command::new(self.executable().expect("it is installed"));
        command.current_dir(folder);
        match self {
            Self::Nginx => {
                command.arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf"));
                // One process, so that nothing outlives the guard.
                command.args(["-e", "stderr", "-g", "daemon off; master_process off;"]);
                command.args(only_checks.then_some("-t"));
            }
            Self::Caddy => {
                command.arg(if only_checks { "validate" } else { "run" });
                command.args(["--config", "Caddyfile", "--adapter", "caddyfile"]);
                // Where it would keep certificates.
                command.env("HOME", folder);
            }
            Self::Haproxy => {
                command.arg(if only_checks { "-c" } else { "-db" }).args(["-f", "haproxy.cfg"]);
            }
            Self::Envoy => {
                let mode = if only_checks { "validate" } else { "serve" };
                command.args(["-c", "envoy.yaml", "--mode", mode, "--use-dynamic-base-id"]);
                command.args(["--concurrency", "2", "-l", "error"]);
            }
            Self::Traefik => {
                command.arg("--configFile=traefik.yaml");
            }
        }
        command
    }

    /// Whether it serves its example on this port. NGINX writes `pid` once it listens itself; a
    /// connection proves less, as another process may have the port while the program still tries
    /// to get it. Traefik listens before it has read its routers, and answers 404; a path that it
    /// refuses by itself is 400.
    async fn listens(self, port: u16, pid: &Path) -> bool {
        match self {
            Self::Nginx => pid.is_file(),
            Self::Caddy | Self::Haproxy | Self::Envoy => {
                TcpStream::connect(("127.0.0.1", port)).is_ok()
            }
            Self::Traefik => {
                let answer = client().get(format!("http://127.0.0.1:{port}/..;/")).send().await;
                answer.is_ok_and(|answer| answer.status() == 400)
            }
        }
    }

    /// Whether it complained of its files.
    fn complains(self, log: &str) -> bool {
        match self {
            Self::Nginx => log.contains("[warn]"),
            Self::Caddy => log.contains("\"level\":\"warn\""),
            Self::Haproxy => log.contains("[WARNING]"),
            Self::Envoy => log.contains("[error]"),
            Self::Traefik => !log.is_empty(),
        }
    }

    /// NGINX's version.
    pub fn nginx_version() -> Vec<u16> {
        let executable = Self::Nginx.executable().expect("NGINX is installed");
        let output = Command::new(executable).arg("-v").output().expect("NGINX runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let (_, version) =
            text.split_once("nginx/").unwrap_or_else(|| panic!("no version: {text}"));
        version.split(['.', ' ', '\n']).map_while(|number| number.parse().ok()).collect()
    }
}

/// A running gateway. It ends with this guard.
pub struct Gateway {
    _process: Process,
    directory: TempDir,
}

impl Gateway {
    /// Copies the example, makes the edits, checks that the program has no complaint, and starts it
    /// on this port. `None` when another process has taken a port meanwhile.
    pub async fn start(program: Program, port: u16, edits: &[Edit<'_>]) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let folder = directory.path();
        // Started as root, NGINX keeps its files as another user.
        fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("permissions");
        write_example(program, folder, edits);
        if program.checks() {
            let mut check = Process::start(program.command(folder, true));
            let status = check.exit(PATIENCE).await;
            let log = check.stderr();
            if log.contains("ddress already in use") {
                return None;
            }
            let clean = status.success() && !program.complains(&log);
            assert!(clean, "the example of {program:?} is not clean:\n{log}");
        }

        let pid = folder.join("nginx.pid");
        // The check has left one.
        let _ = fs::remove_file(&pid);
        let mut process = Process::start(program.command(folder, false));
        let listens = until_some("the gateway listens", PATIENCE, || {
            let ended = process
                .try_exit()
                .map(|status| format!("{status}: {}{}", process.stderr(), process.stdout()));
            let listens = program.listens(port, &pid);
            async move { ended.map(Err).or(listens.await.then_some(Ok(()))) }
        })
        .await;
        if !program.checks() {
            let log = process.stdout();
            assert!(!program.complains(&log), "the example of {program:?} is not clean:\n{log}");
        }
        match listens {
            Ok(()) => Some(Self { _process: process, directory }),
            Err(log) if log.contains("ddress already in use") => None,
            Err(log) => panic!("{program:?} ended at once: {log}"),
        }
    }

    /// What the example of NGINX logs of each request.
    pub fn access_log(&self) -> String {
        fs::read_to_string(self.directory.path().join("access.log")).unwrap_or_default()
    }
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
