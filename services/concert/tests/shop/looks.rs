//! How the pages look in Chromium, on a phone and on a desk, by day and by night.

use anteroom_testkit::Chromium;
use reqwest::Method;
use serde_json::{Value, json};

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
        // The seats that are free, three shows, two ways out, one back to the shows, and one on
        // each of the other pages.
        assert_eq!(found["buttons"], 3 * (1198 + 3 + 2 + 1 + 4), "{found}");
    }
}

/// Replaces the script of a page: how many buttons lie on a free seat of the picture, and which do
/// not, or have something over their middle.
const MEASURE: &str = r#"<script>
const middle = (element) => {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return [(left + right) / 2, (top + bottom) / 2];
};
const drawn = [...document.querySelectorAll(".plan use[href='#free']")];
const buttons = [...document.querySelectorAll(".plan button")];
const off = buttons.filter((button, at) => {
  button.scrollIntoView({ block: "center", inline: "center" });
  const [x, y] = middle(button);
  const [seatX, seatY] = middle(drawn[at]);
  return Math.hypot(x - seatX, y - seatY) > 3 || document.elementFromPoint(x, y) !== button;
});
document.body.textContent = JSON.stringify({
  drawn: drawn.length, buttons: buttons.length, off: off.map((button) => button.ariaLabel),
});
</script>"#;

#[tokio::test]
async fn each_button_lies_on_its_seat_in_the_picture() {
    let Some(chromium) = Chromium::find() else { return };
    for (rows, seats, free) in [("8", "6", 46), ("3", "1", 1), ("4", "31", 122)] {
        let concert = Concert::start(&["--think", "0s", "--rows", rows, "--seats", seats]).await;
        concert.reserve(2).await.is(201);
        concert.reserve(3).await.is(201);
        for query in ["", "?state=free"] {
            let page = concert.get(&format!("/shows/1/seats{query}")).await;
            let (before, rest) = page.is(200).text.split_once("<script>").expect("a script");
            let (_, after) = rest.split_once("</script>").expect("its end");
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("seats.html");
            std::fs::write(&file, format!("{before}{MEASURE}{after}")).expect("written");
            let file = file.display().to_string();
            let dom = chromium.dom(&["--window-size=500,700"], &file).await;
            let found = dom.split_once("<body>").and_then(|(_, rest)| rest.split("</body>").next());
            let found: Value = serde_json::from_str(found.expect("a body")).expect("JSON");
            assert_eq!(
                found,
                json!({ "drawn": free, "buttons": free, "off": [] }),
                "{rows} × {seats}"
            );
        }
    }
}
