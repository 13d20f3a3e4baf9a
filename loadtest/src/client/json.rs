//! Calls of Anteroom whose answers are JSON.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use http_body_util::Full;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::Value;

use super::{Connection, Route};
use crate::exit::Usage;

/// Of each call.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Route {
    /// The answer to one request, on a connection of its own. A key goes there and nowhere else:
    /// through no proxy and after no redirect.
    ///
    /// # Errors
    ///
    /// [`Usage`] for a key that cannot be sent; when there is no answer, no success or no JSON.
    pub async fn json(
        self: &Arc<Self>,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let mut request =
            self.target.request(method, path).header(CONTENT_TYPE, "application/json");
        if let Some(key) = key {
            request = request.header(AUTHORIZATION, format!("Bearer {key}"));
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let rule = "ANTEROOM_KEY: a key is one line of visible characters";
        let request = request.body(Full::from(body)).map_err(|_| Usage(rule.to_owned()))?;
        let place = self.target.at(path);
        let answer = Connection::new(self).send(request, TIMEOUT).await;
        let answer = answer.with_context(|| place.clone())?;
        // A problem document shows in its detail what is wrong.
        let text = String::from_utf8_lossy(&answer.body);
        ensure!(answer.status.is_success(), "{place}: {}: {}", answer.status, text.trim());
        let text = if text.is_empty() { "null" } else { &text };
        serde_json::from_str(text).with_context(|| format!("{place}: no JSON"))
    }
}
