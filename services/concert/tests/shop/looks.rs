//! How the pages look in Chromium, on a phone and on a desk, by day and by night.

use anteroom_testkit::Chromium;
use reqwest::Method;
use serde_json::json;

use crate::support::{Answer, Concert, Reserved as _};

#[tokio::test]
async fn the_pages_fit_can_be_read_and_their_buttons_look_like_buttons() {
    let Some(chromium) = Chromium::find() else { return };
    // Long rows, as a large hall has them.
    let arguments = ["--gate", "headers", "--think", "0s", "--rows", "30", "--seats", "40"];
    let concert = Concert::start(&arguments).await;
    let reserved = concert.reserve(1).await.is(201).reservation();
    let sold = concert.reserve(2).await.is(201).reservation();
    concert.pay(&sold).await.is(200);
    let mut pages = Vec::new();
    for path in [
        "/",
        "/shows/1/seats",
        "/none",
        &format!("/reservations/{reserved}"),
        &format!("/reservations/{sold}"),
    ] {
        let look = concert.call(Method::GET, path).header("accept", "text/html");
        pages.push((path.to_owned(), Answer::of(look.header("x-anteroom-expires-in", "58")).await));
    }
    let finish = concert.call(Method::POST, "/finish");
    pages.push(("goodbye".to_owned(), Answer::of(finish).await));
    let pages: Vec<_> = pages.into_iter().map(|(name, page)| (name, page.text)).collect();
    for is_dark in [false, true] {
        let found = chromium.looks(&pages, is_dark).await;
        assert_eq!(found["wrong"], json!([]), "dark: {is_dark}");
        assert_eq!(found["dark"], is_dark);
        assert_eq!(found["pages"], 3 * pages.len());
        // The seats that are free, three shows, two ways out, and one on each of the other pages.
        assert_eq!(found["buttons"], 3 * (1198 + 3 + 2 + 4), "{found}");
    }
}
