//! What is secret changes, as docs/how-to/rotate-secrets.md has it; no visitor is to notice.

pub mod service_key;
pub mod token_secret;

use anyhow::Context as _;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use crate::run::Run;

async fn read_secret(run: &Run, name: &str, key: &str) -> anyhow::Result<String> {
    let secret = run.kubectl.json(&["get", "secret", name]).await?;
    let value = secret["data"][key].as_str().with_context(|| format!("{name} has no {key}"))?;
    Ok(String::from_utf8(STANDARD.decode(value)?)?.trim_end().to_owned())
}

async fn write_secret(run: &Run, name: &str, key: &str, value: &str) -> anyhow::Result<()> {
    let patch = json!({ "data": { key: STANDARD.encode(value) } }).to_string();
    let patch = ["patch", "secret", name, "--type", "merge", "--patch", &patch];
    run.kubectl.run(&patch).await.map(drop)
}
