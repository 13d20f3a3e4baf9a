//! The job of the load test: shares of one load.

use serde_json::Value;

use super::Findings;
use crate::rendered::{items, of_kind, pod};

/// Each index has a share, all play at once, and none plays again. Applying the job starts no load.
pub fn shares_are_whole(objects: &[Value], findings: &mut Findings) {
    for job in of_kind(objects, "Job") {
        let spec = &job["spec"];
        let arguments = items(&pod(job)["containers"][0]["args"]).iter();
        let shares = arguments.filter_map(|argument| argument.as_str()?.strip_prefix("--share="));
        let shares: Vec<_> = shares.collect();
        let whole = format!("$(JOB_COMPLETION_INDEX)/{}", spec["completions"]);
        findings.unless(shares == [&whole], format!("{shares:?} of {}", spec["completions"]));
        findings.unless(spec["parallelism"] == spec["completions"], "they do not play at once");
        findings.unless(spec["completionMode"] == "Indexed", "no index");
        findings.unless(spec["backoffLimitPerIndex"] == 0, "a share plays again");
        findings.unless(spec["suspend"] == true, "applying it starts a load");
    }
}
