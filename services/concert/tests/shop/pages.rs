//! The pages, as a browser without a script gets on with them.

use anteroom_testkit::{PATIENCE, until_some};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use sha2::{Digest as _, Sha256};

use crate::support::{Answer, Concert, Reserved as _};

/// The text between two others, first found.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("no {from}: {text}"));
    rest.split(to).next().expect("an end")
}

/// As the ticket of a reservation has it.
const FIRST_SEAT: &str = "<dt>Row</dt><dd>A</dd></div><div><dt>Seat</dt><dd>1</dd>";

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
    assert!(page.is(200).text.contains("<h1>Reserved for you</h1>"), "{page:?}");
    assert!(page.text.contains(FIRST_SEAT), "{page:?}");

    let taken = press(&seat).await;
    assert!(
        taken.is(409).text.contains("<h1>Another visitor has taken this seat</h1>"),
        "{taken:?}"
    );
    let seats = look(show).await;
    assert!(seats.text.contains("role=\"img\" aria-label=\"Row A, seat 1, taken\""), "{seats:?}");

    let pay = between(&page.text, "action=\"", "\"");
    assert_eq!(press(pay).await.is(303).header("location"), at);
    assert!(look(&at).await.is(200).text.contains("Done: the seat is yours"));
    assert!(look("/").await.is(200).text.contains("47 of 48 seats free"));
}

/// The shop behind a gateway, as a visitor with 61 s left sees it.
async fn visit(concert: &Concert, path: &str) -> String {
    let look = concert.call(Method::GET, path).header("accept", "text/html");
    Answer::of(look.header("x-anteroom-expires-in", "61")).await.is(200).text.clone()
}

#[tokio::test]
async fn each_free_seat_is_a_button_with_a_name_and_a_taken_one_is_none() {
    let concert = Concert::start(&["--gate", "headers", "--think", "0s"]).await;
    concert.reserve(2).await.is(201);
    let sold = concert.reserve(48).await.is(201).reservation();
    concert.pay(&sold).await.is(200);
    let page = visit(&concert, "/shows/1/seats").await;
    let buttons: Vec<_> = page.split("<button ").skip(1).collect();
    let names: Vec<_> = buttons.iter().map(|it| between(it, "aria-label=\"", "\"")).collect();
    let seats =
        ('A'..='H').flat_map(|row| (1..=6).map(move |seat| format!("Row {row}, seat {seat}")));
    let (taken, free): (Vec<_>, Vec<_>) =
        seats.partition(|name| ["Row A, seat 2", "Row H, seat 6"].contains(&&**name));
    assert_eq!(names, free);
    let ways: Vec<_> = buttons.iter().map(|it| between(it, "formaction=\"", "\"")).collect();
    for (seat, is_free) in [(1, true), (2, false), (47, true), (48, false)] {
        let way = format!("/shows/1/seats/{seat}/reservation");
        assert_eq!(ways.contains(&&*way), is_free, "{way}");
    }
    assert!(page.contains("<button>Leave without a seat</button>"), "{page}");
    // The picture has all of them, and one that is taken still has a name.
    assert_eq!(page.matches("<use href=\"#taken\" x=").count(), 2);
    assert_eq!(page.matches("<use href=\"#free\" x=").count(), 46);
    for name in taken {
        assert!(
            page.contains(&format!("role=\"img\" aria-label=\"{name}, taken\"></span>")),
            "{page}"
        );
    }
    assert!(page.len() <= 20 << 10, "{} bytes", page.len());
}

#[tokio::test]
async fn a_show_without_a_free_seat_is_sold_out() {
    let hall = ["--think", "0s", "--shows", "2", "--rows", "1", "--seats", "2"];
    let concert = Concert::start(&hall).await;
    for seat in 1..=2 {
        concert.reserve(seat).await.is(201);
    }
    let page = visit(&concert, "/").await;
    assert!(page.contains("0 of 2 seats free") && page.contains("Sold out"), "{page}");
    assert!(!page.contains("/shows/1/seats") && page.contains("href=\"/shows/2/seats\""), "{page}");
    let page = visit(&concert, "/shows/1/seats").await;
    assert!(page.contains("All seats are taken.") && !page.contains("formaction"), "{page}");
}

