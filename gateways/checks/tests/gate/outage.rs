//! Redis is down: who passes is what `on_store_error` says, through each gateway.

use http::Method;

use crate::browser::AtGate as _;
use crate::program::Program;
use crate::site::{Plan, Site};

/// A site whose Redis is down, the token of a visitor that has passed, and of one that waits.
async fn outage(program: Program, queue: &str) -> (Site, String, String) {
    let queue = format!("capacity = 1\n{queue}");
    let mut site = Site::with(Plan { program, queue: &queue, ..Plan::default() }).await;
    let (known, waits) = (site.token().await, site.token().await);
    assert_eq!(site.call(Method::GET, "/seats", &known).await.status, 200);
    site.call(Method::GET, "/seats", &waits).await.is_problem(403, "not_admitted");
    site.anteroom.deployment.redis.kill();
    for service in [&site.anteroom.admission].into_iter().chain(&site.checks) {
        service.until_metric("anteroom_store_up", |up| up == Some(0.0)).await;
    }
    (site, known, waits)
}

pub async fn redis_down_admits_as_on_store_error_says(program: Program) {
    let (site, known, waits) = outage(program, "on_store_error = \"hold\"").await;
    assert_eq!(site.call(Method::GET, "/seats", &known).await.text, "hello 1");
    site.call(Method::GET, "/seats", &waits).await.is_problem(403, "store_unavailable");
    site.call(Method::GET, "/seats", "").await.is_problem(401, "token_missing");
    assert_eq!(site.shop.arrivals().len(), 2);

    let (site, known, waits) = outage(program, "on_store_error = \"closed\"").await;
    for token in [&known, &waits] {
        site.call(Method::GET, "/seats", token).await.is_problem(403, "store_unavailable");
    }
    site.call(Method::GET, "/seats", "").await.is_problem(401, "token_missing");
    assert_eq!(site.shop.arrivals().len(), 1);

    let open = "on_store_error = \"open\"\nopen_rate = \"3/1h\"\nopen_for = \"1h\"";
    let (site, known, _) = outage(program, open).await;
    let mut passed = 0;
    for _ in 0..6 {
        let answer = site.call(Method::GET, "/seats", "").await;
        if answer.status == 200 {
            passed += 1;
            // It has no name.
            let arrival = site.shop.last();
            let ours = arrival.headers.keys().filter(|name| name.as_str().contains("anteroom"));
            assert_eq!(ours.count(), 0, "{arrival:?}");
        } else {
            answer.is_problem(401, "token_missing");
        }
    }
    assert_eq!(passed, 3, "as open_rate says");
    assert_eq!(site.call(Method::GET, "/seats", &known).await.text, "hello 1");
}
