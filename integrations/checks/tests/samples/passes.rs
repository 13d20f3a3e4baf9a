//! Status 200: the request passes.

use crate::{
    sample::Sample,
    scripted::{Reply, Scripted},
    shop::{Answer, Sample as _, navigates},
    site::{COOKIE, Site, TOKEN},
};

#[tokio::test]
async fn a_called_visitor_passes_with_its_cookie_or_its_token() {
    for sample in Sample::all() {
        let site = Site::start(sample).await;
        let token = site.called().await;
        let page = navigates(site.shop.get("/seats"));
        let page = Answer::of(page.header("cookie", format!("a=b; {COOKIE}={token}"))).await;
        assert!(page.is(200).text.contains("Seats"), "{page:?}");
        assert_eq!(page.header("cache-control"), "private, no-store");
        assert_eq!(site.status(&token).await, "active");
        Answer::of(site.shop.get("/seats").header(TOKEN, &token)).await.is(200);
        Answer::of(site.shop.get("/seats").bearer_auth(&token)).await.is(200);
        // A cookie of another application.
        let cookies = format!("name=Zoë; {COOKIE}={token}");
        Answer::of(site.shop.get("/seats").header("cookie", cookies)).await.is(200);
    }
}

/// `x-anteroom-token`, `Cookie` and `Authorization` go along, and nothing of another visitor.
#[tokio::test]
async fn the_check_gets_the_visitor_s_headers_and_its_cookies_come_back() {
    const COOKIES: [&str; 2] = [
        "set-cookie: __Host-anteroom_concert=art1.x; HttpOnly; Max-Age=604800; Path=/; \
         SameSite=Lax; Secure",
        // A client that stores cookies would send it again.
        "set-cookie: other=1; Max-Age=60; Path=/",
    ];
    for sample in Sample::all() {
        let gate = Scripted::start().await;
        let shop = sample.start(&gate.url, &gate.url, "key").await;
        gate.replies(&[Reply::Status(200, &COOKIES)]);
        let call = shop.get("/seats?row=1").header("cookie", "a=b; c=d");
        let call = call.header(TOKEN, "art1.a").header("authorization", "Bearer art1.b");
        // Headers that the shop does not set itself.
        let call = call.header("x-forwarded-uri", "/join").header("x-anteroom-gate", "join");
        let answer = Answer::of(call).await;
        let expected = COOKIES.map(|line| line.trim_start_matches("set-cookie: "));
        assert_eq!(answer.is(200).cookies(), expected, "{answer:?}");
        let [head] = &gate.requests()[..] else { panic!("one request") };
        assert!(head.starts_with("GET /v1/queues/concert/authorize HTTP/1.1\r\n"), "{head}");
        let head = head.to_lowercase();
        for line in ["cookie: a=b; c=d", "x-anteroom-token: art1.a", "authorization: bearer art1.b"]
        {
            assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
        }
        assert!(!head.contains("x-forwarded-uri") && !head.contains("x-anteroom-gate"), "{head}");

        // The client of the shop has not stored the cookies of the answer.
        gate.replies(&[Reply::Status(200, &[])]);
        Answer::of(shop.get("/seats")).await.is(200);
        let [head] = &gate.requests()[..] else { panic!("one request") };
        let head = head.to_lowercase();
        for name in ["cookie", "x-anteroom-token", "authorization"] {
            assert!(!head.contains(&format!("\r\n{name}:")), "{head}");
        }
    }
}
