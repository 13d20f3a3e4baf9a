//! The command line.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anteroom_k8s_checks::NGINX;
use clap::Parser;

use crate::step::Step;

const EXAMPLES: &str = "\
Examples:
  # On the cluster of the current context, with images that it can pull
  anteroom-k8s-e2e --image ghcr.io/anteroom/anteroom:0.2.0 \\
    --image-previous ghcr.io/anteroom/anteroom:0.1.0 \\
    --loadtest-image ghcr.io/anteroom/anteroom/loadtest:0.2.0

  # With Envoy as the gate
  anteroom-k8s-e2e --overlay k8s/overlays/dev-envoy --image ghcr.io/anteroom/anteroom:0.2.0 \\
    --loadtest-image ghcr.io/anteroom/anteroom/loadtest:0.2.0

  # Without Grafana, only the roll-out, and with a look at what is left
  anteroom-k8s-e2e --image anteroom:b --image-previous anteroom:a \\
    --loadtest-image anteroom-loadtest:b --without grafana --steps roll-out --keep

It makes the namespace that --namespace names, works in there only, and removes it at the end, also
after Ctrl-C. The whole takes about 30 minutes.

Exit codes: 0 every line of the table is held; 1 one is not; 64 wrong arguments; 70 it could not be
done; 130 interrupted.";

/// Runs the system on a real cluster, under load, while things change and fail.
#[derive(Debug, Parser)]
#[command(name = "anteroom-k8s-e2e", version, after_help = EXAMPLES)]
pub struct Options {
    /// The image of the services, as the cluster pulls it
    #[arg(long, value_name = "REF")]
    pub image: String,
    /// That of the version before, from which the roll-out begins; the same if left out
    #[arg(long, value_name = "REF")]
    pub image_previous: Option<String>,
    /// The image of the load harness
    #[arg(long, value_name = "REF")]
    pub loadtest_image: String,
    /// The image of NGINX that receives the calls of issuers
    #[arg(long, value_name = "REF", default_value = NGINX)]
    pub receiver_image: String,
    /// Keys of anteroom.toml that the version before does not know
    #[arg(
        long,
        value_name = "KEY,…",
        value_delimiter = ',',
        default_value = "admission.development,limits,targets,events,pools,envoy,\
                         queues.concert.health,queues.concert.adaptive,\
                         queues.concert.places_per_address"
    )]
    pub previous_without: Vec<String>,
    /// Permissions in Redis that the version before needs, and this one does not
    #[arg(long, value_name = "RULES", default_value = "+script|load", allow_hyphen_values = true)]
    pub previous_permissions: String,
    /// What is applied
    #[arg(long, value_name = "DIR", default_value = "k8s/overlays/dev")]
    pub overlay: PathBuf,
    /// A patch for it (YAML); may be given more than once
    #[arg(long, value_name = "FILE")]
    pub patch: Vec<PathBuf>,
    /// A part of it that is left out, such as grafana; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub without: Vec<String>,
    /// The context of the cluster [default: kubectl's current one]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The namespace, which must not exist
    #[arg(long, value_name = "NAME", default_value = "anteroom-e2e")]
    pub namespace: String,
    /// How many visitors there are at a time
    #[arg(long, value_name = "N", default_value_t = 120,
        value_parser = clap::value_parser!(u32).range(20..=10_000))]
    pub visitors: u32,
    /// The metrics contract
    #[arg(long, value_name = "FILE", default_value = "docs/reference/metrics.md")]
    pub metrics: PathBuf,
    /// Which steps, of all in their order [default: all]
    #[arg(long, value_enum, value_name = "STEP,…", value_delimiter = ',')]
    pub steps: Vec<Step>,
    /// Where the table goes as JSON
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Leaves the namespace there
    #[arg(long)]
    pub keep: bool,
}

/// A mistake of the caller: which argument, which rule.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// The text of a file that an argument names.
pub fn read(argument: &str, file: &Path) -> Result<String, Usage> {
    fs::read_to_string(file)
        .map_err(|error| Usage(format!("{argument} {}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_lists_are_read_and_a_missing_image_is_named() {
        let images = ["e2e", "--image", "a:1", "--loadtest-image", "b:1"];
        let with = |more: &[&str]| Options::try_parse_from([&images[..], more].concat());
        let options = with(&["--steps", "kill,roll-out", "--without", "grafana"]).expect("options");
        assert_eq!(options.steps, [Step::Kill, Step::RollOut]);
        assert_eq!(options.previous_without.len(), 9, "{:?}", options.previous_without);
        assert!(with(&["--visitors", "1"]).is_err(), "one visitor makes no line");
        let error = Options::try_parse_from(&images[..3]).expect_err("no harness");
        assert!(error.to_string().contains("--loadtest-image"), "{error}");
    }
}
