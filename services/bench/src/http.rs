//! A single question to a service: its readiness and its metrics.

use std::net::SocketAddr;

use anyhow::Context as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Status and body of `GET path`.
pub async fn get(address: SocketAddr, path: &str) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no head")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.context("no status")?, body.to_owned()))
}

/// The sum of all samples of a metric whose line begins with `prefix`, such as
/// `anteroom_store_batch_items_sum{operation="queue.join"}`.
pub fn sample(metrics: &str, prefix: &str) -> f64 {
    let values = metrics.lines().filter_map(|line| line.strip_prefix(prefix));
    values.filter_map(|rest| rest.trim().parse::<f64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_sample_is_read() {
        let metrics = "# HELP x\nx_sum{a=\"b\"} 12\nx_sum{a=\"bc\"} 30\n";
        assert_eq!(super::sample(metrics, "x_sum{a=\"b\"}"), 12.0);
        assert_eq!(super::sample(metrics, "y"), 0.0);
    }
}
