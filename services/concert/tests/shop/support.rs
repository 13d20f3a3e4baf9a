//! The real shop, and those who call it.

use std::path::PathBuf;
use std::process::Command;

pub use anteroom_testkit::{Answer, client};
use anteroom_testkit::{PATIENCE, Process};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;
use tempfile::TempDir;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_anteroom-concert");

/// A running shop, on a file of its own.
pub struct Concert {
    pub process: Process,
    pub url: String,
    client: Client,
    folder: TempDir,
    arguments: Vec<String>,
}

impl Concert {
    /// Starts it on a free port.
    pub async fn start(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self::start_in(tempfile::tempdir().expect("a folder"), arguments, &[]).await
    }

    /// With an environment.
    pub async fn start_with(arguments: &[&str], env: &[(&str, &str)]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self::start_in(tempfile::tempdir().expect("a folder"), arguments, env).await
    }

    async fn start_in(folder: TempDir, arguments: Vec<String>, env: &[(&str, &str)]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["--listen", "127.0.0.1:0", "--database"]).arg(file(&folder));
        command.args(&arguments).envs(env.iter().copied());
        let mut process = Process::start(command);
        let line = process.line("\"message\":\"listening\"", PATIENCE).await;
        let line: Value = serde_json::from_str(&line).expect("a line of the log");
        let url = format!("http://{}", line["address"].as_str().expect("an address"));
        Self { process, url, client: client(), folder, arguments }
    }

    /// The file that holds the shop.
    pub fn file(&self) -> PathBuf {
        file(&self.folder)
    }

    /// Killed, and started again on the same file.
    pub async fn killed_and_started_again(mut self) -> Self {
        self.process.kill();
        Self::start_in(self.folder, self.arguments, &[]).await
    }

    pub fn call(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.call(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str) -> Answer {
        Answer::of(self.call(Method::POST, path)).await
    }

    /// Wants a seat of the first show.
    pub async fn reserve(&self, seat: i64) -> Answer {
        self.post(&format!("/api/shows/1/seats/{seat}/reservation")).await
    }

    pub async fn pay(&self, reservation: &str) -> Answer {
        self.post(&format!("/api/reservations/{reservation}/payment")).await
    }

    /// The state of a seat of the first show.
    pub async fn state(&self, seat: i64) -> String {
        let seats = self.get("/api/shows/1/seats").await.is(200).json()["seats"].take();
        let seats = seats.as_array().expect("seats");
        let seat = seats.iter().find(|found| found["id"] == seat).expect("the seat");
        seat["state"].as_str().expect("a state").to_owned()
    }
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("concert.sqlite")
}

/// What an answer of the shop has beside that of any service.
pub trait Reserved {
    /// The id of its reservation.
    fn reservation(&self) -> String;
}

impl Reserved for Answer {
    #[track_caller]
    fn reservation(&self) -> String {
        self.json()["reservation"].as_str().expect("an id").to_owned()
    }
}
