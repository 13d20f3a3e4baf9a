//! How a private Redis is started: program, settings, ports.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::{Duration, Instant},
};

use redis::{Client, ConnectionAddr, Value};

use crate::{Certificates, Clock, PATIENCE, Process, Redis};

/// A port of the loopback that was free a moment ago.
///
/// # Panics
/// When the system has none.
pub fn free_port() -> u16 {
    let [port] = free_ports();
    port
}

/// Different ports of the loopback that were free a moment ago.
///
/// # Panics
/// When the system has no more.
pub fn free_ports<const N: usize>() -> [u16; N] {
    let listeners: [_; N] =
        std::array::from_fn(|_| TcpListener::bind(("127.0.0.1", 0)).expect("a free port"));
    listeners.each_ref().map(|it| it.local_addr().expect("a bound address").port())
}

/// So much above its port a Redis 6 has its cluster bus, whatever one asks for.
const BUS_ABOVE: u16 = 10_000;

/// How a [`Redis`] is to be started.
#[derive(Default)]
pub struct RedisBuilder {
    args: Vec<String>,
    pub(crate) password: Option<String>,
    certificates: Option<Certificates>,
    sentinel: bool,
    cluster: bool,
    pub(crate) clock: Option<Clock>,
}

impl RedisBuilder {
    /// Adds a setting as on the command line: `arg("--maxmemory", "10mb")`.
    #[must_use]
    pub fn arg(mut self, name: &str, value: &str) -> Self {
        self.args.extend([name.to_owned(), value.to_owned()]);
        self
    }

    /// Every write goes to the append-only file before it is answered, so that a kill loses none.
    #[must_use]
    pub fn durable(self) -> Self {
        self.arg("--appendonly", "yes").arg("--appendfsync", "always")
    }

