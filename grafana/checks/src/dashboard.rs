//! The dashboards, as Grafana reads them.

use serde_json::Value;

/// A dashboard of `grafana/dashboards`.
pub struct Dashboard {
    /// The name of its file, without the ending.
    pub name: String,
    /// All of it.
    pub json: Value,
}

/// A panel that asks something; a row is none.
pub struct Panel<'a> {
    /// All of it.
    pub json: &'a Value,
    /// Its heading.
    pub title: &'a str,
    /// Its queries.
    pub queries: Vec<Query<'a>>,
}

/// A query of a panel.
pub struct Query<'a> {
    /// `A`, `B`, …
    pub id: &'a str,
    /// In PromQL, with variables.
    pub expression: &'a str,
    /// How its series are called, with their labels as `{{label}}`.
    pub legend: &'a str,
}

/// The place of a panel, in a grid of 24 columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The first column.
    pub x: u64,
    /// The first line.
    pub y: u64,
    /// Columns.
    pub w: u64,
    /// Lines.
    pub h: u64,
}

impl Place {
    /// The place of a panel.
    pub fn of(panel: &Value) -> Self {
        let part = |name| panel["gridPos"][name].as_u64().unwrap_or_default();
        Self { x: part("x"), y: part("y"), w: part("w"), h: part("h") }
    }

    /// Whether two share a cell.
    pub fn overlaps(self, other: Self) -> bool {
        let meet = |a, n, b, m| a < b + m && b < a + n;
        meet(self.x, self.w, other.x, other.w) && meet(self.y, self.h, other.y, other.h)
    }
}

impl<'a> Panel<'a> {
    fn of(json: &'a Value) -> Self {
        let query = |it| Query {
            id: text(it, "refId"),
            expression: text(it, "expr"),
            legend: text(it, "legendFormat"),
        };
        let queries = list(&json["targets"]).map(query).collect();
        Self { json, title: text(json, "title"), queries }
    }
}

impl Dashboard {
    /// Every dashboard there is.
    ///
    /// # Panics
    /// When a file is no JSON.
    pub fn all() -> Vec<Self> {
        let folder = crate::repository().join("grafana/dashboards");
        let files = std::fs::read_dir(folder).expect("the repository has dashboards");
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        let mut names: Vec<_> =
            names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
        names.sort();
        names.iter().map(|name| Self::named(name)).collect()
    }

    /// The one of this name.
    ///
    /// # Panics
    /// When there is none, or it is no JSON.
    pub fn named(name: &str) -> Self {
        let text = crate::read(&format!("grafana/dashboards/{name}.json"));
        let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { name: name.to_owned(), json }
    }

    /// The text of a field.
    pub fn text(&self, field: &str) -> &str {
        text(&self.json, field)
    }

    /// Its variables: what Grafana puts in for `$name`.
    pub fn variables(&self) -> Vec<&Value> {
        list(&self.json["templating"]["list"]).collect()
    }

    /// Panels and rows.
    pub fn tiles(&self) -> Vec<&Value> {
        list(&self.json["panels"]).collect()
    }

    /// Its panels, in their order.
    pub fn panels(&self) -> Vec<Panel<'_>> {
        let panels = self.tiles().into_iter().filter(|tile| text(tile, "type") != "row");
        panels.map(Panel::of).collect()
    }

    /// A query as Grafana sends it: where all values are chosen, and with this `$__rate_interval`.
    /// Values other than all are given by name. Where one alone can be chosen it is the empty one,
    /// as for the namespace of services that have no such label.
    pub fn query(&self, expression: &str, rate_interval: &str, chosen: &[(&str, &str)]) -> String {
        let mut sent = expression.replace("$__rate_interval", rate_interval);
        for variable in self.variables() {
            let name = text(variable, "name");
            let all = if variable["includeAll"] == true { ".*" } else { "" };
            let value = chosen.iter().find(|(of, _)| *of == name).map_or(all, |(_, value)| value);
            sent = sent.replace(&format!("${name}"), value);
        }
        sent
    }
}

/// The text of a field, or none.
pub fn text<'a>(json: &'a Value, field: &str) -> &'a str {
    json[field].as_str().unwrap_or_default()
}

/// The entries of a list, or none.
pub fn list(json: &Value) -> impl Iterator<Item = &Value> {
    json.as_array().into_iter().flatten()
}
