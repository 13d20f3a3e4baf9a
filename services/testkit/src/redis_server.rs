//! A private Redis (or Valkey) for one test: own directory, own port, own Unix socket.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use redis::{Client, Cmd, ConnectionAddr, IntoConnectionInfo, Value, aio::MultiplexedConnection};
use tempfile::TempDir;

use crate::{Certificates, PATIENCE, Process};

/// A port of the loopback that was free a moment ago.
///
/// # Panics
/// When the system has none.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("a bound address").port()
}

/// How a [`Redis`] is to be started.
#[derive(Default)]
pub struct RedisBuilder {
    args: Vec<String>,
    password: Option<String>,
    certificates: Option<Certificates>,
    sentinel: bool,
    cluster: bool,
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
    pub fn replica_of(self, primary: &Redis) -> Self {
        let port = primary.port().to_string();
        self.arg("--replicaof", &format!("127.0.0.1 {port}"))
    }

    /// Speaks TLS on a second port, with a certificate for 127.0.0.1.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.certificates = Some(Certificates::new());
        self
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
            let ports = [free_port(), free_port(), free_port()];
            if let Some(process) = self.launch(directory.path(), ports).await {
                return Redis { process: Some(process), directory, ports, builder: self };
            }
        }
        panic!("the server found no free port");
    }

    /// None when a port was taken.
    async fn launch(&self, directory: &Path, ports: [u16; 3]) -> Option<Process> {
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
                --enable-debug-command local|--repl-diskless-sync-delay 0";
            for setting in settings.split('|') {
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
            set("--cluster-port", ports[2].to_string());
            set("--cluster-node-timeout", "1000".to_owned());
        }
        args.extend(self.args.iter().cloned());
        let mut process = Process::spawn(binary(), &args, &[]);
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = process.try_exit() {
                let said = format!("{}\n{}", process.stdout(), process.stderr());
                if said.contains("Address already in use") || said.contains("Failed listening") {
                    return None;
                }
                panic!("the server ended at once ({status}):\n{said}");
            }
            if answers(&socket).await {
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

/// A running server. Dropping it kills it and removes its directory.
pub struct Redis {
    process: Option<Process>,
    directory: TempDir,
    /// Plain, TLS, cluster bus.
    ports: [u16; 3],
    builder: RedisBuilder,
}

impl Redis {
    /// An empty server that keeps nothing on disk.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// A server with settings of its own.
    pub fn builder() -> RedisBuilder {
        RedisBuilder::default()
    }

    /// Its port on the loopback.
    pub fn port(&self) -> u16 {
        self.ports[0]
    }

    /// The port of its cluster bus.
    pub(crate) fn bus_port(&self) -> u16 {
        self.ports[2]
    }

    /// Its address over TCP, with the password if it asks for one.
    pub fn url(&self) -> String {
        match &self.builder.password {
            Some(password) => format!("redis://:{password}@127.0.0.1:{}", self.ports[0]),
            None => format!("redis://127.0.0.1:{}", self.ports[0]),
        }
    }

    /// Its address over TLS.
    pub fn tls_url(&self) -> String {
        format!("rediss://127.0.0.1:{}", self.ports[1])
    }

    /// The authority that signed its certificate.
    pub fn ca_file(&self) -> PathBuf {
        self.directory.path().join(Certificates::CA)
    }

    /// Its address over the Unix socket.
    pub fn socket_url(&self) -> String {
        format!("unix://{}", self.directory.path().join("redis.sock").display())
    }

    /// Kills it (SIGKILL).
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Stops it in its tracks (SIGSTOP): it accepts connections and answers nothing.
    pub fn freeze(&self) {
        self.process.iter().for_each(Process::freeze);
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.process.iter().for_each(Process::thaw);
    }

    /// Kills it if it runs, and starts it again on the same ports with the same directory.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn restart(&mut self) {
        self.kill();
        let process = self.builder.launch(self.directory.path(), self.ports).await;
        self.process = Some(process.expect("the ports of the old server are free"));
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        self.process.as_ref().map(Process::stdout).unwrap_or_default()
    }

    /// A connection of the test's own, over the Unix socket, with all rights and ample time.
    ///
    /// # Panics
    /// When the server cannot be reached.
    pub async fn connection(&self) -> MultiplexedConnection {
        let address = ConnectionAddr::Unix(self.directory.path().join("redis.sock"));
        let mut info = address.into_connection_info().expect("a socket is an address");
        if let Some(password) = &self.builder.password {
            let settings = info.redis_settings().clone().set_password(password);
            info = info.set_redis_settings(settings);
        }
        let config = redis::AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        Client::open(info)
            .expect("the address is valid")
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .expect("the server is reachable")
    }

    /// Runs one command on a fresh connection.
    ///
    /// # Panics
    /// When it fails.
    pub async fn run<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let mut command = Cmd::new();
        for word in words {
            command.arg(word);
        }
        let mut connection = self.connection().await;
        command
            .query_async(&mut connection)
            .await
            .unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// How often the server has run a command, such as `evalsha` or `script|load`.
    pub async fn calls(&self, command: &str) -> u64 {
        let stats: String = self.run(&["INFO", "commandstats"]).await;
        let prefix = format!("cmdstat_{command}:calls=");
        stats
            .lines()
            .find_map(|line| line.strip_prefix(&prefix)?.split(',').next()?.parse().ok())
            .unwrap_or(0)
    }

    /// How often the server has run EVALSHA.
    pub async fn evalsha_calls(&self) -> u64 {
        self.calls("evalsha").await
    }

    /// Makes the server forget all scripts.
    pub async fn script_flush(&self) {
        self.run::<Value>(&["SCRIPT", "FLUSH"]).await;
    }
}
