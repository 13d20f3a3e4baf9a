//! The example `receiver` as a process.

use std::{path::Path, process::Command, time::Duration};

use anteroom_issuer::webhook::{Answer, Application, Webhook};
use anteroom_runtime::config::Endpoint;
use anteroom_testkit::{PATIENCE, Process};
use serde_json::Value;

pub const SECRET: &str = "a-secret-of-the-tests-of-32-bytes-and-more";
pub const ANN: Application<'static> =
    Application { event: "coupon", visitor_id: "ann", sequence: 17 };

/// A running receiver. It ends with this guard.
pub struct Receiver {
    _process: Process,
    pub address: String,
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
        Self { _process: process, address }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A webhook that leads to this path.
    pub fn webhook(&self, path: &str) -> Webhook {
        webhook(&self.url(path), PATIENCE)
    }

    /// The keys that it has issued for, in order.
    pub async fn issued(&self) -> Vec<String> {
        let body = reqwest::get(self.url("/issued")).await.unwrap().bytes().await.unwrap();
        let all: Value = serde_json::from_slice(&body).unwrap();
        let issued = all["issued"].as_array().unwrap().iter();
        issued.map(|one| one[0].as_str().unwrap().to_owned()).collect()
    }
}

pub fn webhook(url: &str, timeout: Duration) -> Webhook {
    signed_by(url, timeout, &[SECRET])
}

pub fn signed_by(url: &str, timeout: Duration, secrets: &[&str]) -> Webhook {
    let secrets = secrets.iter().map(|secret| (*secret).into()).collect();
    Webhook::new(Endpoint::parse(url, false).unwrap(), timeout, secrets).unwrap()
}

/// The error of a try that is to be repeated.
pub fn failure(answer: Answer) -> String {
    match answer {
        Answer::Failed { error, .. } => error,
        other => panic!("{other:?}"),
    }
}
