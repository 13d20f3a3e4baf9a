//! A place that this program holds itself.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::{
    configuration::QUEUE,
    forward::{Forward, status},
    progress::{Look, until},
};

/// Ten a second are promoted.
pub const TURN_WITHIN: Duration = Duration::from_secs(120);

/// A place.
pub struct Place {
    /// What it is held by.
    pub token: String,
    /// Its number in line.
    pub ticket: Value,
}

impl Place {
    /// Joins.
    pub async fn join(way: &Forward) -> anyhow::Result<Self> {
        let join = way.request("POST", &format!("/v1/queues/{QUEUE}/tokens"));
        let join = join.json(&serde_json::json!({}));
        let place: Value = join.send().await?.error_for_status()?.json().await?;
        let token = place["token"].as_str().context("a join without a token")?.to_owned();
        Ok(Self { token, ticket: place["ticket"].clone() })
    }

    /// With its token.
    pub fn holds(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        request.header("x-anteroom-token", &self.token)
    }

    /// Waits for its turn, and takes it.
    pub async fn take_turn(&self, way: &Forward) -> anyhow::Result<()> {
        until("a turn", TURN_WITHIN, async || {
            let status = self.look(way).await?["status"].clone();
            Ok(if status == "ready" { Look::Done(()) } else { Look::NotYet(status.to_string()) })
        })
        .await?;
        let claim = way.request("POST", &format!("/v1/queues/{QUEUE}/token/claim"));
        let answer = status(self.holds(claim)).await?;
        ensure!(answer == 200, "a claim is answered {answer}");
        Ok(())
    }

    /// Gives it up; returns the status of the answer.
    pub async fn leave(&self, way: &Forward) -> anyhow::Result<u16> {
        let leave = way.request("DELETE", &format!("/v1/queues/{QUEUE}/token"));
        status(self.holds(leave)).await
    }

    /// What the line shows of it.
    pub async fn look(&self, way: &Forward) -> anyhow::Result<Value> {
        let look = self.holds(way.request("GET", &format!("/v1/queues/{QUEUE}/token")));
        Ok(look.send().await?.error_for_status()?.json().await?)
    }
}
