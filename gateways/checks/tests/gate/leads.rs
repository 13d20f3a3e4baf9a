//! Where NGINX leads visitors by itself: to addresses that they can reach, and not in a circle.

use anteroom_testkit::Answer;
use http::Method;
use serde_json::json;

use crate::browser::{AtGate, COOKIE_NAME};
use crate::site::{Plan, Site};

/// What NGINX has and what a request claims is no address of the site's.
#[tokio::test]
async fn a_redirect_of_nginx_names_no_host_and_no_port() {
    let site = Site::start().await;
    for host in [site.url.trim_start_matches("http://"), "evil.example"] {
        let ask = site.client.get(format!("{}/public", site.url)).header("host", host);
        let answer = Answer::of(ask).await;
        assert_eq!((answer.status.as_u16(), answer.header("location")), (301, "/public/"));
    }
}

/// The example's commented line is in force, and the README's location is beside the others.
#[tokio::test]
async fn a_visitor_without_a_signed_identity_is_led_to_where_it_gets_one() {
    let location = "        # … except what";
    let enter =
        "location /enter/ { include anteroom-service.conf; proxy_pass http://shop/enter/; }";
    let beside = format!("{enter}\n{location}");
    let site = Site::with(Plan {
        queue: "capacity = 1",
        edits: &[
            ("    #\"~^1:(?:token_missing", "    \"~^1:(?:token_missing"),
            (location, &beside),
        ],
        ..Plan::default()
    })
    .await;
    let mut browser = site.browser();
    assert_eq!(browser.navigate("/seats").await.leads(302), "/enter/");
    // It is open: there the service signs an identity, and joins.
    assert_eq!(browser.navigate("/enter/").await.status, 200);
    let join = async || {
        let url = format!("{}/v1/queues/concert/tokens", site.anteroom.url("service"));
        let joined = site.client.post(url).json(&json!({ "visitor_id": "ana" }));
        let place = Answer::of(joined).await.json();
        place["token"].as_str().expect("a token").to_owned()
    };
    let first = join().await;
    browser.set_cookie(COOKIE_NAME, &first);
    assert_eq!(browser.navigate("/seats").await.text, "hello ana");

    // When the place is over the page could only lead back, and the gate to the page.
    let left = site.call(Method::DELETE, "/v1/queues/concert/token", &first).await;
    assert_eq!(left.status, 204);
    let mut waiting = site.joined().await;
    assert_eq!(browser.navigate("/seats").await.leads(302), "/enter/");
    browser.fetch(Method::GET, "/seats").await.is_problem(403, "place_gone");
    // A visitor with a place waits as ever.
    assert_eq!(waiting.navigate("/seats").await.status, 200);
    browser.set_cookie(COOKIE_NAME, &join().await);
    let room = format!("{}/queues/concert?return_to=%2Fseats", site.url);
    assert_eq!(browser.navigate("/seats").await.leads(302), room);
}
