//! The services as a user deploys them: a store, a configuration file, an environment.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{Clock, Redis, Service, binary};

const MODE: &str = "ANTEROOM_TEST_LOCAL_ANSWERS";

/// The ports of each service.
const ADMISSION_PORTS: &[&str] = &["public", "service", "metrics"];
const SCHEDULER_PORTS: &[&str] = &["metrics"];
const ISSUER_PORTS: &[&str] = &["metrics"];
const ENVOY_PORTS: &[&str] = &["grpc", "metrics"];

/// A store and a configuration, on which services are started one by one.
pub struct Deployment {
    /// The store.
    pub redis: Redis,
    env: Vec<(String, String)>,
    directory: TempDir,
    programs: Option<PathBuf>,
}

impl Deployment {
    /// A file with these queues (TOML, such as `[queues.concert]`), and the environment of all
    /// services.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn new(redis: Redis, queues: &str, env: &[(&str, &str)]) -> Self {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let directory = tempfile::tempdir().expect("a temporary directory");
        let deployment = Self { redis, env: env.collect(), directory, programs: None };
        deployment.write(queues);
        deployment
    }

    /// Its services are the programs in this folder.
    #[must_use]
    pub fn with_programs_of(self, folder: &Path) -> Self {
        Self { programs: Some(folder.to_owned()), ..self }
    }

    /// Services that are started from now on are the programs in this folder, or without one those
    /// of the workspace.
    pub fn start_programs_of(&mut self, folder: Option<&Path>) {
        self.programs = folder.map(Path::to_owned);
    }

    fn program(&self, name: &str) -> PathBuf {
        self.programs.as_ref().map_or_else(|| binary(name), |folder| folder.join(name))
    }

    /// The configuration file of all services.
    pub fn config_file(&self) -> PathBuf {
        self.directory.path().join("anteroom.toml")
    }

    /// Writes another configuration, which running services take over.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn write(&self, queues: &str) {
        std::fs::write(self.config_file(), in_mode(queues)).expect("a file");
    }

    /// Starts an admission.
    ///
    /// # Panics
    /// When it does not start. So do all that follow.
    pub async fn admission(&self) -> Service {
        self.admission_with(&[]).await
    }

    /// Starts an admission with more environment of its own: with `ANTEROOM_CONFIG` it has another
    /// file.
    pub async fn admission_with(&self, env: &[(&str, &str)]) -> Service {
        self.start(Command::new(self.program("anteroom-admission")), ADMISSION_PORTS, env).await
    }

    /// Starts a scheduler.
    pub async fn scheduler(&self) -> Service {
        self.scheduler_with(&[]).await
    }

    /// Starts a scheduler with more environment of its own.
    pub async fn scheduler_with(&self, env: &[(&str, &str)]) -> Service {
        self.start(Command::new(self.program("anteroom-scheduler")), SCHEDULER_PORTS, env).await
    }

    /// Starts an issuer.
    pub async fn issuer(&self) -> Service {
        self.issuer_with(&[]).await
    }

    /// Starts an issuer with more environment of its own.
    pub async fn issuer_with(&self, env: &[(&str, &str)]) -> Service {
        let mut program = Command::new(self.program("anteroom-issuer"));
        // Only here: programs from before there was an issuer refuse its section.
        program.env("ANTEROOM_ISSUER__METRICS_LISTEN", "127.0.0.1:0");
        self.start(program, ISSUER_PORTS, env).await
    }

    /// Starts the gRPC service for Envoy.
    pub async fn envoy(&self) -> Service {
        self.envoy_of(Command::new(self.program("anteroom-envoy"))).await
    }

    /// Starts one that may open only so many files and connections.
    pub async fn narrow_envoy(&self, descriptors: u32) -> Service {
        self.envoy_of(self.narrow("anteroom-envoy", descriptors)).await
    }

    async fn envoy_of(&self, mut program: Command) -> Service {
        // Only here: programs from before there was this service refuse its section.
        program.env("ANTEROOM_ENVOY__LISTEN", "127.0.0.1:0");
        program.env("ANTEROOM_ENVOY__METRICS_LISTEN", "127.0.0.1:0");
        self.start(program, ENVOY_PORTS, &[]).await
    }

    /// Starts an admission that may open only so many files and connections.
    pub async fn narrow_admission(&self, descriptors: u32) -> Service {
        self.start(self.narrow("anteroom-admission", descriptors), ADMISSION_PORTS, &[]).await
    }

    fn narrow(&self, name: &str, descriptors: u32) -> Command {
        let mut shell = Command::new("sh");
        let limit = format!("ulimit -n {descriptors} && exec \"$0\"");
        shell.args(["-c", &limit]).arg(self.program(name));
        shell
    }

    /// Starts an admission under this clock.
    pub async fn admission_under(&self, clock: &Clock) -> Service {
        self.under(clock, "anteroom-admission", ADMISSION_PORTS).await
    }

    /// Starts a scheduler under this clock.
    pub async fn scheduler_under(&self, clock: &Clock) -> Service {
        self.under(clock, "anteroom-scheduler", SCHEDULER_PORTS).await
    }

    async fn under(&self, clock: &Clock, name: &str, ports: &[&'static str]) -> Service {
        let mut program = Command::new(binary(name));
        clock.rules(&mut program);
        let service = self.start(program, ports, &[]).await;
        Clock::tidies_after(&service.process);
        service
    }

    async fn start(
        &self,
        mut program: Command,
        ports: &[&'static str],
        env: &[(&str, &str)],
    ) -> Service {
        program.env("ANTEROOM_CONFIG", self.config_file());
        program.env("ANTEROOM_STORE__URL", self.redis.url());
        program.envs([
            ("ANTEROOM_ADMISSION__LISTEN", "127.0.0.1:0"),
            ("ANTEROOM_ADMISSION__SERVICE_LISTEN", "127.0.0.1:0"),
            ("ANTEROOM_ADMISSION__METRICS_LISTEN", "127.0.0.1:0"),
            ("ANTEROOM_SCHEDULER__METRICS_LISTEN", "127.0.0.1:0"),
            ("ANTEROOM_ADMISSION__TOKEN_SECRETS", "a-secret-of-the-tests-of-32-bytes-and-more"),
            ("ANTEROOM_LOG__FORMAT", "json"),
        ]);
        program.envs(self.env.iter().map(|(name, value)| (name, value)));
        program.envs(env.iter().copied());
        Service::start(program, ports).await
    }
}

/// Whether queues of tests have the rule `local_answers` that do not set it. Without it a join that
/// finds a free slot is admitted at once, also if the scheduler is late. Suites of faults run in
/// both modes.
pub fn local_answers() -> bool {
    std::env::var(MODE).as_deref() == Ok("true")
}

/// These queues in the mode of the test.
fn in_mode(config: &str) -> String {
    let rule = format!("local_answers = {}\n", local_answers());
    let section = |text: &str| match text.split_once('\n') {
        Some((header, rest)) if is_queue(header) && !rest.contains("local_answers =") => {
            format!("{header}\n{rule}{rest}")
        }
        _ => text.to_owned(),
    };
    let mut sections = vec![String::new()];
    for line in config.split_inclusive('\n') {
        if line.starts_with('[') {
            sections.push(String::new());
        }
        if let Some(last) = sections.last_mut() {
            last.push_str(line);
        }
    }
    sections.iter().map(|text| section(text)).collect()
}

/// Whether the section of a queue begins so.
fn is_queue(header: &str) -> bool {
    let name = header.strip_prefix("[queues.").and_then(|rest| rest.strip_suffix(']'));
    name.is_some_and(|name| !name.contains('.'))
}

/// A deployment with one admission and one scheduler.
pub struct Anteroom {
    /// The store and the configuration, to start more.
    pub deployment: Deployment,
    /// The admission.
    pub admission: Service,
    /// The scheduler.
    pub scheduler: Service,
}

impl Anteroom {
    /// Starts both services with these queues (TOML, such as `[queues.concert]`) and this
    /// environment, on a fresh Redis.
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
        let deployment = Deployment::new(redis, queues, env);
        let (admission, scheduler) = tokio::join!(deployment.admission(), deployment.scheduler());
        Self { deployment, admission, scheduler }
    }

    /// `http://` address of one of `public`, `service`, `metrics` (admission's) and `scheduler` (its
    /// metrics port).
    ///
    /// # Panics
    /// For any other name.
    pub fn url(&self, port: &str) -> String {
        if port == "scheduler" { self.scheduler.url("metrics") } else { self.admission.url(port) }
    }
}
