//! The issuer's example `receiver` as a process.

use std::{collections::BTreeMap, path::Path, process::Command};

use http_body_util::Full;
use hyper::Request;
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::{PATIENCE, Process, binary::example, witness::Doors};

/// A running receiver of webhooks. It ends with this guard.
pub struct Receiver {
    _process: Process,
    /// Where it listens.
    pub address: String,
    /// For the files that go with it.
    pub folder: TempDir,
}

impl Receiver {
    /// The secret that it believes.
    pub const SECRET: &str = "a-secret-of-the-tests-of-32-bytes-and-more";

    /// Starts one.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts one with these files in its environment.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start_with(env: &[(&str, &Path)]) -> Self {
        let mut command = Command::new(example("anteroom-issuer", "receiver"));
        command.env("RECEIVER_SECRET", Self::SECRET).envs(env.iter().copied());
        let mut process = Process::start(command);
        let line = process.line("listening on ", PATIENCE).await;
        let address = line.rsplit(' ').next().unwrap_or_default().to_owned();
        let folder = tempfile::tempdir().expect("a temporary directory");
        Self { _process: process, address, folder }
    }

    /// Where it is called; what it does is named by the path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The rules of an event that calls it there.
    ///
    /// # Panics
    /// When its secret cannot be written.
    pub fn rules(&self, path: &str) -> String {
        let secret = self.folder.path().join("secret");
        std::fs::write(&secret, Self::SECRET).expect("a file");
        let (url, secret) = (self.url(path), secret.display());
        format!("issue = \"webhook\"\nurl = \"{url}\"\nsecret_file = \"{secret}\"\n")
    }

    /// The keys that it has issued for, in order.
    pub async fn issued(&self) -> Vec<String> {
        self.report().await.issued.into_iter().map(|(key, _)| key).collect()
    }

    /// The bodies that it has issued for, in order.
    ///
    /// # Panics
    /// When one is no JSON.
    pub async fn bodies(&self) -> Vec<Value> {
        let read = |body: String| serde_json::from_str(&body).expect("JSON");
        self.report().await.issued.into_iter().map(|(_, body)| read(body)).collect()
    }

    /// How many calls it has had.
    pub async fn attempts(&self) -> u64 {
        self.report().await.attempts.values().sum()
    }

    async fn report(&self) -> Report {
        let request = Request::get("/issued").header("host", &self.address);
        let request = request.body(Full::default()).expect("a path in ASCII");
        let answer = Doors::new([self.url("")]).send(0, request, PATIENCE).await;
        let (_, _, body) = answer.expect("the receiver answers");
        serde_json::from_slice(&body).expect("what it has issued")
    }
}

/// What it reports about itself.
#[derive(Deserialize)]
struct Report {
    /// Keys and bodies, in order.
    issued: Vec<(String, String)>,
    /// How often each key came.
    attempts: BTreeMap<String, u64>,
}
