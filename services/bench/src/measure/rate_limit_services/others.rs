//! The other services of Envoy's rate limits, built for the benchmark alone.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anteroom_testkit::{PATIENCE, Process, Redis, free_ports};
use anyhow::{Context as _, ensure};
use tempfile::TempDir;

use crate::progress::say;

/// Of an exact version.
const RATELIMIT: &str =
    "github.com/envoyproxy/ratelimit/src/service_cmd@v1.4.1-0.20260122083618-3fb702589d36";
const RATELIMIT_LIMITS: &str = "domain: bench\ndescriptors:\n  - key: remote_address\n    rate_limit: \
                                { unit: hour, requests_per_unit: 100000000 }\n";
/// Of exact versions.
const LIMITADOR: [(&str, &str); 2] = [
    ("Cargo.toml", include_str!("../../../limitador/Cargo.toml")),
    ("src/main.rs", include_str!("../../../limitador/src/main.rs")),
];
const BUILDS_WITHIN: Duration = Duration::from_secs(900);

/// A service that runs. It ends with this.
pub struct Other {
    pub process: Process,
    /// Host and port.
    pub address: String,
    _folder: TempDir,
}

/// envoyproxy/ratelimit.
pub struct Ratelimit(PathBuf);

impl Ratelimit {
    /// Builds it below this folder.
    pub async fn build(folder: &Path) -> anyhow::Result<Self> {
        let folder = std::path::absolute(folder)?.join("ratelimit");
        let mut go = Command::new("go");
        go.args(["install", RATELIMIT]).env("GOBIN", &folder);
        build("envoyproxy/ratelimit", go).await?;
        Ok(Self(folder.join("service_cmd")))
    }

    /// Starts it on this Redis. A `pipeline` collects commands for this time, or until there are 8:
    /// the example of its documentation.
    pub async fn start(&self, redis: &Redis, pipeline: Option<&str>) -> anyhow::Result<Other> {
        let folder = tempfile::tempdir()?;
        let limits = folder.path().join("ratelimit/config/bench.yaml");
        std::fs::create_dir_all(limits.parent().context("a folder")?)?;
        std::fs::write(limits, RATELIMIT_LIMITS)?;
        let [http, grpc, debug] = free_ports();
        let root = folder.path().to_str().context("a path of UTF-8")?.to_owned();
        let mut env = vec![
            ("RUNTIME_ROOT", root),
            ("RUNTIME_SUBDIRECTORY", "ratelimit".to_owned()),
            ("RUNTIME_WATCH_ROOT", "false".to_owned()),
            ("REDIS_SOCKET_TYPE", "tcp".to_owned()),
            ("REDIS_URL", format!("127.0.0.1:{}", redis.port())),
            ("USE_STATSD", "false".to_owned()),
            ("LOG_LEVEL", "error".to_owned()),
            ("HOST", "127.0.0.1".to_owned()),
            ("PORT", http.to_string()),
            ("GRPC_HOST", "127.0.0.1".to_owned()),
            ("GRPC_PORT", grpc.to_string()),
            ("DEBUG_HOST", "127.0.0.1".to_owned()),
            ("DEBUG_PORT", debug.to_string()),
        ];
        if let Some(window) = pipeline {
            env.push(("REDIS_PIPELINE_WINDOW", window.to_owned()));
            env.push(("REDIS_PIPELINE_LIMIT", "8".to_owned()));
        }
        let env: Vec<_> = env.iter().map(|(name, value)| (*name, &**value)).collect();
        let process = Process::spawn(&self.0, [""; 0], &env);
        process.port(grpc, PATIENCE).await;
        Ok(Other { process, address: format!("127.0.0.1:{grpc}"), _folder: folder })
    }
}

/// The crate limitador.
pub struct Limitador(PathBuf);

impl Limitador {
    /// Builds it below this folder.
    pub async fn build(folder: &Path) -> anyhow::Result<Self> {
        let folder = std::path::absolute(folder)?.join("limitador");
        for (name, text) in LIMITADOR {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().context("a folder")?)?;
            std::fs::write(file, text)?;
        }
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--release", "--target-dir", "target"]).current_dir(&folder);
        build("limitador", cargo).await?;
        Ok(Self(folder.join("target/release/anteroom-bench-limitador")))
    }

    /// Starts it on this Redis.
    pub async fn start(&self, redis: &Redis) -> anyhow::Result<Other> {
        let mut process = Process::spawn(&self.0, [redis.url()], &[]);
        let line = process.line("address ", PATIENCE).await;
        let address = line.trim_start_matches("address ").to_owned();
        Ok(Other { process, address, _folder: tempfile::tempdir()? })
    }
}

async fn build(name: &str, mut command: Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let version = Command::new(&program).arg("version").output();
    ensure!(version.is_ok(), "no {program} on the PATH");
    say(&format!("building {name}: minutes the first time"));
    // What cargo has set for this program is not for another.
    command.env_remove("CARGO_TARGET_DIR");
    let mut process = Process::start(command);
    let status = process.exit(BUILDS_WITHIN).await;
    ensure!(status.success(), "{program} cannot build {name}: {}", process.stderr());
    Ok(())
}
