//! A client of limits.

use anteroom_testkit::{PATIENCE, Service};
use reqwest::Client;
use serde_json::{Value, json};

/// The answer to a check.
#[derive(Clone, Debug)]
pub struct Decision {
    pub status: u16,
    pub body: Value,
    pub retry_after: Option<u64>,
}

impl Decision {
    pub fn allowed(&self) -> bool {
        self.body["allowed"].as_bool().unwrap_or_else(|| panic!("no decision: {self:?}"))
    }

    pub fn degraded(&self) -> bool {
        self.body["degraded"] == true
    }

    pub fn number(&self, name: &str) -> u64 {
        self.body[name].as_u64().unwrap_or_else(|| panic!("no {name}: {self:?}"))
    }
}

/// Calls the service port of one admission.
#[derive(Clone)]
pub struct Limited {
    http: Client,
    url: String,
}

impl Limited {
    pub fn of(admission: &Service) -> Self {
        let http = Client::builder().no_proxy().timeout(PATIENCE).build().expect("a client");
        Self { http, url: admission.url("service") }
    }

    pub async fn call(&self, path: &str, body: &Value) -> Decision {
        let request = self.http.post(format!("{}/v1/{path}", self.url)).json(body);
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        let retry_after = answer.headers().get("retry-after");
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let body = answer.json().await.expect("JSON");
        Decision { status, body, retry_after }
    }

    /// A check of one limit.
    pub async fn check(&self, limit: &str, key: &str, cost: u64) -> Decision {
        let body = json!({ "key": key, "cost": cost });
        self.call(&format!("limits/{limit}/check"), &body).await
    }

    /// Resets a key of a limit.
    pub async fn forget(&self, limit: &str, key: &str) {
        let url = format!("{}/v1/admin/limits/{limit}/forget", self.url);
        let request = self.http.post(url).json(&json!({ "key": key }));
        let status = request.send().await.expect("an answer").status();
        assert_eq!(status, 204, "{limit} {key}");
    }

    /// A check of several, in a group of their own.
    pub async fn check_all(&self, limits: &[&str], key: &str) -> Decision {
        let of = |limit| json!({ "limit": limit, "key": key });
        let checks: Vec<_> = limits.iter().map(of).collect();
        self.call("limits/check", &json!({ "checks": checks })).await
    }
}
