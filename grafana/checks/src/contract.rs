//! The contract of the page [`METRICS`](docs::METRICS), whose tables are what the services export.

use std::collections::{BTreeMap, BTreeSet};

use anteroom_testkit::docs;

/// In the order of the page.
const SERVICES: [&str; 4] = ["admission", "scheduler", "issuer", "envoy"];

/// The section of the configuration whose keys a HELP text names, by the begin of the metric's
/// name.
const SECTIONS: [(&str, &str); 8] = [
    ("anteroom_envoy_", "envoy"),
    ("anteroom_event_", "events.NAME"),
    ("anteroom_limit_", "limits.NAME"),
    ("anteroom_pool_", "pools.NAME"),
    ("anteroom_target_", "targets.NAME"),
    ("anteroom_queue_", "queues.NAME"),
    ("anteroom_promotion_", "queues.NAME"),
    ("anteroom_gate_", "queues.NAME"),
];

/// A documented metric.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its name, without the endings of a histogram's series.
    pub name: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// What it counts.
    pub unit: String,
    /// What it means.
    pub meaning: String,
}

impl Metric {
    /// The metric of a row of a table.
    fn of(line: &str) -> Option<Self> {
        let [name, kind, unit, _, _, meaning] = cells(line)?.try_into().ok()?;
        let name = name.strip_prefix('`')?.strip_suffix('`')?.to_owned();
        Some(Self { name, kind, unit, meaning })
    }

    /// Whether it shows what is in the store, so that every process has the same.
    pub fn is_shared(&self) -> bool {
        let of_an_entity =
            ["anteroom_queue_", "anteroom_target_", "anteroom_event_", "anteroom_pool_"];
        self.kind == "gauge" && of_an_entity.iter().any(|start| self.name.starts_with(start))
    }
}

/// The documented metrics, in the order of the page.
pub fn documented() -> Vec<Metric> {
    docs::read(docs::METRICS).text.lines().filter_map(Metric::of).collect()
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

/// What the services export of one metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Family {
    kind: String,
    /// The HELP text: what it means.
    help: String,
    /// The names of its labels, without `le`.
    labels: BTreeSet<String>,
    services: BTreeSet<String>,
}

/// What all services export, by name, and in what they contradict each other.
#[derive(Debug, Default)]
pub struct Exported {
    families: BTreeMap<String, Family>,
    contradictions: BTreeSet<String>,
}

impl Exported {
    /// Adds the metrics page of a service.
    pub fn add(&mut self, service: &str, page: &str) {
        for (name, mut family) in families(page, &mut self.contradictions) {
            family.services.insert(service.to_owned());
            let known = self.families.entry(name.clone()).or_insert_with(|| family.clone());
            known.services.append(&mut family.services.clone());
            family.services.clone_from(&known.services);
            if family != *known {
                self.contradictions.insert(format!("{name}: {family:?} of {service}, {known:?}"));
            }
        }
    }

    /// The documented metrics that no service exports.
    pub fn missing<'a>(&self, documented: &'a [Metric]) -> Vec<&'a str> {
        let names = documented.iter().map(|metric| metric.name.as_str());
        names.filter(|name| !self.families.contains_key(*name)).collect()
    }

    /// The page [`METRICS`](docs::METRICS) with the rows that follow from what is exported. Its
    /// units, the order and all else stay.
    ///
    /// # Errors
    ///
    /// What a person must change first: the rows that are missing or too many, and contradictions.
    pub fn page(&self, page: &str) -> Result<String, String> {
        let anchors = docs::read(docs::CONFIGURATION).anchors();
        let (mut lines, mut rows) = (Vec::new(), BTreeSet::new());
        let mut faults: Vec<_> = self.contradictions.iter().cloned().collect();
        for line in page.lines() {
            let Some(metric) = Metric::of(line) else {
                lines.push(line.to_owned());
                continue;
            };
            match self.families.get(&metric.name) {
                Some(family) => lines.push(family.row(&metric, &anchors)),
                None => faults.push(format!("{} is not exported: delete its row", metric.name)),
            }
            rows.insert(metric.name);
        }
        for name in self.families.keys().filter(|name| !rows.contains(*name)) {
            let row = format!("| `{name}` | - | UNIT | - | - | - |");
            faults.push(format!("{name} has no row: add {row} to the table where it belongs"));
        }
        if faults.is_empty() { Ok(lines.join("\n") + "\n") } else { Err(faults.join("\n")) }
    }
}

impl Family {
    /// The row of a table.
    fn row(&self, metric: &Metric, anchors: &[String]) -> String {
        let labels: Vec<_> = self.labels.iter().map(|label| format!("`{label}`")).collect();
        let is_exporter = |service: &&str| self.services.contains(*service);
        let services: Vec<_> = SERVICES.into_iter().filter(is_exporter).collect();
        let cells = [
            format!("`{}`", metric.name),
            self.kind.clone(),
            metric.unit.clone(),
            labels.join(", "),
            services.join(", "),
            markdown(&metric.name, &self.help, anchors).replace('|', "\\|"),
        ];
        let cells =
            cells.iter().map(|it| if it.is_empty() { String::new() } else { format!(" {it}") });
        format!("|{} |", cells.collect::<Vec<_>>().join(" |"))
    }
}

