//! One of the crowd.

use reqwest::{Client, RequestBuilder, Response};
use serde_json::json;
use tokio::time::sleep;

use super::{LOOK, json_of};

/// One visitor. What becomes of it goes by its number.
pub struct Visitor {
    pub client: Client,
    pub door: String,
    pub number: u64,
}

impl Visitor {
    pub async fn come(self) {
        let queue = if self.number % 12 == 5 { "lecture" } else { "concert" };
        let base = format!("{}/v1/queues/{queue}", self.door);
        let mut place = json_of(self.client.post(format!("{base}/tokens")).json(&json!({}))).await;
        let Some(token) = place["token"].as_str().map(str::to_owned) else { return };
        let call = |call: RequestBuilder| call.header("x-anteroom-token", &token);
        let fate = self.number % 20;
        let mut looks = 0;
        while place["status"] == "waiting" {
            sleep(LOOK.mul_f64(0.8 + (self.number % 5) as f64 / 10.0)).await;
            looks += 1;
            if fate == 1 && looks == 3 {
                let left: Result<Response, _> =
                    call(self.client.delete(format!("{base}/token"))).send().await;
                return drop(left);
            }
            let look = json_of(call(self.client.get(format!("{base}/token")))).await;
            if look["code"] == "place_gone" {
                return;
            }
            // While the store is away there is no news.
            if look["status"].is_string() {
                place = look;
            }
        }
        // Some do not come when it is their turn, …
        if fate == 2 {
            return;
        }
        let authorize = || call(self.client.get(format!("{base}/authorize"))).send();
        let _ = authorize().await;
        for _ in 0..3 {
            sleep(LOOK).await;
            let _ = authorize().await;
        }
        // … and some do not say that they are done.
        if fate > 3 {
            let _ = call(self.client.delete(format!("{base}/token"))).send().await;
        }
    }
}
