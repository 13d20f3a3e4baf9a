//! The real services as a user starts them: admission and scheduler on a Redis of their own.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use tempfile::TempDir;

use crate::{Clock, PATIENCE, Process, Redis};

/// Compiling a service from nothing takes its time on a small machine.
static BUILT: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);

/// The ports of an admission and of a scheduler.
const ADMISSION_PORTS: &[&str] = &["public", "service", "metrics"];
const SCHEDULER_PORTS: &[&str] = &["metrics"];

/// A binary of the workspace: from the folder in `ANTEROOM_BIN_DIR`, which `make test` has just
/// filled, or built as it stands now, once for each test program.
///
/// # Panics
/// When it does not build.
pub fn binary(name: &str) -> PathBuf {
    if let Some(folder) = std::env::var_os("ANTEROOM_BIN_DIR") {
        let file = Path::new(&folder).join(name);
        assert!(file.is_file(), "no {name} in ANTEROOM_BIN_DIR = {}", folder.display());
        return file;
    }
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let built = built.get_or_insert_default();
    built
        .entry(name.to_owned())
        .or_insert_with(|| {
            // This program is target/PROFILE/deps/NAME; the binaries stand two folders up.
            let program = std::env::current_exe().expect("a running program has a file");
            let folder = program.ancestors().nth(2).expect("the folder of the profile");
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
            cargo.args(["build", "--quiet", "--locked", "--package", name, "--bin", name]);
            cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
            if folder.ends_with("release") {
                cargo.arg("--release");
            }
            let status = cargo.status().expect("cargo is there, it runs this test");
            assert!(status.success(), "{name} does not build");
            folder.join(name)
        })
        .clone()
}

/// A store and a configuration: what services are started with, one by one.
pub struct Site {
    /// The store.
    pub redis: Redis,
    env: Vec<(String, String)>,
    directory: TempDir,
}

/// A running service and its addresses.
pub struct Service {
    /// The process.
    pub process: Process,
    addresses: HashMap<&'static str, String>,
}