/// A HELP text whose keys of the configuration are links.
fn markdown(metric: &str, help: &str, anchors: &[String]) -> String {
    let sections = SECTIONS.iter().find(|(prefix, _)| metric.starts_with(prefix));
    let section = sections.map_or("admission", |(_, section)| section);
    // Every second part is code.
    let parts = help.split('`').enumerate().map(|(number, part)| {
        if number % 2 == 0 {
            return part.to_owned();
        }
        let key = part.split(" = ").next().unwrap_or_default();
        let anchor = docs::anchor(&format!("{section}.{key}"));
        if anchors.contains(&anchor) {
            format!("[`{part}`](configuration.md#{anchor})")
        } else {
            format!("`{part}`")
        }
    });
    parts.collect()
}

/// The families of a page in the text format, by name; a family whose series differ in their labels
/// contradicts itself.
fn families(page: &str, contradictions: &mut BTreeSet<String>) -> BTreeMap<String, Family> {
    let mut families = BTreeMap::<String, Family>::new();
    let mut seen = BTreeSet::new();
    for line in page.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|it| it.split_once(' ')) {
            families.entry(name.to_owned()).or_default().help = help.to_owned();
        } else if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|it| it.split_once(' '))
        {
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
            let labels = label_names(labels);
            if seen.insert(name.to_owned()) {
                family.labels = labels;
            } else if family.labels != labels {
                contradictions.insert(format!("{name} has the labels {labels:?}"));
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "A text.\n\n\
        | `a_seconds` | histogram | seconds | `queue` | admission | A. |\n\
        | `b` | gauge | things | | admission | B \\| `open`. |\n";
    const A: &str = "# HELP a_seconds A.\n# TYPE a_seconds histogram\n\
        a_seconds_bucket{queue=\"x\",le=\"+Inf\"} 1\na_seconds_sum{queue=\"x\"} 1\n\
        a_seconds_count{queue=\"x\"} 1\n";
    const B: &str = "# HELP b B | `open`.\n# TYPE b gauge\nb 1\n";

    fn page(pages: &[(&str, &str)]) -> Result<String, String> {
        let mut exported = Exported::default();
        pages.iter().for_each(|(service, page)| exported.add(service, page));
        exported.page(ROWS)
    }

    #[test]
    fn rows_are_what_is_exported() {
        let both = [A, B].concat();
        assert_eq!(page(&[("admission", &both)]), Ok(ROWS.to_owned()));
        for (old, new, was, is) in [
            ("A.", "Aa.", "| A. |", "| Aa. |"),
            ("gauge", "counter", "| gauge |", "| counter |"),
            ("b 1", "b{x=\"y\",a=\"\"} 1", "| things | |", "| things | `a`, `x` |"),
        ] {
            let exported = both.replace(old, new);
            assert_eq!(page(&[("admission", &exported)]), Ok(ROWS.replace(was, is)));
        }
        let both = page(&[("scheduler", B), ("admission", &both)]);
        assert_eq!(both, Ok(ROWS.replace("| admission | B", "| admission, scheduler | B")));
    }

    #[test]
    fn what_a_person_must_change_is_named() {
        let (both, c) = ([A, B].concat(), "# TYPE c gauge\nc 1\n");
        let differs = format!("{both}b{{x=\"y\"}} 1\n");
        let (both, differs) = (both.as_str(), differs.as_str());
        for (exported, named) in [
            (vec![("admission", A)], "b is not exported: delete its row"),
            (vec![("admission", both), ("issuer", c)], "add | `c` | - | UNIT | - | - | - | to"),
            (vec![("admission", both), ("issuer", "# HELP b C.\nb 1\n")], "of issuer"),
            (vec![("admission", differs)], "b has the labels {\"x\"}"),
        ] {
            let found = page(&exported).expect_err(named);
            assert!(found.lines().count() == 1 && found.contains(named), "{found}");
        }
    }

    #[test]
    fn keys_of_the_configuration_are_links() {
        let anchors = ["queuesnameidle_ttl", "limitsnameon_store_error"].map(str::to_owned);
        for (metric, help, text) in [
            (
                "anteroom_queue_away",
                "`idle_ttl`.",
                "[`idle_ttl`](configuration.md#queuesnameidle_ttl).",
            ),
            ("anteroom_limit_x", "A `idle_ttl` or open", "A `idle_ttl` or open"),
            (
                "anteroom_limit_x",
                "`on_store_error = \"open\"`",
                "[`on_store_error = \"open\"`](configuration.md#limitsnameon_store_error)",
            ),
        ] {
            assert_eq!(markdown(metric, help, &anchors), text);
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
