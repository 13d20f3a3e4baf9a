//! The waiting page through NGINX, in a browser without JavaScript.

use anteroom_testkit::{Answer, Chromium, PATIENCE, until, until_some};
use http::Method;

use crate::browser::{AtGate, Browser};
use crate::program::Program;
use crate::shop::CROWDS_THE_JAR;
use crate::site::{Plan, Site};

/// A page, with what a strict one must have.
fn is_page(answer: &Answer) {
    assert_eq!(answer.status, 200, "{answer:?}");
    has_guards(answer);
}

fn has_guards(answer: &Answer) {
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("referrer-policy"), "same-origin");
    let policy = answer.header("content-security-policy");
    let rules: Vec<_> = policy.split("; ").collect();
    for rule in ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"] {
        assert!(rules.contains(&rule), "{rule}: {policy}");
    }
    assert!(rules.contains(&"form-action 'self'") && rules.contains(&"connect-src 'self'"));
    assert!(rules.contains(&"img-src 'self'"), "{policy}");
    // Scripts by their digests; files by their addresses.
    for kind in ["script-src 'sha256-", "style-src 127.0.0.1:*/queues/concert/assets/page-"] {
        assert!(rules.iter().any(|rule| rule.starts_with(kind)), "{kind}: {policy}");
    }
    for rule in rules.iter().filter(|rule| rule.starts_with("script-src")) {
        assert!(!rule.contains("'self'"), "{policy}");
    }
    for loose in ["unsafe", " * ", "http: ", "https: ", "data:", "blob:"] {
        assert!(!policy.contains(loose), "{loose}: {policy}");
    }
    // With such a policy, these would be dead anyway.
    for inline in [" style=", " onclick=", " onload=", "javascript:"] {
        assert!(!answer.text.contains(inline), "{inline}");
    }
}

/// The text between two others, with the page's escapes undone.
fn between<'a>(page: &'a str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = page.split_once(before)?;
    let (found, _): (&'a str, _) = rest.split_once(after)?;
    let plain = found.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    Some(plain.replace("&#39;", "'").replace("&amp;", "&"))
}

/// Where the page leads by itself; nothing when it stays.
fn refresh(page: &str) -> Option<(u64, Option<String>)> {
    let refresh = between(page, "<meta http-equiv=\"refresh\" content=\"", "\"")?;
    Some(match refresh.split_once(";url=") {
        Some((seconds, url)) => (seconds.parse().expect("seconds"), Some(url.to_owned())),
        None => (refresh.parse().expect("seconds"), None),
    })
}

/// The address of the form, as a browser on a page of `/queues/` resolves it.
fn action(page: &str) -> String {
    let action = between(page, "method=\"post\" action=\"", "\"").expect("a form");
    format!("/queues/{action}")
}

/// Presses the button of the page; returns the page after it.
async fn press(browser: &mut Browser, page: &str) -> Answer {
    let key = between(page, "name=\"key\" value=\"", "\"").expect("a key");
    let answer = browser.submit(&action(page), &format!("key={key}")).await;
    let back = format!("/queues/{}", answer.leads(303));
    let page = browser.navigate(&back).await;
    is_page(&page);
    page
}

