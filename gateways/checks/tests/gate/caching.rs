//! Caches in front of everything, and between the gate and admission, that keep whatever they may:
//! no visitor ever gets another's cookie, place or pass.

use std::collections::HashSet;
use std::iter;

use anteroom_testkit::{Answer, PATIENCE, until};
use http::Method;

use crate::browser::{AtGate, Browser};
use crate::program::Program;
use crate::site::{Plan, Site};

const VISITORS: usize = 8;

/// Whether an answer came out of the cache in front.
fn is_cached(answer: &Answer) -> bool {
    let cache = answer.header("x-front-cache");
    assert_ne!(cache, "", "the cache in front says what it did: {answer:?}");
    !matches!(cache, "MISS" | "EXPIRED" | "BYPASS")
}

async fn site(program: Program, join_at_gate: bool) -> Site {
    let opt_out = program == Program::Nginx;
    let queue = "capacity = 4";
    let plan = Plan { program, queue, join_at_gate, opt_out, cached: true, ..Plan::default() };
    Site::with(plan).await
}

/// A protected path that is opted out of `private, no-store`, where the example has one.
fn asset(program: Program) -> Option<&'static str> {
    (program == Program::Nginx).then_some("/assets/logo")
}

pub async fn the_caches_keep_what_they_may(program: Program) {
    let site = site(program, false).await;
    let mut browser = site.joined().await;
    for path in iter::once("/public/logo").chain(asset(program)) {
        assert!(!is_cached(&browser.navigate(path).await), "{path}");
        assert!(is_cached(&browser.navigate(path).await), "{path}");
    }
    // It is fresh for a second.
    until("the board is cached", PATIENCE, async || {
        let board = site.call(Method::GET, "/v1/queues/concert/board", "").await;
        is_cached(board.is(200))
    })
    .await;
}

pub async fn no_visitor_gets_another_s_cookie_or_place(program: Program) {
    let site = site(program, false).await;
    let mut tokens = HashSet::new();
    for ticket in 1..=VISITORS {
        let mut browser = site.browser();
        let before = browser.navigate("/queues/concert").await;
        assert!(before.text.contains("<button id=\"join\">") && !is_cached(&before));
        let joined = browser.join().await;
        assert_eq!((joined.status.as_u16(), &joined.json()["ticket"]), (201, &ticket.into()));
        assert!(!is_cached(&joined));
        assert!(tokens.insert(browser.token().expect("a cookie").to_owned()));
        for _ in 0..2 {
            let place = browser.fetch(Method::GET, "/v1/queues/concert/token").await;
            assert_eq!(place.json()["ticket"], ticket);
            assert!(!is_cached(&place));
        }
        let page = browser.navigate("/queues/concert").await;
        let waits = page.text.contains("data-status=\"waiting\"");
        assert_eq!(waits, ticket > 4, "{}", page.text);
    }
    // The form's join too, which leads back to the page.
    for _ in 0..2 {
        let mut browser = site.browser();
        let answer = browser.submit("/queues/concert", "").await;
        assert_eq!(answer.leads(303), "concert");
        assert!(!is_cached(&answer));
        assert!(tokens.insert(browser.token().expect("a cookie").to_owned()));
    }
}

pub async fn no_visitor_passes_by_another_s_pass(program: Program) {
    let site = site(program, false).await;
    let room = format!("{}/queues/concert?return_to=%2Fseats", site.url);
    let mut passed: Vec<Browser> = Vec::new();
    for ticket in 1..=4 {
        // Refused first: the refusal must not be kept either.
        let mut browser = site.browser();
        assert_eq!(browser.navigate("/seats").await.leads(302), room);
        browser.fetch(Method::GET, "/seats").await.is_problem(401, "token_missing");
        browser.join().await;
        for method in [Method::GET, Method::POST] {
            let answer = browser.fetch(method, "/seats").await;
            assert_eq!(answer.text, format!("hello {ticket}"));
            assert!(!is_cached(&answer));
        }
        passed.push(browser);
    }
    let arrived = site.shop.arrivals().len();
    let mut waits = site.joined().await;
    for method in [Method::GET, Method::POST, Method::GET] {
        waits.fetch(method.clone(), "/seats").await.is_problem(403, "not_admitted");
        site.call(method, "/seats", "").await.is_problem(401, "token_missing");
    }
    assert_eq!(waits.navigate("/seats").await.leads(302), room);
    assert_eq!(site.shop.arrivals().len(), arrived);

    // Who has left is refused at once, and who came after passes.
    assert_eq!(passed[0].fetch(Method::DELETE, "/v1/queues/concert/token").await.status, 204);
    passed[0].fetch(Method::GET, "/seats").await.is_problem(401, "token_missing");
    let waits = tokio::sync::Mutex::new(waits);
    until("the fifth passes", PATIENCE, async || {
        waits.lock().await.fetch(Method::GET, "/seats").await.text == "hello 5"
    })
    .await;
}

pub async fn a_join_at_the_gate_is_for_one_visitor(program: Program) {
    let site = site(program, true).await;
    // An opted-out path: with a visitor's cookie on it, it is for no other visitor either.
    let path = asset(program).unwrap_or("/seats");
    let room = format!("{}/queues/concert?return_to={}", site.url, path.replace('/', "%2F"));
    let mut tokens = HashSet::new();
    for ticket in 1..=VISITORS {
        let mut browser = site.browser();
        let answer = browser.navigate(path).await;
        if ticket <= 4 {
            assert_eq!(answer.text, format!("hello {ticket}"));
            assert_eq!(answer.header("cache-control"), "private, no-store");
        } else {
            assert_eq!(answer.leads(302), room);
        }
        assert!(!is_cached(&answer));
        assert!(tokens.insert(browser.token().expect("a cookie").to_owned()));
    }
}