#[tokio::test]
async fn without_a_script_the_times_left_can_be_read() {
    let concert = Concert::start(&["--gate", "headers", "--think", "0s", "--hold", "1h"]).await;
    for path in ["/", "/shows/1/seats"] {
        let page = visit(&concert, path).await;
        assert!(page.contains("Your visit ends in <time data-left=\"61\">1:01</time>"), "{page}");
        assert!(
            page.contains("<form class=\"leave\" method=\"post\" action=\"/finish\">"),
            "{page}"
        );
    }
    let id = concert.reserve(1).await.is(201).reservation();
    let page = visit(&concert, &format!("/reservations/{id}")).await;
    let left = between(&page, "Pay within <time data-left=\"", "\"");
    let left: u64 = left.parse().expect("seconds");
    assert!((3_000..=3_600).contains(&left), "{page}");
    assert!(page.contains(&format!(">{}:{:02}</time>", left / 60, left % 60)), "{page}");
}

#[tokio::test]
async fn a_payment_has_a_receipt_that_shows_no_secret() {
    let concert = Concert::start(&["--think", "0s"]).await;
    let id = concert.reserve(1).await.is(201).reservation();
    let path = format!("/reservations/{id}");
    let unpaid = visit(&concert, &path).await;
    assert!(unpaid.contains("<button class=\"primary\">Pay</button>"), "{unpaid}");
    assert!(!unpaid.contains("<dt>Receipt</dt>"), "{unpaid}");
    concert.pay(&id).await.is(200);
    let receipt = visit(&concert, &path).await;
    let number = between(&receipt, "<dt>Receipt</dt><dd>", "</dd>");
    assert_eq!(number, id[..8].to_uppercase());
    assert!(!receipt.contains(&id), "who sees the receipt cannot open it: {receipt}");
    assert!(between(&receipt, "<dt>Paid</dt><dd>", "</dd>").ends_with(" UTC"), "{receipt}");
    assert!(receipt.contains("<h2>Winter concert, evening 1</h2>"), "{receipt}");
    assert!(receipt.contains("<p>Friday 15 January 2027, 20:00</p>"), "{receipt}");
    assert!(receipt.contains(FIRST_SEAT) && receipt.contains("<svg class=\"tick\""), "{receipt}");
    assert!(!receipt.contains("<time"), "nothing ends any more: {receipt}");
}

#[tokio::test]
async fn a_reservation_that_has_ended_leads_back() {
    let concert = Concert::start(&["--think", "0s", "--hold", "1ms"]).await;
    let id = concert.reserve(1).await.is(201).reservation();
    let path = format!("/reservations/{id}");
    let page = until_some("it lapses", PATIENCE, async || {
        Some(visit(&concert, &path).await).filter(|page| !page.contains("Reserved for you"))
    });
    let page = page.await;
    assert!(page.contains("<h1>The time to pay has ended</h1>"), "{page}");
    assert!(page.contains("href=\"/\">Choose again</a>") && !page.contains("<form"), "{page}");
}

#[tokio::test]
async fn nothing_runs_but_what_the_policy_names_and_nothing_is_kept() {
    let concert = Concert::start(&["--think", "0s"]).await;
    let id = concert.reserve(1).await.is(201).reservation();
    let reservation = format!("/reservations/{id}");
    for path in ["/", "/shows/1/seats", "/none", &reservation] {
        let page = open(&concert, Method::GET, path).await;
        let policy = page.header("content-security-policy");
        for (kind, from, to) in
            [("style", "<style>", "</style>"), ("script", "<script>", "</script>")]
        {
            let digest = STANDARD.encode(Sha256::digest(between(&page.text, from, to)));
            assert!(policy.contains(&format!("{kind}-src 'sha256-{digest}'")), "{kind}: {policy}");
        }
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        assert!(!page.text.contains(" style=") && !page.text.contains("onclick"), "{page:?}");
        assert_eq!(page.header("cache-control"), "private, no-store");
        assert_eq!(page.header("referrer-policy"), "same-origin");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
    }
}