    /// Asks for this password.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self.arg("--requirepass", password)
    }

    /// Follows another server.
    #[must_use]
    pub fn replica_of(mut self, primary: &Redis) -> Self {
        let port = primary.port().to_string();
        self.args.extend(["--replicaof".to_owned(), "127.0.0.1".to_owned(), port]);
        self
    }

    /// Speaks TLS on a second port, with a certificate for 127.0.0.1.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.certificates = Some(Certificates::new());
        self
    }

    /// Runs under this clock; so does what [`Redis::restart`] starts.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Whether the server program was built with TLS; some builds are not.
    pub async fn knows_tls() -> bool {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let folder = directory.path().display().to_string();
        // Without certificates it ends at once, and says that TLS is not configured, or not known.
        let args = ["--port", "0", "--tls-port", &free_port().to_string(), "--dir", &folder]
            .map(str::to_owned);
        let mut probe = Process::spawn(binary(), args, &[]);
        probe.exit(PATIENCE).await;
        probe.stdout().contains("Failed to configure TLS")
    }

    pub(crate) fn cluster(mut self) -> Self {
        self.cluster = true;
        self
    }

    pub(crate) fn sentinel(mut self) -> Self {
        self.sentinel = true;
        self
    }

    /// Starts the server and waits until it answers.
    ///
    /// # Panics
    /// When no server program is found, or it does not start.
    pub async fn start(self) -> Redis {
        let directory = tempfile::tempdir().expect("a temporary directory");
        if let Some(certificates) = &self.certificates {
            certificates.write(directory.path());
        }
        // Another process may take the free port first; then another one is tried.
        for _ in 0..5 {
            let ports = self.ports();
            if let Some(process) = self.launch(directory.path(), ports).await {
                return Redis { process: Some(process), directory, ports, builder: self };
            }
        }
        panic!("the server found no free port");
    }

    /// Plain, TLS, cluster bus.
    fn ports(&self) -> [u16; 3] {
        if !self.cluster || is_seven() {
            return [free_port(), free_port(), free_port()];
        }
        loop {
            let plain = free_port();
            if let Some(bus) = plain.checked_add(BUS_ABOVE) {
                return [plain, free_port(), bus];
            }
        }
    }

    /// None when a port was taken.
    pub(crate) async fn launch(&self, directory: &Path, ports: [u16; 3]) -> Option<Process> {
        let socket = directory.join("redis.sock");
        let mut args: Vec<String> = Vec::new();
        if self.sentinel {
            let file = directory.join("sentinel.conf");
            if !file.exists() {
                std::fs::write(&file, "").expect("a configuration file");
            }
            args.extend([file.display().to_string(), "--sentinel".to_owned()]);
        } else {
            let settings = "--save|--appendonly no|--maxmemory-policy noeviction|\
                --repl-diskless-sync-delay 0";
            // Redis 6 has no such setting: it lets all clients debug.
            let seven = is_seven().then_some("--enable-debug-command local");
            for setting in settings.split('|').chain(seven) {
                let (name, value) = setting.trim().split_once(' ').unwrap_or((setting, ""));
                args.extend([name.to_owned(), value.to_owned()]);
            }
        }
        let mut set = |name: &str, value: String| args.extend([name.to_owned(), value]);
        set("--port", ports[0].to_string());
        set("--bind", "127.0.0.1".to_owned());
        set("--dir", directory.display().to_string());
        set("--unixsocket", socket.display().to_string());
        if self.certificates.is_some() {
            set("--tls-port", ports[1].to_string());
            set("--tls-cert-file", directory.join(Certificates::SERVER).display().to_string());
            set("--tls-key-file", directory.join(Certificates::KEY).display().to_string());
            set("--tls-ca-cert-file", directory.join(Certificates::CA).display().to_string());
            set("--tls-auth-clients", "no".to_owned());
        }
        if self.cluster {
            set("--cluster-enabled", "yes".to_owned());
            if is_seven() {
                set("--cluster-port", ports[2].to_string());
            }
            set("--cluster-node-timeout", "1000".to_owned());
            // Else a replica that got no votes for 20 s, on a busy machine, does not stand for
            // election again.
            set("--cluster-replica-validity-factor", "0".to_owned());
        }
        args.extend(self.args.iter().cloned());
        let mut program = Command::new(binary());
        program.args(&args);
        self.clock.iter().for_each(|clock| clock.rules(&mut program));
        let mut process = Process::start(program);
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = process.try_exit() {
                let output = format!("{}\n{}", process.stdout(), process.stderr());
                if output.contains("Address already in use") || output.contains("Failed listening")
                {
                    return None;
                }
                panic!("the server ended at once ({status}):\n{output}");
            }
            if answers(&socket).await {
                self.clock.iter().for_each(|_| Clock::tidies_after(&process));
                return Some(process);
            }
            assert!(Instant::now() < deadline, "the server does not answer:\n{}", process.stdout());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// Whether the server answers at all; "NOAUTH" and "LOADING" are answers too, the latter not yet.
async fn answers(socket: &Path) -> bool {
    let Ok(client) = Client::open(ConnectionAddr::Unix(socket.to_owned())) else { return false };
    let Ok(mut connection) = client.get_multiplexed_async_connection().await else { return false };
    match redis::cmd("PING").query_async::<Value>(&mut connection).await {
        Ok(_) => true,
        Err(error) => !error.is_io_error() && error.code() != Some("LOADING"),
    }
}

/// Whether the server program is a Redis 7 or newer; every Valkey is.
fn is_seven() -> bool {
    static SEVEN: OnceLock<bool> = OnceLock::new();
    *SEVEN.get_or_init(|| {
        let version = Command::new(binary()).arg("--version").output().expect("a server program");
        // `Redis server v=6.2.14 sha=…`
        !String::from_utf8_lossy(&version.stdout).contains(" v=6.")
    })
}

/// The server program: ANTEROOM_REDIS_BIN, else the first of the known names on the PATH.
fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("ANTEROOM_REDIS_BIN") {
        return path.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    ["redis-server", "valkey-server"]
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)))
        .find(|file| file.is_file())
        .unwrap_or_else(|| {
            panic!(
                "no redis-server or valkey-server on the PATH: install one \
                 (apt-get install redis-server) or name it in ANTEROOM_REDIS_BIN"
            )
        })
}
