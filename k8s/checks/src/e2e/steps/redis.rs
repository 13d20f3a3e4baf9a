//! Redis starts again with its volume: whoever has a place keeps it.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::{
    configuration::QUEUE,
    forward::{Forward, status},
    progress::{Look, until},
    run::Run,
    table::Line,
    workloads::settled,
};

const REDIS: &str = "statefulset/redis";
/// So many places are looked at one by one; of all others the witness knows.
const PLACES: usize = 5;
/// Ten a second are promoted.
const TURN_WITHIN: Duration = Duration::from_secs(120);

/// Restarts it as a roll-out does.
pub async fn starts_again(run: &Run) -> anyhow::Result<()> {
    let mut places = Vec::new();
    let way = Forward::open(&run.kubectl, "service/admission", 8080).await?;
    for _ in 0..PLACES {
        places.push(Place::join(&way).await?);
    }
    for place in &places {
        until("a turn", TURN_WITHIN, async || {
            let status = place.look(&way).await?["status"].clone();
            Ok(if status == "ready" { Look::Done(()) } else { Look::NotYet(status.to_string()) })
        })
        .await?;
        let claim = way.request("POST", &format!("/v1/queues/{QUEUE}/token/claim"));
        let answer = status(place.holds(claim)).await?;
        ensure!(answer == 200, "a claim is answered {answer}");
    }
    let restarts = async {
        run.kubectl.run(&["rollout", "restart", REDIS]).await?;
        settled(&run.kubectl, REDIS).await?;
        let mut kept = 0;
        for place in &places {
            let (found, _) = until("an answer", TURN_WITHIN, async || {
                Ok(match place.look(&way).await {
                    Ok(found) => Look::Done(found),
                    Err(error) => Look::NotYet(format!("{error:#}")),
                })
            })
            .await?;
            kept += usize::from(found["status"] == "active" && found["ticket"] == place.ticket);
        }
        Ok(kept)
    };
    let (kept, took, seen) = run.under_load(restarts).await?;
    for place in &places {
        let leave = way.request("DELETE", &format!("/v1/queues/{QUEUE}/token"));
        // Their time would run out anyway.
        let _ = status(place.holds(leave)).await;
    }
    let says = format!("{kept} of {PLACES} places are there with their ticket");
    let held = kept == PLACES && seen.lost() == 0;
    run.add(Line::new("restart redis", says, Some(held)).took(took).under(seen));
    Ok(())
}

/// A place that this program holds itself.
pub struct Place {
    /// What it is held by.
    pub token: String,
    ticket: Value,
}

impl Place {
    /// Joins.
    ///
    /// # Errors
    ///
    /// When there is no place to be had.
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

    /// Where it stands.
    ///
    /// # Errors
    ///
    /// When nobody says so.
    async fn look(&self, way: &Forward) -> anyhow::Result<Value> {
        let look = self.holds(way.request("GET", &format!("/v1/queues/{QUEUE}/token")));
        Ok(look.send().await?.error_for_status()?.json().await?)
    }
}
