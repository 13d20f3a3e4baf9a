//! Rules that every dashboard keeps to, so that it works in any Grafana, with any number of
//! services.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    process::Command,
};

use anteroom_grafana_checks::{
    contract::{self, Metric},
    dashboard::{Dashboard, Place, list, text},
    promql::{Selector, selectors},
    read, repository,
};
use serde_json::Value;

/// Every type of panel that is used here.
const KINDS: [&str; 2] = ["timeseries", "state-timeline"];
/// What the data source is called wherever one is named.
const SOURCE: &str = "${datasource}";
/// What every selector has. Without such a label the choice is empty, and matches its absence.
const NAMESPACE: &str = "namespace=\"$namespace\"";

/// A mistake in a dashboard, and where it is.
#[derive(Default)]
struct Mistakes(Vec<String>);

impl Mistakes {
    fn check(&mut self, is_so: bool, at: &str, rule: &str) {
        if !is_so {
            self.0.push(format!("{at}: {rule}"));
        }
    }

    fn none(self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}

/// The metric whose series a selector names.
fn metric_of<'a>(selector: &Selector<'_>, documented: &'a [Metric]) -> Option<&'a Metric> {
    let mut all = documented.iter();
    all.find(|metric| {
        let ending = selector.metric.strip_prefix(&metric.name);
        let histogram = metric.kind == "histogram";
        ending.is_some_and(|it| if histogram { !it.is_empty() } else { it.is_empty() })
            && (!histogram || matches!(ending, Some("_bucket" | "_sum" | "_count")))
    })
}

#[test]
fn a_dashboard_is_importable_and_its_own() {
    let mut mistakes = Mistakes::default();
    let dashboards = Dashboard::all();
    assert!(dashboards.len() >= 4, "{}", dashboards.len());
    let mut uids = BTreeSet::new();
    for dashboard in &dashboards {
        let at = dashboard.name.as_str();
        let uid = dashboard.text("uid");
        mistakes.check(uid == format!("anteroom-{at}"), at, "its uid is anteroom-FILE");
        mistakes.check(uid.len() <= 40 && uids.insert(uid), at, "a uid is short, and its own");
        mistakes.check(dashboard.json["id"].is_null(), at, "id is null: Grafana gives one");
        mistakes.check(dashboard.json["editable"] == false, at, "it is not editable");
        mistakes.check(!dashboard.text("title").is_empty(), at, "it has a title");
        mistakes.check(!dashboard.text("description").is_empty(), at, "it has a description");
        let tags = &dashboard.json["tags"];
        mistakes.check(list(tags).any(|tag| tag == "anteroom"), at, "its tag is anteroom");
        let variables = dashboard.variables();
        let first = variables.first().map(|it| (text(it, "name"), text(it, "type")));
        let source = Some(("datasource", "datasource"));
        mistakes.check(first == source, at, "its first variable is the data source");
        let namespace = variables.get(1).map(|it| text(it, "name"));
        mistakes.check(namespace == Some("namespace"), at, "its second variable is the namespace");
        // Queues, limits and targets of two deployments may have the same names.
        let one = |it: &&Value| it["multi"] == false && it["includeAll"] == false;
        let is_one = variables.get(1).is_some_and(one);
        mistakes.check(is_one, at, "one namespace is chosen, so that no query mixes deployments");
        for (number, variable) in variables.into_iter().enumerate().skip(1) {
            let at = format!("{at}, variable {}", text(variable, "name"));
            mistakes.check(variable["refresh"] == 2, &at, "it is read again with the time range");
            mistakes.check(variable["datasource"]["uid"] == SOURCE, &at, "it asks the data source");
            let is_chosen = number == 1 || text(variable, "query").contains(NAMESPACE);
            mistakes.check(is_chosen, &at, "it is of the chosen namespace");
        }
    }
    mistakes.none();
}

#[test]
fn a_panel_says_what_it_shows_and_needs_no_other() {
    let mut mistakes = Mistakes::default();
    for dashboard in Dashboard::all() {
        let mut ids = BTreeSet::new();
        let tiles = dashboard.tiles();
        for (number, tile) in tiles.iter().enumerate() {
            let at = format!("{}, {}", dashboard.name, text(tile, "title"));
            let place = Place::of(tile);
            mistakes.check(ids.insert(tile["id"].as_u64()), &at, "its id is its own");
            let inside = place.w > 0 && place.h > 0 && place.x + place.w <= 24;
            mistakes.check(inside, &at, "it is inside the 24 columns");
            let others = || tiles[..number].iter().map(|other| Place::of(other));
            mistakes.check(!others().any(|it| it.overlaps(place)), &at, "it overlaps no other");
        }
        for panel in dashboard.panels() {
            let at = format!("{}, {}", dashboard.name, panel.title);
            let defaults = &panel.json["fieldConfig"]["defaults"];
            mistakes.check(!panel.title.is_empty(), &at, "it has a title");
            mistakes.check(text(panel.json, "description").len() > 20, &at, "it has a description");
            mistakes.check(!text(defaults, "unit").is_empty(), &at, "it has a unit");
            mistakes.check(
                KINDS.contains(&text(panel.json, "type")),
                &at,
                "its type is known here",
            );
            mistakes.check(panel.json["datasource"]["uid"] == SOURCE, &at, "it names the variable");
            mistakes.check(!panel.queries.is_empty(), &at, "it asks something");
            let ids: BTreeSet<_> = panel.queries.iter().map(|query| query.id).collect();
            mistakes.check(ids.len() == panel.queries.len(), &at, "each query has its own id");
            for (query, json) in panel.queries.iter().zip(list(&panel.json["targets"])) {
                mistakes.check(
                    json["datasource"]["uid"] == SOURCE,
                    &at,
                    "a query names the variable",
                );
                mistakes.check(!query.legend.is_empty(), &at, "a query names its series");
            }
        }
    }
    mistakes.none();
}

#[test]
fn queries_name_what_is_documented_and_add_up_what_may_be() {
    let mut mistakes = Mistakes::default();
    let documented = contract::documented();
    for dashboard in Dashboard::all() {
        for panel in dashboard.panels() {
            for query in &panel.queries {
                let at = format!("{}, {}, {}", dashboard.name, panel.title, query.id);
                let whole = query.expression;
                let sent = dashboard.query(whole, "1m", &[]);
                mistakes.check(
                    !sent.contains('$'),
                    &at,
                    "every variable is one of the dashboard's",
                );
                for selector in selectors(whole) {
                    let at = format!("{at}, {}", selector.metric);
                    let Some(metric) = metric_of(&selector, &documented) else {
                        mistakes.check(false, &at, "it is not documented");
                        continue;
                    };
                    let namespace = selector.matchers.contains(NAMESPACE);
                    mistakes.check(namespace, &at, "it is of the chosen namespace");
                    let shared = !metric.is_shared() || selector.is_max_by();
                    mistakes.check(shared, &at, "a shared gauge is shown with max by");
                    let is_rate = selector.is_in("rate") && whole.contains("[$__rate_interval]");
                    let counts = metric.kind != "gauge";
                    let is_counted = !counts || is_rate || selector.is_in("increase");
                    mistakes.check(is_counted, &at, "a counter is shown by its rate or increase");
                }
                let fixed = whole.match_indices("rate(").count();
                let intervals = whole.match_indices("[$__rate_interval]").count();
                mistakes.check(fixed == intervals, &at, "a rate is over $__rate_interval");
                let is_quantile = whole.contains("histogram_quantile");
                mistakes.check(!is_quantile || whole.contains("le)"), &at, "a quantile needs le");
                // A slow queue has a sample now and then: over $__rate_interval mostly none.
                let is_rare = is_quantile && whole.contains("by (queue, le)");
                let points = text(&panel.json["fieldConfig"]["defaults"]["custom"], "showPoints");
                let is_seen = points == "auto" && whole.contains("increase(");
                mistakes.check(!is_rare || is_seen, &at, "it shows points, of a longer range");
            }
        }
    }
    mistakes.none();
}

/// Nothing is exported that no panel shows, unless it says why.
#[test]
fn every_documented_metric_is_on_a_dashboard_or_says_why_not() {
    let documented = contract::documented();
    let mut shown = BTreeMap::<&str, usize>::new();
    let dashboards = Dashboard::all();
    for dashboard in &dashboards {
        for panel in dashboard.panels() {
            for query in &panel.queries {
                for selector in selectors(query.expression) {
                    if let Some(metric) = metric_of(&selector, &documented) {
                        *shown.entry(&metric.name).or_default() += 1;
                    }
                }
            }
        }
    }
    let not_shown = contract::not_shown();
    for metric in &documented {
        let (is_shown, says_why) =
            (shown.contains_key(metric.name.as_str()), not_shown.contains_key(&metric.name));
        assert!(is_shown || says_why, "{} is on no dashboard", metric.name);
        assert!(!(is_shown && says_why), "{} is on a dashboard", metric.name);
    }
    assert!(not_shown.keys().all(|name| documented.iter().any(|metric| metric.name == *name)));
}

/// A name says its unit, as Prometheus has it.
#[test]
fn a_documented_name_says_its_unit_and_kind() {
    for metric in contract::documented() {
        let ends = |end: &str| metric.name.ends_with(end);
        assert_eq!(metric.kind == "counter", ends("_total"), "{}", metric.name);
        for (end, unit) in [("_seconds", "seconds"), ("_bytes", "bytes"), ("_ratio", "ratio")] {
            assert_eq!(
                metric.unit == unit && metric.kind != "counter",
                ends(end),
                "{}",
                metric.name
            );
        }
        let ours = metric.name.starts_with("anteroom_") || metric.name.starts_with("process_");
        assert!(ours, "{}", metric.name);
        assert!(metric.meaning.len() > 5, "{}", metric.name);
    }
}

/// `grafana/dashboards/kustomization.yaml` names each of them, so that an overlay has all.
#[test]
fn every_dashboard_is_in_the_kustomization() {
    let kustomization = read("grafana/dashboards/kustomization.yaml");
    for dashboard in Dashboard::all() {
        let line = format!("- {}.json\n", dashboard.name);
        assert!(kustomization.contains(&line), "{line}");
    }
}

/// `ANTEROOM_GRAFANA_SDK` names a Python that has grafana-foundation-sdk; `make test` gets one.
/// Without it there is no schema to hold them to.
#[test]
fn dashboards_are_of_grafanas_schema_strictly() {
    let Some(python) = env::var_os("ANTEROOM_GRAFANA_SDK").filter(|path| !path.is_empty()) else {
        eprintln!("skipped: ANTEROOM_GRAFANA_SDK names no Python");
        return;
    };
    let schema = repository().join("grafana/checks/schema.py");
    let check = |files: &[std::path::PathBuf]| {
        let output = Command::new(&python).arg(&schema).args(files).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let dashboards = Dashboard::all();
    let file = |name: &str| repository().join(format!("grafana/dashboards/{name}.json"));
    let files: Vec<_> = dashboards.iter().map(|dashboard| file(&dashboard.name)).collect();
    assert_eq!(check(&files), (Some(0), "\n".to_owned()));

    // And it finds what is wrong: a name that Grafana would drop, a value of another type, a word
    // that is none of the schema's, a type of panel that there is not.
    let right = read("grafana/dashboards/overview.json");
    let folder = tempfile::tempdir().unwrap();
    for (wrong, of) in [
        (r#""lineWidht": 2"#, r#""lineWidth": 2"#),
        (r#""fillOpacity": "8""#, r#""fillOpacity": 8"#),
        (r#""displayMode": "tiles""#, r#""displayMode": "list""#),
        (r#""type": "timeline""#, r#""type": "timeseries""#),
    ] {
        assert!(right.contains(of), "{of}");
        let file = folder.path().join("wrong.json");
        std::fs::write(&file, right.replace(of, wrong)).unwrap();
        let (code, found) = check(&[file]);
        assert_eq!(code, Some(1), "{wrong}: {found}");
    }
}
