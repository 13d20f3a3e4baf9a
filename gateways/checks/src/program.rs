//! The programs that the examples are for, and how each is run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anteroom_testkit::{PATIENCE, Process, client, until_some};

/// What a program is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// It only checks its files.
    Check,
    /// It serves.
    Serve,
    /// It takes over from the one that serves, which then ends.
    Succeed,
}

/// A program that an example is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Program {
    /// NGINX.
    #[default]
    Nginx,
    /// Caddy.
    Caddy,
    /// HAProxy.
    Haproxy,
    /// Envoy with the check over HTTP.
    Envoy,
    /// Envoy with the check over gRPC.
    EnvoyGrpc,
    /// Traefik.
    Traefik,
}

/// What a program answers once it has read its files.
#[derive(Clone, Copy, Debug)]
pub struct Sign {
    path: &'static str,
    status: u16,
    at: Option<u16>,
}

impl Sign {
    /// The examples refuse this path by themselves. A connection proves less: a test that looks for
    /// a free port listens on it too, and Traefik listens before it has read its routers.
    pub const OF_EXAMPLE: Self = Self::new("/a;b", 400);

    /// This status for this path.
    pub const fn new(path: &'static str, status: u16) -> Self {
        Self { path, status, at: None }
    }

    /// The same through what listens on this port of the loopback, in front of the program.
    #[must_use]
    pub const fn at(self, port: u16) -> Self {
        Self { at: Some(port), ..self }
    }
}

impl Program {
    /// All, in the order of the documentation.
    pub const ALL: [Self; 6] =
        [Self::Nginx, Self::Caddy, Self::Haproxy, Self::Envoy, Self::EnvoyGrpc, Self::Traefik];

    /// Its folder in `gateways/`.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Caddy => "caddy",
            Self::Haproxy => "haproxy",
            Self::Envoy | Self::EnvoyGrpc => "envoy",
            Self::Traefik => "traefik",
        }
    }

    /// The files that a user copies.
    pub fn files(self) -> &'static [&'static str] {
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
            Self::EnvoyGrpc => &["envoy-grpc.yaml", "anteroom.lua"],
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
    pub fn checks(self) -> bool {
        self != Self::Traefik
    }

    /// Runs the files of a folder.
    pub fn command(self, folder: &Path, port: u16, run: Run) -> Command {
        let only_checks = run == Run::Check;
        let mut command = Command::new(self.executable().expect("it is installed"));
        command.current_dir(folder);
        match self {
            Self::Nginx => {
                command.arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf"));
                command.args(["-e", "stderr", "-g", "daemon off;"]);
                command.args(only_checks.then_some("-t"));
            }
            Self::Caddy => {
                command.arg(if only_checks { "validate" } else { "run" });
                command.args(["--config", "Caddyfile", "--adapter", "caddyfile"]);
                // Where it would keep certificates.
                command.env("HOME", folder);
            }
            Self::Haproxy => {
                command.arg(if only_checks { "-c" } else { "-W" }).args(["-f", "haproxy.cfg"]);
            }
            Self::Envoy | Self::EnvoyGrpc => {
                command.args(["-c", self.files()[0], "--concurrency", "2", "-l", "error"]);
                // By this number the next one finds the one before it. Each port is one Envoy's.
                command.args(["--base-id", &port.to_string()]);
                command.args(match run {
                    Run::Check => &["--mode", "validate"][..],
                    Run::Serve => &["--restart-epoch", "0"],
                    Run::Succeed => &[
                        "--restart-epoch",
                        "1",
                        "--drain-time-s",
                        "1",
                        "--parent-shutdown-time-s",
                        "2",
                    ],
                });
            }
            Self::Traefik => {
                command.arg("--configFile=traefik.yaml");
            }
        }
        command
    }

    /// Runs the files of a folder until they serve on this port; `None` when another process has
    /// it.
    pub async fn serve(self, port: u16, folder: &Path, sign: Sign) -> Option<Process> {
        let pid = folder.join("nginx.pid");
        // An earlier one has left it.
        let _ = fs::remove_file(&pid);
        let mut process = Process::start(self.command(folder, port, Run::Serve));
        let serves = until_some("the gateway serves", PATIENCE, || {
            let ended = process
                .try_exit()
                .map(|status| format!("{status}: {}{}", process.stderr(), process.stdout()));
            let serves = self.serves(port, &pid, sign);
            async move { ended.map(Err).or(serves.await.then_some(Ok(()))) }
        })
        .await;
        match serves {
            Ok(()) => Some(process),
            Err(log) if log.contains("ddress already in use") => None,
            Err(log) => panic!("{self:?} ended at once: {log}"),
        }
    }

    /// Whether it serves its files on this port. NGINX writes `pid` once it listens.
    async fn serves(self, port: u16, pid: &Path, Sign { path, status, at }: Sign) -> bool {
        if self == Self::Nginx {
            return pid.is_file();
        }
        let port = at.unwrap_or(port);
        let answer = client().get(format!("http://127.0.0.1:{port}{path}")).send().await;
        answer.is_ok_and(|answer| answer.status() == status)
    }

    /// Whether it complained of its files.
    pub fn complains(self, log: &str) -> bool {
        match self {
            Self::Nginx => log.contains("[warn]"),
            Self::Caddy => log.contains("\"level\":\"warn\""),
            Self::Haproxy => log.contains("[WARNING]"),
            Self::Envoy | Self::EnvoyGrpc => log.contains("[error]"),
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
