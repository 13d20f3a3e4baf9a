//! The real shop, and those who call it.

use std::path::PathBuf;
use std::process::Command;

use anteroom_testkit::{PATIENCE, Process};
use reqwest::{Client, Method, RequestBuilder, StatusCode, header::HeaderMap, redirect::Policy};
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

/// A client that follows nothing and keeps no cookies.
pub fn client() -> Client {
    Client::builder().redirect(Policy::none()).no_proxy().build().expect("a client")
}

/// An answer, read whole.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub async fn of(request: RequestBuilder) -> Self {
        let answer = request.send().await.expect("an answer");
        let (status, headers) = (answer.status(), answer.headers().clone());
        Self { status, headers, text: answer.text().await.expect("a body") }
    }

    /// Checks the status.
    #[track_caller]
    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Checks that it is a problem of this code, in full.
    #[track_caller]
    pub fn refuses(&self, status: u16, code: &str) -> &Self {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let body = self.is(status).json();
        assert_eq!((&body["status"], &body["code"]), (&status.into(), &code.into()), "{body}");
        assert!(body["title"].as_str().is_some_and(|title| !title.is_empty()), "{body}");
        self
    }

    /// A header as text; empty when it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("ASCII"))
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The id of its reservation.
    #[track_caller]
    pub fn reservation(&self) -> String {
        self.json()["reservation"].as_str().expect("an id").to_owned()
    }
}