pub async fn without_javascript_a_visitor_joins_waits_and_goes_on(program: Program) {
    let plan = Plan { program, queue: "capacity = 1\nreturn_query = true", ..Plan::default() };
    let site = Site::with(plan).await;
    let mut holder = site.joined().await;
    assert_eq!(holder.navigate("/seats").await.status, 200);

    let mut browser = site.browser();
    let refused = browser.navigate("/seats?row=1&fan='\"<b>").await;
    refused.leads(302);
    let room = browser.path(&refused).to_owned();
    let page = browser.navigate(&room).await;
    is_page(&page);
    assert!(page.cookies().is_empty(), "a GET never joins");
    assert_eq!(refresh(&page.text), None);
    let page = press(&mut browser, &page.text).await;
    assert!(page.text.contains("You are next"), "{}", page.text);
    let (seconds, to) = refresh(&page.text).expect("it keeps itself current");
    assert!((1..=20).contains(&seconds) && to.is_none());
    assert_eq!(page.header("retry-after"), seconds.to_string());

    site.finish(site.shop.last().place()).await;
    let browser = tokio::sync::Mutex::new(browser);
    let to = until_some("the page leads on", PATIENCE, async || {
        let page = browser.lock().await.navigate(&room).await;
        is_page(&page);
        refresh(&page.text).expect("current").1.inspect(|to| {
            let link = between(&page.text, "<a id=\"go_on\" href=\"", "\"");
            assert_eq!(link.as_deref(), Some(to.as_str()));
            assert!(page.text.contains(">It is your turn<"));
        })
    })
    .await;
    let mut browser = browser.into_inner();
    let seats = browser.navigate(&to).await;
    assert_eq!((seats.status.as_u16(), seats.text.as_str()), (200, "hello 2"));
    assert_eq!(site.shop.last().path, "/seats?row=1&fan=%27%22%3Cb%3E");
}

/// In Chromium. Its jar has room for 180 cookies of a site.
#[tokio::test]
async fn promise_4_a_sibling_s_page_that_crowds_the_jar_costs_no_place() {
    let Some(chromium) = Chromium::find() else { return };
    // Chromium counts an open stream as a page that still loads.
    let env = &[("ANTEROOM_ADMISSION__SSE_MAX", "0")];
    let site = Site::with(Plan { queue: "capacity = 1", env, ..Plan::default() }).await;
    assert_eq!(site.join().await["ticket"], 1);
    let show = async |path: &str| {
        let dom =
            chromium.dom(&["--virtual-time-budget=3000"], &format!("{}{path}", site.url)).await;
        assert!(dom.contains("You are next"), "{dom}");
    };
    show("/queues/concert").await;
    let joins = || site.gateway.access_log().matches("POST /v1/queues/concert/tokens ").count();
    let before = joins();
    show(CROWDS_THE_JAR).await;
    assert_eq!(joins(), before + 1, "the cookie was gone: {}", site.gateway.access_log());
    assert_eq!(site.join().await["ticket"], 3, "the browser has one place");
}

#[tokio::test]
async fn the_page_leads_nowhere_else() {
    let site = Site::with(Plan { queue: "capacity = 10", ..Plan::default() }).await;
    let mut browser = site.joined().await;
    for to in [
        "//evil.example",
        "///evil.example",
        "/%5Cevil.example",
        "%5C%5Cevil.example",
        "/%09/evil.example",
        "/.//evil.example",
        "https://evil.example/",
        "https:evil.example",
        "https://user@127.0.0.1:8080/",
        "http://user@evil.example/",
        "http://127.0.0.1@evil.example/",
        "javascript:alert(1)",
        "data:text/html,x",
        "evil.example",
    ] {
        let page = browser.navigate(&format!("/queues/concert?return_to={to}")).await;
        is_page(&page);
        assert_eq!(refresh(&page.text).expect("current").1, None, "{to}");
        assert!(page.text.contains("<a id=\"go_on\" href=\"\" hidden>"), "{to}");
        assert!(!page.text.contains("evil.example"), "{to}");
        let answer = browser.submit(&format!("/queues/concert?return_to={to}"), "").await;
        assert_eq!(answer.leads(303), "concert", "{to}");
    }
    // The site's own paths, and the first of two.
    let page = browser.navigate("/queues/concert?return_to=/seats&return_to=//evil.example").await;
    assert_eq!(refresh(&page.text).and_then(|(_, to)| to).as_deref(), Some("/seats"));
}

