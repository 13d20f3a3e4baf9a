//! kubectl as a child process, held to one context and one namespace.

use std::{
    path::Path,
    process::{Output, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail};
use serde_json::Value;
use tokio::{io::AsyncWriteExt as _, process::Command, time::timeout};

/// No single call takes longer, unless the cluster hangs.
const LONGEST_CALL: Duration = Duration::from_secs(120);

/// kubectl for one namespace of one cluster.
#[derive(Clone)]
pub struct Kubectl {
    /// The context of the cluster.
    pub context: String,
    /// The namespace.
    pub namespace: String,
}

impl Kubectl {
    /// For this context, or the current one.
    pub async fn new(context: Option<&str>, namespace: &str) -> anyhow::Result<Self> {
        let context = match context {
            Some(context) => context.to_owned(),
            None => {
                let mut command = child();
                let output = command.args(["config", "current-context"]).output();
                let output = output.await.context("kubectl must be installed")?;
                output_of(&output)
                    .context("kubectl has no current context: name one with --context")?
            }
        };
        Ok(Self { context: context.trim().to_owned(), namespace: namespace.to_owned() })
    }

    /// A call with these arguments; it ends with this process.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = child();
        command.args(["--context", &self.context, "--namespace", &self.namespace]);
        command.args(arguments);
        command
    }

    /// What a call prints.
    pub async fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.ask(arguments, None).await
    }

    /// As JSON.
    pub async fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let text = self.run(&[arguments, &["--output", "json"]].concat()).await?;
        serde_json::from_str(&text).with_context(|| format!("kubectl {}", arguments.join(" ")))
    }

    /// Applies an object.
    pub async fn apply(&self, object: &Value) -> anyhow::Result<()> {
        let object = object.to_string();
        self.ask(&["apply", "--filename", "-"], Some(&object)).await.map(drop)
    }

    /// Creates an object. What it has that no one applies stays.
    pub async fn create(&self, object: &Value) -> anyhow::Result<()> {
        let object = object.to_string();
        self.ask(&["create", "--filename", "-"], Some(&object)).await.map(drop)
    }

    /// Everything in a folder that kustomize renders, as objects.
    pub async fn render(&self, folder: &Path) -> anyhow::Result<Vec<Value>> {
        let folder = folder.to_string_lossy();
        let how = ["create", "--dry-run=client", "--validate=false", "--output", "json"];
        // Without our namespace: these objects may name their own.
        let mut command = child();
        command.args(["--context", &self.context]).args(how).args(["--kustomize", &folder]);
        let output = command.output().await?;
        let text =
            output_of(&output).with_context(|| format!("kubectl create --kustomize {folder}"))?;
        let mut objects = Vec::new();
        for object in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
            let object = object.context("what kubectl rendered")?;
            match object["items"].as_array().filter(|_| object["kind"] == "List") {
                Some(items) => objects.extend(items.iter().cloned()),
                None => objects.push(object),
            }
        }
        Ok(objects)
    }

    async fn ask(&self, arguments: &[&str], input: Option<&str>) -> anyhow::Result<String> {
        let called = || format!("kubectl {}", arguments.join(" "));
        let mut command = self.command(arguments);
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().with_context(called)?;
        if let (Some(input), Some(mut to)) = (input, running.stdin.take()) {
            to.write_all(input.as_bytes()).await.with_context(called)?;
        }
        let output = timeout(LONGEST_CALL, running.wait_with_output()).await;
        let output = output.with_context(|| format!("{}: no end in sight", called()))??;
        output_of(&output).with_context(called)
    }
}

/// Ctrl-C reaches this program alone, which then ends its children in order.
fn child() -> Command {
    let mut command = Command::new("kubectl");
    command.process_group(0).kill_on_drop(true).stdin(Stdio::null());
    command
}

fn output_of(output: &Output) -> anyhow::Result<String> {
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
