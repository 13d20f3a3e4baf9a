//! A running service, and what it says of itself on its metrics port and in its log.

use std::{collections::HashMap, process::Command};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::{PATIENCE, Process, unique::unique_keys, until};

/// A service and its addresses. It ends with this guard.
pub struct Service {
    /// The process.
    pub process: Process,
    addresses: HashMap<&'static str, String>,
}

impl Service {
    /// Starts it and waits until it has reported where these ports listen.
    ///
    /// # Panics
    /// When it does not.
    pub async fn start(command: Command, ports: &[&'static str]) -> Self {
        let mut process = Process::start(command);
        let mut addresses = HashMap::new();
        for port in ports {
            let line = process.line(&format!("\"port\":\"{port}\""), PATIENCE).await;
            let (_, rest) = line.split_once("\"address\":\"").expect("the line names the address");
            let address = rest.split('"').next().expect("the address has an end");
            addresses.insert(*port, address.to_owned());
        }
        Self { process, addresses }
    }

    /// `host:port` of one of its ports: `metrics`, and of an admission `public` and `service`.
    ///
    /// # Panics
    /// For any other name.
    pub fn address(&self, port: &str) -> &str {
        &self.addresses[port]
    }

    /// The same as `http://host:port`.
    pub fn url(&self, port: &str) -> String {
        format!("http://{}", self.address(port))
    }

    /// Status and body of a GET on the metrics port.
    ///
    /// # Panics
    /// When there is no answer.
    pub async fn get(&self, path: &str) -> (u16, String) {
        self.ask("metrics", &format!("GET {path}"), "").await
    }

    /// A new visitor joins a queue of this admission, and gets a token.
    ///
    /// # Panics
    /// When the join is refused.
    pub async fn join(&self, queue: &str) -> String {
        let (status, body) =
            self.ask("public", &format!("POST /v1/queues/{queue}/tokens"), "{}").await;
        assert_eq!(status, 201, "{body}");
        let place: Value = serde_json::from_str(&body).expect("a place");
        place["token"].as_str().expect("a token").to_owned()
    }

    /// Status and body of the answer to a call, on a connection of its own.
    async fn ask(&self, port: &str, call: &str, body: &str) -> (u16, String) {
        let asking = async {
            let mut stream = TcpStream::connect(self.address(port)).await?;
            let request = format!(
                "{call} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(request.as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            std::io::Result::Ok(answer)
        };
        let answer =
            timeout(PATIENCE, asking).await.expect("an answer in time").expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), body.to_owned())
    }

    /// The sum of the series that a selector names, such as `name` or `name{label="value"}`; labels
    /// that it leaves out may have any value. Absent when there is no such series.
    pub async fn metric(&self, selector: &str) -> Option<f64> {
        let (_, page) = self.get("/metrics").await;
        let (family, labels) = parts(selector);
        let values = page.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (name, all) = parts(series);
            let is_one = name == family && labels.iter().all(|label| all.contains(label));
            is_one.then(|| value.parse::<f64>().ok()).flatten()
        });
        values.reduce(|sum, value| sum + value)
    }

    /// Waits until a [`metric`](Self::metric) is so.
    pub async fn until_metric(&self, selector: &str, is: impl Fn(Option<f64>) -> bool) {
        until(selector, 2 * PATIENCE, async || is(self.metric(selector).await)).await;
    }

    /// Waits until `/readyz` says so.
    pub async fn until_ready(&self) {
        until("ready", 2 * PATIENCE, async || self.get("/readyz").await.0 == 200).await;
    }

    /// How many lines of its log hold this.
    pub fn logged(&self, part: &str) -> usize {
        self.process.stdout().lines().filter(|line| line.contains(part)).count()
    }

    /// Asks it to end, and expects it to end well, and no line of its log to have a key twice.
    pub async fn end(mut self) {
        self.process.term();
        let status = self.process.exit(PATIENCE).await;
        assert_eq!(status.code(), Some(0), "{}", self.process.stdout());
        assert_eq!(self.logged("\"message\":\"stopped\""), 1);
        for line in self.process.stdout().lines().filter(|line| line.starts_with('{')) {
            unique_keys(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        }
        assert_eq!(self.process.stderr(), "");
    }
}

/// The name and the labels of a series.
fn parts(series: &str) -> (&str, Vec<&str>) {
    let (name, labels) = series.split_once('{').unwrap_or((series, ""));
    let labels = labels.strip_suffix('}').unwrap_or(labels).split(',');
    (name, labels.filter(|label| !label.is_empty()).collect())
}
