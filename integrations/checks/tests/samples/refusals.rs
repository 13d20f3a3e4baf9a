//! Status 401 and 403: the request is refused.

use reqwest::Method;

use crate::{
    sample::Sample,
    scripted::{Reply, Scripted},
    shop::{Answer, Sample as _, navigates},
    site::{COOKIE, ROOM, Site, TOKEN},
};

const BACK_TO_SEATS: &str = "?return_to=https%3A%2F%2Fshop.example%2Fseats%3Frow%3D1";
const BACK_TO_START: &str = "?return_to=https%3A%2F%2Fshop.example%2F";

#[tokio::test]
async fn a_page_leads_to_the_waiting_room() {
    for sample in Sample::all() {
        let site = Site::start(sample).await;
        let (_first, waiting) = (site.called().await, site.join().await);
        let room = format!("{ROOM}{BACK_TO_SEATS}");
        for method in [Method::GET, Method::HEAD] {
            let page = || site.shop.call(method.clone(), "/seats?row=1");
            // 401, 403, and a client that sends no Sec-Fetch-Mode.
            let calls = [
                navigates(page()),
                navigates(page()).header(TOKEN, &waiting),
                page().header("accept", "text/html"),
                page().header("accept", "text/html").header(TOKEN, &waiting),
            ];
            for call in calls {
                let answer = Answer::of(call).await;
                assert_eq!(answer.is(302).header("location"), room);
                assert_eq!(answer.header("cache-control"), "private, no-store");
            }
        }
        let forged = navigates(site.shop.get("/seats?row=1"));
        let forged = Answer::of(forged.header("cookie", format!("{COOKIE}=art1.x"))).await;
        assert_eq!(forged.is(302).header("location"), room);
        let removed = forged.cookies();
        assert!(removed[0].starts_with(&format!("{COOKIE}=;")), "{removed:?}");
        assert!(removed[0].contains("Max-Age=0"), "{removed:?}");
    }
}

#[tokio::test]
async fn a_script_gets_the_refusal_of_anteroom() {
    for sample in Sample::all() {
        let site = Site::start(sample).await;
        let (first, waiting) = (site.called().await, site.join().await);
        let missing = Answer::of(site.shop.get("/seats")).await;
        missing.refuses_visitor(401, "token_missing");
        assert_ne!(missing.header("www-authenticate"), "");
        let refused = Answer::of(site.shop.get("/seats").header(TOKEN, &waiting)).await;
        refused.refuses_visitor(403, "not_admitted");
        assert_ne!(refused.header("retry-after"), "");
        // `fetch` of a page that asks for HTML.
        let fetched = site.shop.get("/seats").header("sec-fetch-mode", "cors");
        Answer::of(fetched.header("accept", "text/html"))
            .await
            .refuses_visitor(401, "token_missing");
        // All paths but the open ones.
        Answer::of(site.shop.post("/order")).await.refuses_visitor(401, "token_missing");
        Answer::of(site.shop.get("/nothing")).await.refuses_visitor(401, "token_missing");
        for path in ["/seats?/join", "/seats/..;/join", "/join;/seats"] {
            Answer::of(site.shop.get(path)).await.refuses_visitor(401, "token_missing");
        }
        // Two lines that differ: the check must see both.
        let twice = site.shop.get("/seats").header(TOKEN, &first).header(TOKEN, "art1.x");
        Answer::of(twice).await.is(401);
        let named = site.shop.get("/seats").header("host", "127.0.0.1/join?");
        let status = Answer::of(named).await.status;
        assert!(status == 400 || status == 401, "{status}");
    }
}

#[tokio::test]
async fn a_form_gets_a_page_with_the_way_to_the_waiting_room() {
    for sample in Sample::all() {
        let site = Site::start(sample).await;
        let (_first, waiting) = (site.called().await, site.join().await);
        let submit = || navigates(site.shop.post("/order")).header("sec-fetch-site", "same-origin");
        for (call, status) in [(submit(), 401), (submit().header(TOKEN, &waiting), 403)] {
            let page = Answer::of(call).await;
            assert!(page.is(status).text.contains("Nothing was changed"), "{page:?}");
            assert!(page.text.contains(&format!("\"{ROOM}{BACK_TO_START}\"")), "{page:?}");
            assert!(page.header("content-type").starts_with("text/html"), "{page:?}");
        }
    }
}

#[tokio::test]
async fn without_a_waiting_room_a_page_gets_the_refusal() {
    for sample in Sample::all() {
        let gate = Scripted::start().await;
        let shop = sample.start(&gate.url, &gate.url, "key").await;
        for headers in [&["x-anteroom-room:"][..], &[]] {
            gate.replies(&[Reply::Status(403, headers)]);
            Answer::of(navigates(shop.get("/seats"))).await.is(403);
        }
    }
}

#[tokio::test]
async fn pages_of_other_origins_change_nothing() {
    for sample in Sample::all() {
        let site = Site::start(sample).await;
        let token = site.called().await;
        let order = || site.shop.post("/order").header(TOKEN, &token);
        for site_of in ["cross-site", "same-site"] {
            Answer::of(order().header("sec-fetch-site", site_of)).await.is(403);
        }
        Answer::of(order().header("origin", "https://other.example")).await.is(403);
        assert_eq!(site.status(&token).await, "ready");
        // A link of another page is a GET.
        let status = Answer::of(site.shop.get("/order").header(TOKEN, &token)).await.status;
        assert!(status == 404 || status == 405, "{status}");
        assert_eq!(site.status(&token).await, "active");
        Answer::of(order().header("origin", "https://shop.example")).await.is(200);
    }
}