impl Site {
    /// A file with these queues (TOML, such as `[queues.concert]`), and the environment of all
    /// services.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn new(redis: Redis, queues: &str, env: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(directory.path().join("anteroom.toml"), queues).expect("a file");
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { redis, env: env.collect(), directory }
    }

    /// Starts an admission.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn admission(&self) -> Service {
        self.start(Command::new(binary("anteroom-admission")), ADMISSION_PORTS).await
    }

    /// Starts an admission that may open only so many files and connections.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn narrow_admission(&self, descriptors: u32) -> Service {
        let mut shell = Command::new("sh");
        let limit = format!("ulimit -n {descriptors} && exec \"$0\" \"$@\"");
        shell.args(["-c", &limit]).arg(binary("anteroom-admission"));
        self.start(shell, ADMISSION_PORTS).await
    }

    /// Starts an admission under this clock.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn admission_under(&self, clock: &Clock) -> Service {
        self.under(clock, "anteroom-admission", ADMISSION_PORTS).await
    }

    /// Starts a scheduler under this clock.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn scheduler_under(&self, clock: &Clock) -> Service {
        self.under(clock, "anteroom-scheduler", SCHEDULER_PORTS).await
    }

    async fn under(&self, clock: &Clock, name: &str, ports: &[&'static str]) -> Service {
        let mut program = Command::new(binary(name));
        clock.rules(&mut program);
        let service = self.start(program, ports).await;
        Clock::tidies_after(&service.process);
        service
    }

    /// Starts a scheduler.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn scheduler(&self) -> Service {
        self.start(Command::new(binary("anteroom-scheduler")), SCHEDULER_PORTS).await
    }

    /// Starts an admission with a file of its own, as one that a roll-out has not reached.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn admission_with(&self, queues: &str) -> Service {
        let folder = self.directory.path().join("other");
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("anteroom.toml");
        std::fs::write(&file, queues).expect("a file");
        let program = Command::new(binary("anteroom-admission"));
        self.start_with(program, &file, ADMISSION_PORTS).await
    }

    async fn start(&self, program: Command, ports: &[&'static str]) -> Service {
        self.start_with(program, &self.config_file(), ports).await
    }

    async fn start_with(&self, program: Command, file: &Path, ports: &[&'static str]) -> Service {
        let mut process = launch(program, &self.redis, file, &self.env());
        let mut addresses = HashMap::new();
        for port in ports {
            addresses.insert(*port, address(&mut process, port).await);
        }
        Service { process, addresses }
    }

    /// The configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.directory.path().join("anteroom.toml")
    }

    fn env(&self) -> Vec<(&str, &str)> {
        self.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

impl Service {
    /// `http://` address of one of its ports: `metrics`, and of an admission `public` and `service`.
    ///
    /// # Panics
    /// For any other name.
    pub fn url(&self, port: &str) -> String {
        format!("http://{}", self.addresses[port])
    }
}

/// Admission, scheduler and their store, on ports of their own. Everything ends with it.
pub struct Anteroom {
    /// The store.
    pub redis: Redis,
    /// The admission service.
    pub admission: Process,
    /// The scheduler.
    pub scheduler: Process,
    addresses: HashMap<&'static str, String>,
    directory: TempDir,
}

impl Anteroom {
    /// Starts both services with these queues (TOML, such as `[queues.concert]`), and the
    /// environment added to both, on a fresh Redis.
    ///
    /// # Panics
    /// When something does not start.
    pub async fn start(queues: &str, env: &[(&str, &str)]) -> Self {
        Self::start_on(Redis::start().await, queues, env).await
    }

    /// [`start`](Self::start) on a store that the test has prepared.
    ///
    /// # Panics
    /// When something does not start.
    pub async fn start_on(redis: Redis, queues: &str, env: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("anteroom.toml");
        std::fs::write(&file, queues).expect("a configuration file");
        let mut admission = admission(&redis, &file, env);
        let mut scheduler = scheduler(&redis, &file, env);
        let mut addresses = HashMap::new();
        for port in ["public", "service", "metrics"] {
            addresses.insert(port, address(&mut admission, port).await);
        }
        addresses.insert("scheduler", address(&mut scheduler, "metrics").await);
        Self { redis, admission, scheduler, addresses, directory }
    }

    /// `http://` address of one of `public`, `service`, `metrics` (admission's) and `scheduler` (its
    /// metrics port).
    ///
    /// # Panics
    /// For any other name.
    pub fn url(&self, port: &str) -> String {
        format!("http://{}", self.addresses[port])
    }

    /// The configuration file of both services.
    pub fn config_file(&self) -> PathBuf {
        self.directory.path().join("anteroom.toml")
    }

    /// Starts a further admission on the same store; returns it with its public address.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn another_admission(&self, env: &[(&str, &str)]) -> (Process, String) {
        let mut process = admission(&self.redis, &self.config_file(), env);
        let address = address(&mut process, "public").await;
        (process, format!("http://{address}"))
    }

    /// Starts a further scheduler on the same store.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn another_scheduler(&self, env: &[(&str, &str)]) -> Process {
        let mut process = scheduler(&self.redis, &self.config_file(), env);
        address(&mut process, "metrics").await;
        process
    }
}

fn admission(redis: &Redis, file: &Path, env: &[(&str, &str)]) -> Process {
    start("anteroom-admission", redis, file, env)
}

fn scheduler(redis: &Redis, file: &Path, env: &[(&str, &str)]) -> Process {
    start("anteroom-scheduler", redis, file, env)
}

fn start(name: &str, redis: &Redis, file: &Path, env: &[(&str, &str)]) -> Process {
    launch(Command::new(binary(name)), redis, file, env)
}

fn launch(mut program: Command, redis: &Redis, file: &Path, env: &[(&str, &str)]) -> Process {
    let url = redis.url();
    let mut all = vec![
        ("ANTEROOM_STORE__URL", url.as_str()),
        ("ANTEROOM_ADMISSION__LISTEN", "127.0.0.1:0"),
        ("ANTEROOM_ADMISSION__SERVICE_LISTEN", "127.0.0.1:0"),
        ("ANTEROOM_ADMISSION__METRICS_LISTEN", "127.0.0.1:0"),
        ("ANTEROOM_SCHEDULER__METRICS_LISTEN", "127.0.0.1:0"),
        ("ANTEROOM_ADMISSION__TOKEN_SECRETS", "a-secret-of-the-tests-of-32-bytes-and-more"),
        ("ANTEROOM_LOG__FORMAT", "json"),
    ];
    all.extend(env);
    program.arg("--config").arg(file).envs(all);
    Process::start(program)
}

/// The address that a service logs for one of its ports.
async fn address(process: &mut Process, port: &str) -> String {
    let line = process.line(&format!("\"port\":\"{port}\""), PATIENCE).await;
    let (_, rest) = line.split_once("\"address\":\"").expect("the line names the address");
    rest.split('"').next().expect("the address has an end").to_owned()
}
