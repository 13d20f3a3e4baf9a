//! HTTP to a pod or a Service, through `kubectl port-forward`.

use std::{process::Stdio, time::Duration};

use anyhow::Context as _;
use reqwest::{Client, RequestBuilder, Response};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, copy, sink},
    process::Child,
    time::timeout,
};

use crate::kubectl::Kubectl;

const WITHIN: Duration = Duration::from_secs(10);

/// A port that leads there; closed when it is dropped.
pub struct Forward {
    _child: Child,
    address: String,
    client: Client,
}

impl Forward {
    /// To a port of `pod/NAME` or `service/NAME`.
    pub async fn open(kubectl: &Kubectl, to: &str, port: u16) -> anyhow::Result<Self> {
        let there = || format!("a way to {to}, port {port}");
        let mut command = kubectl.command(&["port-forward", to, &format!(":{port}")]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().with_context(there)?);
        let mut line = String::new();
        timeout(WITHIN, lines.read_line(&mut line)).await.with_context(there)??;
        // Forwarding from 127.0.0.1:40001 -> 8080
        let address = line.split_whitespace().nth(2).with_context(there)?.to_owned();
        // kubectl writes a line for each connection, and forwards none while these are not read.
        tokio::spawn(async move { copy(&mut lines, &mut sink()).await });
        // A connection that was kept may end as the next request goes out.
        let client =
            Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(WITHIN).build()?;
        Ok(Self { _child: child, address, client })
    }

    /// A request to this path.
    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = method.parse().unwrap_or_default();
        self.client.request(method, format!("http://{}{path}", self.address))
    }

    /// The body of a path that answers 200.
    pub async fn get(&self, path: &str) -> anyhow::Result<String> {
        let answer = self.request("GET", path).send().await.context(path.to_owned())?;
        Ok(answer.error_for_status()?.text().await?)
    }
}

/// The status of an answer.
pub async fn status(request: RequestBuilder) -> anyhow::Result<u16> {
    Ok(request.send().await.map(|answer: Response| answer.status().as_u16())?)
}
