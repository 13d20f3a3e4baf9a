//! Anything but 200, 401 and 403: no visitor passes.

use std::time::Instant;

use anteroom_testkit::PATIENCE;

use crate::{
    sample::Sample,
    scripted::{Reply, Scripted},
    shop::{Answer, Sample as _, navigates},
    site::{Site, TOKEN},
};

const OK: Reply = Reply::Status(200, &[]);
const FAILED: Reply = Reply::Status(500, &[]);

#[tokio::test]
async fn without_admission_no_visitor_passes() {
    for sample in Sample::all() {
        let mut site = Site::start(sample).await;
        let token = site.called().await;
        Answer::of(site.shop.get("/seats").header(TOKEN, &token)).await.is(200);
        site.anteroom.admission.process.kill();
        Answer::of(site.shop.get("/seats").header(TOKEN, &token)).await.is_unavailable();
        Answer::of(navigates(site.shop.get("/seats"))).await.is_unavailable();
        let joined = Answer::of(site.shop.post("/join").header("x-demo-user", "u1")).await;
        assert_eq!(joined.is(503).header("retry-after"), "5");
        site.shop.process.line("no answer of Anteroom", PATIENCE).await;
    }
}

/// A redirect is not followed: its page would be a 200.
#[tokio::test]
async fn no_other_status_lets_a_visitor_pass() {
    const REDIRECT: &[&str] = &["location: /v1/queues/concert/authorize"];
    for sample in Sample::all() {
        let gate = Scripted::start().await;
        let mut shop = sample.start(&gate.url, &gate.url, "key").await;
        for status in [201, 204, 301, 302, 307, 400, 404, 410, 429] {
            gate.replies(&[Reply::Status(status, REDIRECT), OK]);
            Answer::of(shop.get("/seats")).await.is_unavailable();
            assert_eq!(gate.requests().len(), 1, "{status}: no retry");
            shop.process.line(&format!("the gateway check failed: {status}"), PATIENCE).await;
        }
        for status in [500, 502, 503, 504] {
            gate.replies(&[Reply::Status(status, &[]), Reply::Status(status, &[]), OK]);
            Answer::of(shop.get("/seats")).await.is_unavailable();
            assert_eq!(gate.requests().len(), 2, "{status}: one retry");
        }
    }
}

#[tokio::test]
async fn a_lost_or_failed_answer_is_retried_once() {
    for sample in Sample::all() {
        let gate = Scripted::start().await;
        let shop = sample.start(&gate.url, &gate.url, "key").await;
        for first in [FAILED, Reply::Break, Reply::Silence] {
            gate.replies(&[first, OK]);
            Answer::of(shop.get("/seats")).await.is(200);
            assert_eq!(gate.requests().len(), 2);
        }
        // The client of Django limits each read, not the whole try.
        if !matches!(sample, Sample::Django) {
            gate.replies(&[Reply::Trickle, OK]);
            Answer::of(shop.get("/seats")).await.is(200);
            assert_eq!(gate.requests().len(), 2);
        }
        gate.replies(&[Reply::Silence, Reply::Silence, OK]);
        let begin = Instant::now();
        Answer::of(shop.get("/seats")).await.is_unavailable();
        let tries = begin.elapsed().as_secs_f64();
        assert!((3.9..30.0).contains(&tries), "two tries of 2 s: {tries} s");
        assert_eq!(gate.requests().len(), 2);
        gate.replies(&[Reply::Break, Reply::Break, OK]);
        Answer::of(shop.get("/seats")).await.is_unavailable();
    }
}