pub async fn the_files_of_the_page_pass_and_no_other_path_below_them(program: Program) {
    let site = Site::of(program).await;
    let page = site.browser().navigate("/queues/concert").await;
    is_page(&page);
    let style = between(&page.text, "<link rel=\"stylesheet\" href=\"", "\"");
    let style = style.expect("a style");
    let folder = "/queues/concert/assets";
    let (_, name) = style.split_once("assets/").expect("a file");
    let file = site.call(Method::GET, &format!("{folder}/{name}"), "").await;
    assert_eq!(
        (file.status.as_u16(), file.header("content-type")),
        (200, "text/css; charset=utf-8")
    );
    assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable");
    for other in ["page-0.css", "page.css", "views.json", "logo.svg"] {
        site.call(Method::GET, &format!("{folder}/{other}"), "").await.is_problem(404, "not_found");
    }
    // These are the service's paths, and protected.
    let nested = format!("{name}/seats");
    let upwards = format!("x/{name}");
    for other in ["", ".env", "page%20.css", "page.css%00", "a.b.css", &nested, &upwards] {
        let answer = site.call(Method::GET, &format!("{folder}/{other}"), "").await;
        assert!([400, 401].contains(&answer.status.as_u16()), "{other}: {answer:?}");
    }
    assert!(site.shop.arrivals().is_empty());
}

#[tokio::test]
async fn nothing_from_outside_becomes_markup() {
    let title = "Winter <img src=x onerror=alert(1)> & \\\"more\\\" </title>";
    let queue = format!("capacity = 10\nreturn_query = true\ntitle = \"{title}\"");
    let site = Site::with(Plan { queue: &queue, ..Plan::default() }).await;
    let mut browser = site.browser();
    let evil = "/seats?q=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E%3C/script%3E%27";
    let return_to: String = url::form_urlencoded::byte_serialize(evil.as_bytes()).collect();
    let room = format!("/queues/concert?return_to={return_to}");
    let joined = [false, true];
    for joined in joined {
        if joined {
            browser.join().await;
        }
        let page = browser.navigate(&room).await;
        is_page(&page);
        assert!(!page.text.contains("<img"), "{}", page.text);
        assert_eq!(page.text.matches("</title>").count(), 1);
        assert_eq!(page.text.matches("</script>").count(), 3);
        let shown = between(&page.text, "<title>", "</title>").expect("a title");
        assert_eq!(shown, title.replace('\\', ""));
    }
}

#[tokio::test]
async fn a_full_queue_shows_it_on_the_page() {
    let plan = Plan { queue: "capacity = 1\nmax_waiting = 1", ..Plan::default() };
    let site = Site::with(plan).await;
    let mut holders = [site.joined().await, site.joined().await];
    let mut browser = site.browser();
    let page = browser.navigate("/queues/concert").await;
    let key = between(&page.text, "name=\"key\" value=\"", "\"").expect("a key");
    let answer = browser.submit(&action(&page.text), &format!("key={key}")).await;
    assert_eq!(answer.status, 503);
    has_guards(&answer);
    assert!(answer.text.contains(">The line is full<"), "{}", answer.text);
    assert_eq!(browser.token(), None);
    // A GET never joins, so the page does not try again by itself, and says who does.
    assert_eq!(refresh(&answer.text), None);
    assert!(answer.text.contains(">You can try again later.<"), "{}", answer.text);
    assert!(answer.text.contains("<button id=\"try_again\">Try again</button>"), "{}", answer.text);
    assert!(!answer.header("retry-after").is_empty());
    let browser = tokio::sync::Mutex::new(browser);
    holders[1].fetch(Method::DELETE, "/v1/queues/concert/token").await;
    until("the button tries again", PATIENCE, async || {
        let key = between(&answer.text, "name=\"key\" value=\"", "\"").expect("a key");
        let mut browser = browser.lock().await;
        browser.submit(&action(&answer.text), &format!("key={key}")).await.status == 303
    })
    .await;
    assert_eq!(browser.into_inner().status().await, "waiting");
}
