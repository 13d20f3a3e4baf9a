//! Promise 4 on a broken link: every visitor has one place, and every answer is about its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anteroom_testkit::{PATIENCE, until};
use rand::Rng as _;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::breaks::Linked;

const VISITORS: u64 = 120;
const TABS: u64 = 2;
/// Room for all, and no session ends meanwhile; the first joins wait for a scheduler now and then.
const QUEUE: &str = "[queues.concert]\ncapacity = 10_000\nbatch = 60\ninterval = \"1s\"\n\
    joins_per_address = \"none\"\nplaces_per_address = 0\nrequests_per_place = 0\n";
/// What callers get while the link is broken.
const REFUSALS: [(u16, &str); 4] = [
    (503, "store_unavailable"),
    (503, "overloaded"),
    (504, "effect_unknown"),
    (403, "store_unavailable"),
];

/// Until they come again: much less than their retry time, so that every break meets many.
const PAUSE: Duration = Duration::from_millis(20);

/// Who asks, and whom.
struct CountingClient {
    http: Client,
    public: String,
    service: String,
    /// Answers about a place.
    answered: AtomicU64,
}

/// A visitor in one tab. Those with even numbers have a signed identity.
struct Visitor {
    number: u64,
    token: String,
    ticket: u64,
    handle: Option<String>,
}

impl CountingClient {
    fn request(&self, port: &str, method: Method, path: &str) -> RequestBuilder {
        let base = if port == "service" { &self.service } else { &self.public };
        self.http.request(method, format!("{base}/v1/queues/concert/{path}"))
    }

    /// The answer's status, and what it says; none when the link was broken.
    async fn ask(&self, request: RequestBuilder) -> Option<(u16, Value, [String; 2])> {
        let answer = request.send().await.expect("an answer");
        let header = |name: &str| {
            let value = answer.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let gate = [header("x-anteroom-visitor"), header("x-anteroom-place")];
        let status = answer.status().as_u16();
        let text = answer.text().await.expect("a body");
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        let code = body["code"].as_str().unwrap_or_default();
        if REFUSALS.contains(&(status, code)) {
            // Callers who retried at once would take the processor from those that reconnect.
            tokio::time::sleep(PAUSE).await;
            return None;
        }
        self.answered.fetch_add(1, Ordering::Relaxed);
        Some((status, body, gate))
    }

    /// Joins until it has a place.
    async fn join(&self, number: u64) -> Visitor {
        loop {
            let request = if number.is_multiple_of(2) {
                let body = json!({ "visitor_id": format!("customer-{number}") });
                self.request("service", Method::POST, "tokens").json(&body)
            } else {
                let key = format!("the-secret-key-of-visitor-{number}");
                let request = self.request("public", Method::POST, "tokens").json(&json!({}));
                request.header("idempotency-key", key)
            };
            if let Some((status, place, _)) = self.ask(request).await {
                assert!(status == 200 || status == 201, "{status}: {place}");
                let ticket = place["ticket"].as_u64().expect("a ticket");
                let token = place["token"].as_str().expect("a token").to_owned();
                return Visitor { number, token, ticket, handle: None };
            }
        }
    }
}

impl Visitor {
    /// Asks for something by its token, and holds the answer to its own place.
    async fn asks(&mut self, scene: &CountingClient) {
        let (method, path) = match rand::rng().random_range(0..4) {
            0 => (Method::GET, "token"),
            1 => (Method::POST, "token/claim"),
            2 => (Method::POST, "token/renew"),
            _ => (Method::GET, "authorize"),
        };
        let request = scene.request("public", method, path).header("x-anteroom-token", &self.token);
        let Some((status, body, [visitor, handle])) = scene.ask(request).await else { return };
        match (path, status) {
            ("authorize", 200) => {
                assert_eq!(visitor, self.name(), "admitted as another visitor");
                let own = self.handle.get_or_insert(handle.clone());
                assert_eq!(handle, *own, "{}: another's place", self.number);
            }
            ("authorize", 403) => assert_eq!(body["code"], "not_admitted", "{body}"),
            ("token/claim", 409) => assert_eq!(body["code"], "not_ready", "{body}"),
            ("token/renew", 409) => assert_eq!(body["code"], "not_active", "{body}"),
            (_, 200) => assert_eq!(body["ticket"], self.ticket, "{}: {body}", self.number),
            _ => panic!("{path}: {status} {body}"),
        }
    }

    /// As the gate names it.
    fn name(&self) -> String {
        if self.number.is_multiple_of(2) {
            format!("customer-{}", self.number)
        } else {
            self.ticket.to_string()
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_04_no_doubled_effect_and_no_answer_for_another_visitor() {
    let linked = Linked::start(QUEUE).await;
    let scene = Arc::new(CountingClient {
        // Admission closes a connection that was never used, which a pool can have, after 10 s.
        http: Client::builder()
            .no_proxy()
            .timeout(PATIENCE)
            .pool_idle_timeout(Duration::from_secs(5))
            .build()
            .expect("a client"),
        public: linked.admission.url("public"),
        service: linked.admission.url("service"),
        answered: AtomicU64::new(0),
    });
    let mut tabs = JoinSet::new();
    for tab in 0..VISITORS * TABS {
        let scene = scene.clone();
        tabs.spawn(async move {
            let mut visitor = scene.join(tab % VISITORS).await;
            loop {
                visitor.asks(&scene).await;
                if rand::rng().random_ratio(1, 10) {
                    let again = scene.join(visitor.number).await;
                    assert_eq!(again.ticket, visitor.ticket, "{}: a second place", visitor.number);
                    visitor.token = again.token;
                }
            }
        });
    }
    linked
        .breaks(3, async || {
            let before = scene.answered.load(Ordering::Relaxed);
            until("visitors get answers about their places again", PATIENCE, async || {
                scene.answered.load(Ordering::Relaxed) > before + 5 * VISITORS
            })
            .await;
        })
        .await;
    if let Some(ended) = tabs.try_join_next() {
        panic!("a tab that asks for ever has ended: {ended:?}");
    }
    tabs.shutdown().await;

    let mut tickets = BTreeSet::new();
    for number in 0..VISITORS {
        tickets.insert(scene.join(number).await.ticket);
    }
    assert_eq!(tickets, (1..=VISITORS).collect(), "one ticket for each, and no more");
    let beyond = scene.http.get(format!(
        "{}/v1/admin/queues/concert/places/{}",
        scene.service,
        VISITORS + 1
    ));
    assert_eq!(beyond.send().await.expect("an answer").status(), 404, "a ticket of no visitor");
}
