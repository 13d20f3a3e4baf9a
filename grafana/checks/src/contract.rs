//! The contract of the page [`METRICS`](docs::METRICS), and what a service exports beside it.

use std::collections::{BTreeMap, BTreeSet};

use anteroom_testkit::docs;

/// A documented metric.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its name, without the endings of a histogram's series.
    pub name: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// What it counts.
    pub unit: String,
    /// Its labels, without `le`.
    pub labels: BTreeSet<String>,
    /// The services that export it.
    pub services: BTreeSet<String>,
    /// What it says.
    pub meaning: String,
}

impl Metric {
    /// Whether it shows what is in the store, so that every process has the same.
    pub fn is_shared(&self) -> bool {
        let of_an_entity =
            ["anteroom_queue_", "anteroom_target_", "anteroom_event_", "anteroom_pool_"];
        self.kind == "gauge" && of_an_entity.iter().any(|start| self.name.starts_with(start))
    }
}

/// The documented metrics, in the order of the page.
pub fn documented() -> Vec<Metric> {
    let page = docs::read(docs::METRICS).text;
    let rows = page.lines().filter_map(|line| {
        let [name, kind, unit, labels, services, meaning] = cells(line)?.try_into().ok()?;
        let words = |cell: &str| -> BTreeSet<String> {
            let words = cell.split(',').map(|word| word.trim().trim_matches('`').to_owned());
            words.filter(|word| !word.is_empty()).collect()
        };
        Some(Metric {
            name: name.strip_prefix('`')?.strip_suffix('`')?.to_owned(),
            kind,
            unit,
            labels: words(&labels),
            services: words(&services),
            meaning,
        })
    });
    rows.collect()
}

/// The metrics that are on no dashboard, and why.
pub fn not_shown() -> BTreeMap<String, String> {
    let page = docs::read(docs::METRICS).text;
    let rows = page.lines().filter_map(|line| {
        let [name, why] = cells(line)?.try_into().ok()?;
        Some((name.strip_prefix('`')?.strip_suffix('`')?.to_owned(), why))
    });
    rows.collect()
}

/// The cells of a row of a table.
fn cells(line: &str) -> Option<Vec<String>> {
    let row = line.strip_prefix("| ")?.strip_suffix(" |")?.replace("\\|", "\u{1}");
    // An empty cell has one space.
    let row = row.replace("| |", "|  |");
    Some(row.split(" | ").map(|cell| cell.trim().replace('\u{1}', "|")).collect())
}

/// A family of a metrics page.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    /// The sets of labels of its series, without `le`.
    labels: BTreeSet<BTreeSet<String>>,
}

/// The families of a page in the text format, by name.
fn families(page: &str) -> BTreeMap<String, Family> {
    let mut families = BTreeMap::<String, Family>::new();
    for line in page.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|it| it.split_once(' ')) {
            families.entry(name.to_owned()).or_default().kind = kind.to_owned();
        } else if !line.starts_with('#') && !line.is_empty() {
            let (series, labels) = line.split_once('{').unwrap_or((line, ""));
            let series = series.split(' ').next().unwrap_or_default();
            let ends = ["_bucket", "_sum", "_count"].iter();
            let histogram = ends.filter_map(|end| series.strip_suffix(end));
            let name = histogram
                .chain([series])
                .find(|name| families.contains_key(*name))
                .unwrap_or(series);
            let family = families.entry(name.to_owned()).or_default();
            family.labels.insert(label_names(labels));
        }
    }
    families
}

/// The names in `a="x",b="y"} 1`, without `le`.
fn label_names(labels: &str) -> BTreeSet<String> {
    // Every second part is between quotes, unless a value has one in it, which no label of ours
    // has.
    let names = labels.split('"').step_by(2).filter_map(|part| part.strip_suffix('='));
    let names = names.map(|name| name.trim_start_matches([',', ' ']).to_owned());
    names.filter(|name| name != "le").collect()
}

/// What the metrics page of a service has otherwise than the documentation says.
pub fn differences(documented: &[Metric], service: &str, page: &str) -> Vec<String> {
    let families = families(page);
    let mut found = Vec::new();
    for (name, family) in &families {
        let Some(metric) = documented.iter().find(|metric| metric.name == *name) else {
            found.push(format!("{service}: {name} is not documented"));
            continue;
        };
        if !metric.services.contains(service) {
            found.push(format!("{service}: {name} is not documented for this service"));
        }
        if family.kind != metric.kind {
            found.push(format!("{service}: {name} is a {}, not a {}", family.kind, metric.kind));
        }
        for labels in family.labels.iter().filter(|labels| **labels != metric.labels) {
            found.push(format!("{service}: {name} has the labels {labels:?}"));
        }
    }
    let missing = documented.iter().filter(|metric| metric.services.contains(service));
    for metric in missing.filter(|metric| !families.contains_key(&metric.name)) {
        found.push(format!("{service}: {} is not exported", metric.name));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP a_seconds A.\n# TYPE a_seconds histogram\n\
        a_seconds_bucket{queue=\"x\",le=\"+Inf\"} 1\na_seconds_sum{queue=\"x\"} 1\n\
        a_seconds_count{queue=\"x\"} 1\n# TYPE b gauge\nb 1\n";

    fn metric(name: &str, kind: &str, labels: &[&str]) -> Metric {
        let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let (unit, meaning) = (String::new(), String::new());
        let (name, kind) = (name.to_owned(), kind.to_owned());
        Metric { name, kind, unit, labels: set(labels), services: set(&["admission"]), meaning }
    }

    #[test]
    fn each_difference_is_found() {
        let right = [metric("a_seconds", "histogram", &["queue"]), metric("b", "gauge", &[])];
        assert_eq!(differences(&right, "admission", PAGE), [""; 0]);
        let [histogram, gauge] = right;
        for (documented, named) in [
            (vec![histogram.clone()], "b is not documented"),
            (vec![histogram.clone(), metric("b", "counter", &[])], "b is a gauge, not a counter"),
            (vec![histogram.clone(), metric("b", "gauge", &["x"])], "b has the labels {}"),
            (vec![gauge.clone(), metric("a_seconds", "histogram", &[])], "has the labels"),
            (vec![gauge, histogram, metric("c", "gauge", &[])], "c is not exported"),
        ] {
            let found = differences(&documented, "admission", PAGE);
            assert!(found.len() == 1 && found[0].contains(named), "{found:?}");
        }
    }

    #[test]
    fn the_page_is_read_whole() {
        let documented = documented();
        let rows = docs::read(docs::METRICS).text;
        let rows = rows.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(documented.len() + not_shown().len(), rows, "a row that is not a metric's");
        let eta = documented.iter().find(|it| it.name == "anteroom_queue_eta_error_ratio");
        assert!(eta.is_some_and(|it| it.meaning.contains("|estimate − true wait|")), "{eta:?}");
    }
}
