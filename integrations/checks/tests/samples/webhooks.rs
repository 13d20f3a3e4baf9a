//! Webhooks: only Anteroom's own count, each once.

use std::time::{SystemTime, UNIX_EPOCH};

use anteroom_testkit::{Deployment, PATIENCE, Redis, until};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;
use sha2::Sha256;

use crate::{
    sample::{Sample, WEBHOOK_SECRET},
    shop::{Answer, Shop, client},
};

const SECRET: &[u8] = WEBHOOK_SECRET.as_bytes();

#[tokio::test]
async fn a_signed_webhook_counts_once_and_any_other_not_at_all() {
    for sample in Sample::all() {
        let shop = sample.start("http://127.0.0.1:1", "http://127.0.0.1:1", "key").await;
        let body = |key: &str| {
            json!({ "event": "coupon", "visitor_id": "ann", "sequence": 1, "idempotency_key": key })
                .to_string()
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let (one, two) = (body("one"), body("two"));
        let mac = |time: u64, body: &str| mac(SECRET, time, body);
        let refused = [
            String::new(),
            "v1".to_owned(),
            format!("t={now}"),
            format!("v1={}", mac(now, &one)),
            format!("t={now},v1="),
            format!("t={now},v1={}", mac(now, &two)),
            format!("t={now},v1={}", mac_with_another_secret(now, &one)),
            format!("t={now},v0={}", mac(now, &one)),
            format!("t={now},v1={}", &mac(now, &one)[..62]),
            format!("t={},v1={}", now - 400, mac(now - 400, &one)),
            format!("t={},v1={}", now + 400, mac(now + 400, &one)),
            format!("t={},v1={}", now - 400, mac(now, &one)),
        ];
        for signature in refused {
            send(&shop, &signature, &one).await.is(401);
        }
        Answer::of(shop.post("/webhook")).await.is(401);
        Answer::of(shop.post("/webhook").body(one.clone())).await.is(401);

        send(&shop, &format!("t={now},v1={}", mac(now, &one)), &one).await.is(201);
        send(&shop, &format!("t={now},v1={}", mac(now, &one)), &one).await.is(409);
        // Two secrets while one replaces the other.
        let other = mac_with_another_secret(now - 100, &two);
        let both = format!("t={},v1={other},v1={}", now - 100, mac(now - 100, &two));
        send(&shop, &both, &two).await.is(201);
    }
}

/// With the real issuer.
#[tokio::test]
async fn an_application_is_issued_by_the_shop() {
    for sample in Sample::all() {
        let shop = sample.start("http://127.0.0.1:1", "http://127.0.0.1:1", "key").await;
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, WEBHOOK_SECRET).unwrap();
        let event = format!(
            "[events.coupon]\nstock = 10\nissue = \"webhook\"\nurl = \"{}/webhook\"\n\
             secret_file = \"{}\"\n",
            shop.url,
            secret.display()
        );
        let deployment = Deployment::new(Redis::start().await, &event, &[]);
        let (admission, _scheduler, _issuer) =
            tokio::join!(deployment.admission(), deployment.scheduler(), deployment.issuer());
        admission.until_ready().await;
        let url = format!("{}/v1/events/coupon/applications", admission.url("service"));
        let applies = client().post(&url).header("content-type", "application/json");
        Answer::of(applies.body(r#"{"visitor_id":"ann"}"#)).await.is(202);
        until("issued", PATIENCE, async || {
            Answer::of(client().get(format!("{url}/ann"))).await.json()["status"] == "issued"
        })
        .await;
    }
}

async fn send(shop: &Shop, signature: &str, body: &str) -> Answer {
    let call = shop.post("/webhook").header("x-anteroom-signature", signature);
    Answer::of(call.header("content-type", "application/json").body(body.to_owned())).await
}

fn mac(secret: &[u8], time: u64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
    mac.update(format!("{time}.{body}").as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn mac_with_another_secret(time: u64, body: &str) -> String {
    mac(b"another-secret-of-the-tests-of-32-bytes", time, body)
}
