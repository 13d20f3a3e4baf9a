//! The options of a command that makes a plan, and what it does with the plan.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use super::apply::Operator;
use super::{Basis, Plan, flags};
use crate::client::Target;
use crate::progress::say;
use crate::report::{self, Part, Report, rounded_json};

/// The file of a plan.
const PLAN: &str = "plan.json";

/// What a plan is for.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The interval of the plan, 1s to 1h
    #[arg(long, default_value = "10s", value_parser = flags::time(flags::INTERVAL))]
    pub interval: Duration,
    /// The share of admitted visitors who show up, above 0% to 100%
    #[arg(long, value_name = "SHARE", default_value = "100%",
        value_parser = flags::share_above_none)]
    pub show_up: f64,
    /// claim_ttl of the queue: how long a called visitor has to enter, 5s to 1h
    #[arg(long, value_name = "TIME", default_value = "60s",
        value_parser = flags::time(flags::CLAIM_TTL))]
    pub claim_ttl: Duration,
    /// The queue that the plan is for
    #[arg(long, value_name = "NAME", default_value = "concert", value_parser = queue)]
    pub queue: String,
    /// Sets the plan live at this service port, with the operator's key in ANTEROOM_KEY
    #[arg(long, value_name = "URL", value_parser = service_port)]
    pub apply: Option<Target>,
}

impl Options {
    /// Adds a plan and where it comes from.
    pub fn show(&self, plan: &Plan, basis: &Basis, report: &mut Report) -> anyhow::Result<()> {
        report.heading("Plan");
        report.text(basis.derivation());
        let fields = rounded_json(serde_json::to_value(plan)?);
        let fields = fields.as_object().into_iter().flatten();
        let rows = fields.map(|(name, value)| [name.clone(), value.to_string()]);
        report.table(["field", "value"], rows.collect());
        if plan.provisional.is_none() {
            report.text("For Kubernetes:");
            report.parts.push(Part::Code(patch(plan, &self.queue)));
        }
        Ok(())
    }

    /// Before anything is measured: makes a folder for the reports, in which no plan of an earlier
    /// run is left beside the report of this one, and looks whether the plan may be set live.
    pub async fn prepare(&self, folder: &Path) -> anyhow::Result<()> {
        report::prepare(folder)?;
        for old in [PLAN.to_owned(), self.patch()].map(|file| folder.join(file)) {
            if old.exists() {
                std::fs::remove_file(&old).with_context(|| old.display().to_string())?;
            }
        }
        match &self.apply {
            Some(service) => Operator::of(service, &self.queue).await?.look().await.map(drop),
            None => Ok(()),
        }
    }

    fn patch(&self) -> String {
        format!("{}.patch.yaml", self.queue)
    }

    /// Writes `plan.json` and, unless the plan is provisional, the patch into a folder that is
    /// there.
    pub fn write(&self, plan: &Plan, folder: &Path) -> anyhow::Result<()> {
        let text = format!("{:#}\n", rounded_json(serde_json::to_value(plan)?));
        std::fs::write(folder.join(PLAN), text)?;
        // A patch has no place for a label.
        if plan.provisional.is_some() {
            return Ok(());
        }
        Ok(std::fs::write(folder.join(self.patch()), patch(plan, &self.queue))?)
    }

    /// Sets a plan live where that is wanted.
    pub async fn set_live(&self, plan: &Plan) -> anyhow::Result<()> {
        let Some(service) = &self.apply else { return Ok(()) };
        Operator::of(service, &self.queue).await?.apply(plan).await?;
        say(&format!("the plan is applied to the queue {}", self.queue));
        Ok(())
    }

    /// Reports that a plan is not set live where that was wanted.
    pub fn refuse(&self, why: &str) {
        if self.apply.is_some() {
            say(&format!("the plan was not applied: {why}"));
        }
    }
}

/// A kustomize patch of the ConfigMap `anteroom-rules`, whose keys the services take as their
/// environment (`envFrom`): only the rules of this queue change, whatever else the ConfigMap holds.
fn patch(plan: &Plan, queue: &str) -> String {
    let prefix = format!("ANTEROOM_QUEUES__{}__", queue.to_ascii_uppercase());
    let Plan { batch, interval_ms, pace, capacity, .. } = plan;
    let mut text = format!(
        "# In kustomization.yaml: patches: [{{ path: {queue}.patch.yaml }}]\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: anteroom-rules\ndata:\n  \
         {prefix}BATCH: \"{batch}\"\n  {prefix}INTERVAL: \"{interval_ms}ms\"\n  \
         {prefix}PACE: {}\n",
        json!(pace)
    );
    if let Some(capacity) = capacity {
        text += &format!("  {prefix}CAPACITY: \"{capacity}\"\n");
    }
    text
}

fn service_port(text: &str) -> Result<Target, String> {
    Target::parse(text).map_err(|rule| format!("{rule}; the key is in ANTEROOM_KEY"))
}

fn queue(text: &str) -> Result<String, String> {
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let name = (1..=40).contains(&text.len()) && text.chars().all(letter);
    if name { Ok(text.to_owned()) } else { Err("a queue's name is [a-z0-9-]{1,40}".to_owned()) }
}
