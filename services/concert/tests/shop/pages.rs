//! The pages, as a browser without a script gets on with them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use sha2::{Digest as _, Sha256};

use crate::support::{Answer, Concert};

/// The text between two others, first found.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("no {from}: {text}"));
    rest.split(to).next().expect("an end")
}

async fn open(concert: &Concert, method: Method, path: &str) -> Answer {
    Answer::of(concert.call(method, path).header("accept", "text/html")).await
}

#[tokio::test]
async fn from_the_shows_to_a_seat_that_is_paid() {
    let concert = Concert::start(&["--think", "0s"]).await;
    let look = async |path: &str| open(&concert, Method::GET, path).await;
    let press = async |path: &str| open(&concert, Method::POST, path).await;
    let shows = look("/").await;
    assert_eq!(shows.is(200).text.matches("48 of 48 seats free").count(), 3);
    assert!(!shows.text.contains("Leave"), "there is no visit where there is no gate");
    let show = between(&shows.text, "href=\"", "\"");
    let seats = look(show).await;
    assert_eq!(seats.is(200).text.matches("<button formaction=").count(), 48);
    let seat = between(&seats.text, "formaction=\"", "\"").to_owned();
    let reserved = press(&seat).await;
    let at = reserved.is(303).header("location").to_owned();
    let page = look(&at).await;
    assert!(page.is(200).text.contains("row A, seat 1</p>"), "{page:?}");
    assert!(page.text.contains("Pay within <time data-left=\"1"), "{page:?}");

    let taken = press(&seat).await;
    assert!(
        taken.is(409).text.contains("<h1>Another visitor has taken this seat</h1>"),
        "{taken:?}"
    );
    let seats = look(show).await;
    assert!(
        seats.text.contains("class=\"taken\" role=\"img\" aria-label=\"Row A, seat 1, taken\""),
        "{seats:?}"
    );

    let pay = between(&page.text, "action=\"", "\"");
    assert_eq!(press(pay).await.is(303).header("location"), at);
    assert!(look(&at).await.is(200).text.contains("Done: the seat is yours"));
    assert!(look("/").await.is(200).text.contains("47 of 48 seats free"));
}

#[tokio::test]
async fn nothing_runs_but_what_the_policy_names_and_nothing_is_kept() {
    let concert = Concert::start(&["--think", "0s"]).await;
    for path in ["/", "/shows/1/seats", "/none"] {
        let page = open(&concert, Method::GET, path).await;
        let policy = page.header("content-security-policy");
        for (kind, from, to) in
            [("style", "<style>", "</style>"), ("script", "<script>", "</script>")]
        {
            let digest = STANDARD.encode(Sha256::digest(between(&page.text, from, to)));
            assert!(policy.contains(&format!("{kind}-src 'sha256-{digest}'")), "{kind}: {policy}");
        }
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        assert!(!page.text.contains("style=") && !page.text.contains("onclick"), "{page:?}");
        assert_eq!(page.header("cache-control"), "private, no-store");
        assert_eq!(page.header("referrer-policy"), "same-origin");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
    }
}
