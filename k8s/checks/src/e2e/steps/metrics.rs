//! Prometheus has every metric of the contract.

use std::{collections::BTreeSet, time::Duration};

use anyhow::ensure;
use serde_json::{Value, json};

use crate::{
    forward::{Forward, status},
    options::read,
    progress::{Look, until},
    run::Run,
    table::Line,
};

/// Some scrapes.
const SCRAPED_WITHIN: Duration = Duration::from_secs(90);

/// Calls what the visitors do not, and looks until each name is there.
pub async fn contract(run: &Run) -> anyhow::Result<()> {
    let text = read("--metrics", &run.options.metrics)?;
    let has = |service: &str| run.has(&format!("deployment/{service}"));
    let names = names(&text, has);
    ensure!(!names.is_empty(), "--metrics {}: it names no metric", run.options.metrics.display());
    call_what_visitors_do_not(run).await?;
    let prometheus = Forward::open(&run.kubectl, "service/prometheus", 9090).await?;
    let look = until("every metric", SCRAPED_WITHIN, async || {
        let missing = missing(&prometheus, &names).await?;
        let text = missing.into_iter().collect::<Vec<_>>().join(", ");
        Ok(if text.is_empty() { Look::Done(()) } else { Look::NotYet(text) })
    });
    let (says, held) = match look.await {
        Ok(_) => (format!("Prometheus has all {} of the contract", names.len()), true),
        Err(error) => (format!("{error:#}"), false),
    };
    run.add(Line::new("metrics", says, Some(held)));
    Ok(())
}

/// All but queues, which the sample service has no use for.
async fn call_what_visitors_do_not(run: &Run) -> anyhow::Result<()> {
    let service = Forward::open(&run.kubectl, "service/admission", 8081).await?;
    let [limits, targets, events, pools] = {
        let configuration = run.configuration();
        ["limits", "targets", "events", "pools"].map(|kind| configuration.names(kind))
    };
    // As many as an adaptive batch asks for before it steps.
    let outcome = json!({ "successes": 70, "failures": 30, "latency_ms": 20 });
    let checks =
        limits.iter().map(|name| (format!("/v1/limits/{name}/check"), json!({ "key": "e2e" })));
    let outcomes =
        targets.iter().map(|name| (format!("/v1/targets/{name}/outcomes"), outcome.clone()));
    let applicant = json!({ "visitor_id": "e2e" });
    let applications =
        events.iter().map(|name| (format!("/v1/events/{name}/applications"), applicant.clone()));
    let named = json!({ "amount": 1, "operation_id": "e2e" });
    let reserved = pools.iter().flat_map(|name| {
        ["draws", "holds"].map(|call| (format!("/v1/pools/{name}/{call}"), named.clone()))
    });
    for (path, body) in checks.chain(outcomes).chain(applications).chain(reserved) {
        let call = service.request("POST", &path).bearer_auth(&run.key).json(&body);
        let answer = status(call).await?;
        ensure!(matches!(answer, 200..=202 | 409 | 429), "{path} is answered {answer}");
    }
    Ok(())
}

/// The names of the contract: those of its tables, if one of the services that have them is there.
fn names(text: &str, has: impl Fn(&str) -> bool) -> BTreeSet<&str> {
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let name = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
        // Behind the type, the unit and the labels.
        let mut services = cells.nth(3)?.split(", ");
        let is_ours = name.starts_with("anteroom_") || name.starts_with("process_");
        (is_ours && services.any(&has)).then_some(name)
    });
    rows.collect()
}

async fn missing(prometheus: &Forward, names: &BTreeSet<&str>) -> anyhow::Result<BTreeSet<String>> {
    let known = prometheus.get("/api/v1/label/__name__/values").await?;
    let known: Value = serde_json::from_str(&known)?;
    let known: BTreeSet<_> =
        known["data"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let has =
        |name: &str| known.contains(name) || known.contains(format!("{name}_bucket").as_str());
    Ok(names.iter().filter(|name| !has(name)).map(|name| (*name).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn the_names_of_the_contract_are_read() {
        let text = "also `anteroom_up{a}` and `x`\n\
            | metric | type | unit | labels | service | meaning |\n|---|---|---|---|---|---|\n\
            | `anteroom_queue_depth` | gauge | places | `queue` | admission, envoy | Waiting. |\n\
            | `anteroom_envoy_calls` | counter | calls | | envoy | Calls. |";
        let of =
            |services: &[&str]| Vec::from_iter(names(text, |service| services.contains(&service)));
        assert_eq!(of(&["admission"]), ["anteroom_queue_depth"]);
        assert_eq!(of(&["admission", "envoy"]), ["anteroom_envoy_calls", "anteroom_queue_depth"]);
    }
}
