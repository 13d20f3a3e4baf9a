//! A private Redis (or Valkey) for one test: own directory, own port, own Unix socket.

use std::path::PathBuf;

use redis::{
    Client, Cmd, ConnectionAddr, IntoConnectionInfo, RedisResult, Value, aio::MultiplexedConnection,
};
use tempfile::TempDir;

use crate::{Certificates, Clock, PATIENCE, Process, RedisBuilder, until_some};

/// A running server. Dropping it kills it and removes its directory.
pub struct Redis {
    pub(crate) process: Option<Process>,
    pub(crate) directory: TempDir,
    /// Plain, TLS, cluster bus.
    pub(crate) ports: [u16; 3],
    pub(crate) builder: RedisBuilder,
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

    /// The process id, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
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
        // A port without a listener may be lent to a connection that goes elsewhere, or to one
        // that looks for this very server, for as long as that lasts.
        let launch = async || self.builder.launch(self.directory.path(), self.ports).await;
        let process = until_some("the old ports are free", PATIENCE, launch).await;
        self.process = Some(process);
    }

    /// Its clock.
    ///
    /// # Panics
    /// When it runs under the machine's.
    pub fn clock(&self) -> &Clock {
        self.builder.clock.as_ref().expect("a server under a clock of its own")
    }

    /// How long its append-only file is.
    ///
    /// # Panics
    /// When it has none.
    pub fn append_only_bytes(&self) -> u64 {
        self.append_only_file().metadata().expect("an append-only file").len()
    }

    /// Takes the end of the append-only file of a killed server away, as a machine does that stops
    /// before the last of it was flushed to the disk.
    ///
    /// # Panics
    /// When it has none.
    pub fn cut_append_only(&self, bytes: u64) {
        assert!(self.process.is_none(), "the server still writes");
        let file = std::fs::File::options().write(true).open(self.append_only_file());
        file.and_then(|file| file.set_len(bytes)).expect("an append-only file");
    }

    /// Redis 7 has a folder with a base and a file that grows, Redis 6 one file.
    fn append_only_file(&self) -> PathBuf {
        let folder = self.directory.path().join("appendonlydir");
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
        let grows = files.filter(|file| file.to_string_lossy().ends_with(".incr.aof")).max();
        grows.unwrap_or_else(|| self.directory.path().join("appendonly.aof"))
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
        self.try_connection().await.expect("the server is reachable")
    }

    async fn try_connection(&self) -> RedisResult<MultiplexedConnection> {
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
    }

    /// Runs one command on a fresh connection.
    ///
    /// # Panics
    /// When it fails.
    pub async fn run<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_run(words).await.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// [`run`](Self::run) on a server that may not answer.
    pub(crate) async fn try_run<T: redis::FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        let mut command = Cmd::new();
        for word in words {
            command.arg(word);
        }
        command.query_async(&mut self.try_connection().await?).await
    }

    /// How often the server has run a command, such as `evalsha` or `eval`.
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

    /// Restarts the counts: what a service ran when it connected is no matter of most tests.
    pub async fn forget_calls(&self) {
        self.run::<Value>(&["CONFIG", "RESETSTAT"]).await;
    }

    /// Adds a user, password `pass`, with these ACL rules and no others.
    pub async fn user(&self, name: &str, rules: &[String]) {
        let user = ["ACL", "SETUSER", name, "reset", "on", ">pass", "resetchannels"];
        let words: Vec<_> = user.into_iter().chain(rules.iter().map(String::as_str)).collect();
        self.run::<Value>(&words).await;
    }

    /// Deletes the keys that begin like this.
    pub async fn delete_keys(&self, prefix: &str) {
        let script = "for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do \
            redis.call('DEL', key) end";
        self.run::<()>(&["EVAL", script, "0", prefix]).await;
    }

    /// Lets it hold under the prefix `to` what it holds under `from`, and nothing else.
    pub async fn copy_keys(&self, from: &str, to: &str) {
        let script = "for _, key in ipairs(redis.call('KEYS', ARGV[2] .. '*')) do \
            redis.call('DEL', key) end \
            for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do \
            redis.call('COPY', key, ARGV[2] .. key:sub(#ARGV[1] + 1)) end";
        self.run::<()>(&["EVAL", script, "0", from, to]).await;
    }

    /// How long each of its keys is still kept, in milliseconds; -1 for ever.
    pub async fn ttls(&self) -> Vec<i64> {
        let script = "local ttls = {} for at, key in ipairs(redis.call('KEYS', '*')) do \
            ttls[at] = redis.call('PTTL', key) end return ttls";
        self.run(&["EVAL", script, "0"]).await
    }

    /// Gives the server these scripts, as their first calls would: for tests that lose the reply to
    /// one.
    pub async fn load(&self, sources: impl Iterator<Item = &str>) {
        for source in sources {
            self.run::<Value>(&["SCRIPT", "LOAD", source]).await;
        }
    }

    /// Makes the server forget all scripts.
    pub async fn script_flush(&self) {
        self.run::<Value>(&["SCRIPT", "FLUSH"]).await;
    }
}
