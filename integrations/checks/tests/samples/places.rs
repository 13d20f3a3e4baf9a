//! Places: finish, join for a user, sign an identity.

use anteroom_testkit::PATIENCE;
use serde_json::{Value, json};

use crate::{
    sample::Sample,
    scripted::{Reply, Scripted},
    shop::{Answer, client},
    site::{Site, TOKEN},
};

#[tokio::test]
async fn an_order_finishes_the_place_and_the_next_visitor_is_called() {
    for sample in Sample::all() {
        let site = Site::start(sample).await;
        let (first, second) = (site.called().await, site.join().await);
        Answer::of(site.shop.get("/seats").header(TOKEN, &first)).await.is(200);
        assert_eq!(site.status(&second).await, "waiting");
        Answer::of(site.shop.post("/order").header(TOKEN, &first)).await.is(200);
        assert_eq!(site.status(&first).await, "completed");
        site.until_status(&second, "ready").await;
        Answer::of(site.shop.get("/seats").header(TOKEN, &second)).await.is(200);
    }
}

#[tokio::test]
async fn a_place_that_cannot_be_finished_is_logged_and_the_order_counts() {
    const PLACE: &[&str] = &["x-anteroom-place: a-handle"];
    for sample in Sample::all() {
        let (gate, service) = (Scripted::start().await, Scripted::start().await);
        let mut shop = sample.start(&gate.url, &service.url, "a-key").await;
        gate.replies(&[Reply::Status(200, PLACE)]);
        service.replies(&[Reply::Break, Reply::Status(204, &[])]);
        Answer::of(shop.post("/order")).await.is(200);
        let requests = service.requests();
        assert_eq!(requests.len(), 2, "one retry");
        for head in requests {
            let line = "DELETE /v1/queues/concert/places/a-handle HTTP/1.1\r\n";
            assert!(head.starts_with(line), "{head}");
            assert!(head.to_lowercase().contains("authorization: bearer a-key\r\n"), "{head}");
        }
        for text in [shop.process.stdout(), shop.process.stderr()] {
            assert!(!text.contains("not finished"), "{text}");
        }

        gate.replies(&[Reply::Status(200, PLACE)]);
        service.replies(&[Reply::Status(401, &[])]);
        Answer::of(shop.post("/order")).await.is(200);
        shop.process.line("a place was not finished", PATIENCE).await;
        // Without a place there is nothing to finish.
        service.requests();
        for headers in [&["x-anteroom-place:"][..], &[]] {
            gate.replies(&[Reply::Status(200, headers)]);
            Answer::of(shop.post("/order")).await.is(200);
        }
        assert_eq!(service.requests().len(), 0);
    }
}

#[tokio::test]
async fn a_user_has_one_place_by_a_join_of_the_shop_or_by_a_signed_identity() {
    for sample in Sample::all() {
        let site = Site::start(sample).await;
        let user = |path: &str| site.shop.post(path).header("x-demo-user", "customer-4711");
        let joined = Answer::of(user("/join")).await;
        let token = joined.is(201).json()["token"].as_str().unwrap().to_owned();
        let ticket = joined.json()["ticket"].clone();
        let again = Answer::of(user("/join")).await;
        assert_eq!(again.is(200).json()["ticket"], ticket);
        assert_eq!(again.header("cache-control"), "no-store");
        site.until_status(&token, "ready").await;
        Answer::of(site.shop.get("/seats").header(TOKEN, &token)).await.is(200);

        let identity = site.shop.get("/identity").header("x-demo-user", "customer-4711");
        let identity = Answer::of(identity).await;
        assert_eq!(identity.is(200).header("cache-control"), "no-store");
        let same = join_with(&site, &identity.json()).await;
        assert_eq!(same.is(200).json()["ticket"], ticket);
        let other = site.shop.get("/identity").header("x-demo-user", "Zoë");
        let other = Answer::of(other).await.json();
        join_with(&site, &other).await.is(201);
        let forged = other["assertion"].as_str().unwrap().replace("ara1.", "ara1.AA");
        join_with(&site, &json!({ "assertion": forged })).await.is(401);

        Answer::of(site.shop.post("/join")).await.is(401);
        Answer::of(site.shop.get("/identity")).await.is(401);
    }
}

/// A join on the public port.
async fn join_with(site: &Site, body: &Value) -> Answer {
    let url = format!("{}/v1/queues/concert/tokens", site.anteroom.url("public"));
    let call = client().post(url).header("content-type", "application/json");
    Answer::of(call.body(body.to_string())).await
}
