//! `merge`: one report of the parts of a load that several machines played.

use std::collections::BTreeSet;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::{Args, Parser as _};
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::cli::{Arguments, Command};
use crate::client::Target;
use crate::exit::{Outcome, Usage};
use crate::scenario::Scenario;
use crate::share::{FILE, Played, SCHEMA_VERSION, Share};

/// Shares that began further apart did not play together.
const APART: Duration = Duration::from_secs(1);

/// Makes one report from the parts of several machines
#[derive(Args, Debug)]
#[command(after_help = "\
Example, after `ramp --share 0/2 --start-at TIME --output part-0` here and the same with 1/2 there:
  anteroom-loadtest merge part-0 part-1 --output whole

Histograms are added without loss. It refuses missing and duplicate parts, parts of different runs,
and parts that began more than 1 s apart.

Exit codes are those of the shared command.")]
pub struct Merge {
    /// The folders of the parts
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// The folder of the report
    #[arg(long, value_name = "DIR", default_value = "target/loadtest")]
    output: PathBuf,
    /// Sets the plan live at this service port, with the operator's key in ANTEROOM_KEY
    #[arg(long, value_name = "URL", value_parser = Target::parse)]
    apply: Option<Target>,
}

impl Merge {
    /// Merges, and reports as the command that was shared.
    ///
    /// # Errors
    ///
    /// [`Usage`] for parts that do not belong together; as the command that was shared.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        let first: Played<IgnoredAny> = read(&self.folders[0])?;
        let arguments = first.arguments.iter().map(String::as_str);
        let command = Arguments::try_parse_from(iter::once("anteroom-loadtest").chain(arguments))
            .map_err(|error| Usage(format!("{}: {error}", self.folders[0].display())))?;
        let scenario = Arc::new(Scenario::parse(&first.text, &first.file)?);
        match command.command {
            Command::Ramp(args) => {
                args.merged(scenario, parts(&self.folders)?, self.output, self.apply).await
            }
            Command::Rehearse(args) if self.apply.is_none() => {
                args.merged(parts(&self.folders)?, &self.output)
            }
            _ => Err(Usage("only parts of ramp have a plan to apply".to_owned()).into()),
        }
    }
}

fn read<R: DeserializeOwned>(folder: &Path) -> Result<Played<R>, Usage> {
    let path = folder.join(FILE);
    let part = || {
        let part: Played<R> = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
        let version = part.schema_version;
        ensure!(version == SCHEMA_VERSION, "version {version} is not known");
        Ok(part)
    };
    part().map_err(|error: anyhow::Error| Usage(format!("{}: {error}", path.display())))
}

/// The results in the order of the shares, if they belong together.
fn parts<R: DeserializeOwned>(folders: &[PathBuf]) -> anyhow::Result<Vec<R>> {
    let parts = folders.iter().map(|folder| read(folder));
    let mut parts: Vec<Played<R>> = parts.collect::<Result<_, _>>()?;
    parts.sort_by_key(|part| part.share.index);
    let Played { share: Share { count, .. }, arguments, text, .. } = &parts[0];
    let there: BTreeSet<_> = parts.iter().map(|part| part.share.index).collect();
    let missing: Vec<_> = (0..*count).filter(|index| !there.contains(index)).collect();
    let why = format!("of {count} shares these are missing: {missing:?}");
    ensure!(missing.is_empty(), Usage(why));
    let same =
        |it: &Played<R>| (it.share.count, &it.arguments, &it.text) == (*count, arguments, text);
    if let Some(other) = parts.iter().find(|it| !same(it)) {
        let Share { index, count: of } = other.share;
        bail!(Usage(format!(
            "share {index}/{of} is of another run: its arguments or its scenario differ from \
             those of share 0/{count}"
        )));
    }
    ensure!(parts.len() == there.len(), Usage("a share is given twice".to_owned()));
    let started: BTreeSet<_> = parts.iter().map(|part| part.started_at).collect();
    let apart =
        started.last().zip(started.first()).map(|(last, first)| last.duration_since(*first));
    let apart = apart.unwrap_or_default().unsigned_abs();
    let why = format!(
        "the shares began {:.1} s apart; the maximum is 1 s. Use --start-at, and synchronise the \
         clocks of the machines",
        apart.as_secs_f64()
    );
    ensure!(apart <= APART, Usage(why));
    Ok(parts.into_iter().map(|part| part.result).collect())
}
