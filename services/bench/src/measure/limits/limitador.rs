//! A limitador-server with a Redis of its own, one limit for each key.

use std::{path::Path, sync::Arc};

use anteroom_testkit::{PATIENCE, Process, Redis, free_port};
use anyhow::Context as _;

use crate::{
    meter::{OtherServer, Processes},
    request::Requests,
};

const LIMITS: &str = "- namespace: bench\n  max_value: 1000000000\n  seconds: 3600\n  \
                      conditions: []\n  variables: [key]\n";

/// Ends with this.
pub struct Limitador {
    _folder: tempfile::TempDir,
    _process: Process,
    _redis: Redis,
    /// What is measured.
    pub server: OtherServer,
}

impl Limitador {
    /// Starts this program, and waits until it listens.
    pub async fn start(program: &Path, keys: u64) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("limits.yaml");
        std::fs::write(&file, LIMITS)?;
        let redis = Redis::start().await;
        let (port, rls_port) = (free_port(), free_port().to_string());
        let env = [
            ("HTTP_API_HOST", "127.0.0.1"),
            ("HTTP_API_PORT", &port.to_string()),
            ("ENVOY_RLS_HOST", "127.0.0.1"),
            ("ENVOY_RLS_PORT", &rls_port),
        ];
        let file = file.to_str().context("the path of the limits is no UTF-8")?;
        let process = Process::spawn(program, [file, "redis", &redis.url()], &env);
        process.port(port, PATIENCE).await;
        let json =
            r#"{"namespace":"bench","delta":1,"response_headers":null,"values":{"key":"client-"#;
        let server = OtherServer {
            processes: Processes {
                servers: vec![process.id()],
                store: redis.id(),
                ..Processes::default()
            },
            address: ([127, 0, 0, 1], port).into(),
            requests: Arc::new(Requests::posts("/check_and_report", json, keys, "\"}}")),
        };
        Ok(Self { _folder: folder, _process: process, _redis: redis, server })
    }
}
