//! A real Prometheus of a test's own.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anteroom_testkit::{PATIENCE, Process, free_port, until};
use reqwest::{Client, StatusCode};
use serde_json::Value;
use tempfile::TempDir;
use url::Url;

/// Between two scrapes, and two evaluations of the rules.
pub const EVERY: Duration = Duration::from_millis(500);

/// A Prometheus with the rules of `grafana/alerts`. It ends with this guard.
pub struct Prometheus {
    _process: Process,
    _folder: TempDir,
    url: Url,
    client: Client,
}

/// A series of an answer.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Seconds since 1970 and the value, which may be no number.
    pub points: Vec<(f64, f64)>,
}

impl Prometheus {
    /// Starts one that scrapes these jobs at these addresses.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start(jobs: &[(&str, Vec<&str>)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let every = format!("{}ms", EVERY.as_millis());
        let rules = crate::repository().join("grafana/alerts/anteroom.rules.yaml");
        let mut config = format!(
            "global: {{scrape_interval: {every}, scrape_timeout: {every}, \
             evaluation_interval: {every}}}\nrule_files: [{rules:?}]\nscrape_configs:\n"
        );
        for (job, addresses) in jobs {
            let targets = format!("[{{targets: {addresses:?}}}]");
            config += &format!("  - {{job_name: {job}, static_configs: {targets}}}\n");
        }
        let file = folder.path().join("prometheus.yml");
        fs::write(&file, config).expect("a file");
        let address = format!("127.0.0.1:{}", free_port());
        let arguments = [
            format!("--config.file={}", file.display()),
            format!("--storage.tsdb.path={}", folder.path().join("data").display()),
            format!("--web.listen-address={address}"),
            "--log.level=warn".to_owned(),
        ];
        let process = Process::spawn("prometheus", arguments, &[]);
        let url = Url::parse(&format!("http://{address}")).expect("an address is a URL");
        let client = Client::new();
        let prometheus = Self { _process: process, _folder: folder, url, client };
        until("Prometheus is ready", PATIENCE, async || {
            let ready = prometheus.client.get(prometheus.path("/-/ready")).send().await;
            ready.is_ok_and(|answer| answer.status() == StatusCode::OK)
        })
        .await;
        prometheus
    }

    /// What an expression is at each `step` of this time.
    ///
    /// # Panics
    /// When Prometheus refuses it.
    pub async fn range(
        &self,
        expression: &str,
        (from, to): (SystemTime, SystemTime),
        step: Duration,
    ) -> Vec<Series> {
        let query = [
            ("query", expression.to_owned()),
            ("start", seconds(from).to_string()),
            ("end", seconds(to).to_string()),
            ("step", step.as_secs_f64().to_string()),
        ];
        let data = self.get("/api/v1/query_range", &query).await;
        let series = data["result"].as_array().into_iter().flatten().map(|series| {
            let labels = series["metric"].as_object().into_iter().flatten();
            let label = |(name, value): (&String, &Value)| {
                (name.clone(), value.as_str().unwrap_or_default().to_owned())
            };
            let point =
                |point: &Value| Some((point[0].as_f64()?, point[1].as_str()?.parse::<f64>().ok()?));
            let points = series["values"].as_array().into_iter().flatten();
            Series {
                labels: labels.map(label).collect(),
                points: points.filter_map(point).collect(),
            }
        });
        series.collect()
    }

    /// The rules, as it has read them.
    ///
    /// # Panics
    /// When it does not answer.
    pub async fn rules(&self) -> Vec<Value> {
        let data = self.get("/api/v1/rules", &[]).await;
        let groups = data["groups"].as_array().into_iter().flatten();
        groups.flat_map(|group| group["rules"].as_array().cloned().unwrap_or_default()).collect()
    }

    fn path(&self, path: &str) -> Url {
        self.url.join(path).expect("a path is part of a URL")
    }

    async fn get(&self, path: &str, query: &[(&str, String)]) -> Value {
        let mut url = self.path(path);
        url.query_pairs_mut().extend_pairs(query);
        let answer = self.client.get(url).send().await.expect("Prometheus answers");
        let answer: Value = answer.json().await.expect("Prometheus answers in JSON");
        assert_eq!(answer["status"], "success", "{query:?}: {answer}");
        answer["data"].clone()
    }
}

/// Seconds since 1970.
fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map(|it| it.as_secs_f64()).unwrap_or_default()
}
