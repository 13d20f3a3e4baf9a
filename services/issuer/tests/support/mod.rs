//! The example `receiver` as a process.

use std::{path::Path, process::Command};

use anteroom_testkit::{PATIENCE, Process};
use serde_json::Value;

/// The secret that it believes.
pub const SECRET: &str = "a-secret-of-the-tests-of-32-bytes-and-more";

/// A running receiver. It ends with this guard.
pub struct Receiver {
    _process: Process,
    pub address: String,
    /// For the files that go with it.
    #[allow(dead_code, reason = "not in every program of tests")]
    pub folder: tempfile::TempDir,
}

impl Receiver {
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub async fn start_with(env: &[(&str, &Path)]) -> Self {
        let program = std::env::current_exe()
            .ok()
            .and_then(|own| Some(own.parent()?.parent()?.join("examples/receiver")))
            .filter(|program| program.is_file())
            .expect("the example is built: cargo build -p anteroom-issuer --examples");
        let mut command = Command::new(program);
        command.env("RECEIVER_SECRET", SECRET).envs(env.iter().copied());
        let mut process = Process::start(command);
        let line = process.line("listening on ", PATIENCE).await;
        let address = line.rsplit(' ').next().unwrap().to_owned();
        let folder = tempfile::tempdir().unwrap();
        Self { _process: process, address, folder }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The keys that it has issued for, in order.
    pub async fn issued(&self) -> Vec<String> {
        let all = self.told().await;
        let issued = all["issued"].as_array().unwrap().iter();
        issued.map(|one| one[0].as_str().unwrap().to_owned()).collect()
    }

    /// The bodies that it has issued for, in order.
    #[allow(dead_code, reason = "not in every program of tests")]
    pub async fn bodies(&self) -> Vec<Value> {
        let all = self.told().await;
        let issued = all["issued"].as_array().unwrap().iter();
        issued.map(|one| serde_json::from_str(one[1].as_str().unwrap()).unwrap()).collect()
    }

    /// How many calls it has had.
    #[allow(dead_code, reason = "not in every program of tests")]
    pub async fn attempts(&self) -> u64 {
        let all = self.told().await;
        all["attempts"].as_object().unwrap().values().filter_map(Value::as_u64).sum()
    }

    async fn told(&self) -> Value {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let body = reqwest::get(self.url("/issued")).await.unwrap().bytes().await.unwrap();
        serde_json::from_slice(&body).unwrap()
    }
}
