//! The shop as people see it: plain pages that work without a script. All that is filled in is
//! escaped, and the Content-Security-Policy lets nothing in but the one style and the one script
//! whose digests it names.

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Response;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY};
use hyper::body::Bytes;
use sha2::{Digest as _, Sha256};

use crate::shop::{Offer, Reservation, ReservationState, Seat, SeatState, Show};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
        digest(STYLE),
        digest(SCRIPT),
    );
    // Base64 and constants are always a header value.
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// The schedule.
pub fn shows(offers: &[Offer], visit: Option<Duration>) -> Response<Bytes> {
    let mut body = String::from("<h1>Tickets</h1>\n<ul>\n");
    for Offer { show, seats, free } in offers {
        let (id, title, starts_at) = (show.id, escaped(&show.title), escaped(&show.starts_at));
        let _ = writeln!(
            body,
            "<li><a class=\"button\" href=\"/shows/{id}/seats\">{title}, {starts_at}: \
             {free} of {seats} seats free</a></li>"
        );
    }
    body.push_str("</ul>\n");
    body.push_str(&visit_ends(visit));
    page("Tickets", &body)
}

/// The seats of a show, each free one a button.
pub fn seats(show: &Show, seats: &[Seat], visit: Option<Duration>) -> Response<Bytes> {
    let title = escaped(&show.title);
    let mut body = format!(
        "<h1>{title}</h1>\n<p>{}. Choose a seat: it is yours at once, and then there is some time \
         to pay.</p>\n<form method=\"post\">\n",
        escaped(&show.starts_at)
    );
    for row in seats.chunk_by(|one, next| one.row == next.row) {
        let name = escaped(&row[0].row);
        let _ = write!(body, "<fieldset><legend>Row {name}</legend><div class=\"seats\">");
        for seat in row {
            let (show, id, number) = (show.id, seat.id, seat.number);
            let _ = match seat.state {
                SeatState::Free => write!(
                    body,
                    "<button formaction=\"/shows/{show}/seats/{id}/reservation\" \
                     aria-label=\"Row {name}, seat {number}\">{number}</button>"
                ),
                SeatState::Reserved | SeatState::Sold => write!(
                    body,
                    "<span class=\"taken\" role=\"img\" \
                     aria-label=\"Row {name}, seat {number}, taken\">{number}</span>"
                ),
            };
        }
        body.push_str("</div></fieldset>\n");
    }
    body.push_str("</form>\n");
    body.push_str(&visit_ends(visit));
    page(&title, &body)
}

/// A reservation, its payment, its end.
pub fn reservation(of: &Reservation) -> Response<Bytes> {
    let Reservation { id, state, expires_in, show, seat } = of;
    let seat = format!(
        "{}, {}: row {}, seat {}",
        escaped(&show.title),
        escaped(&show.starts_at),
        escaped(&seat.row),
        seat.number
    );
    let body = match state {
        ReservationState::Reserved => format!(
            "<h1>Reserved for you</h1>\n<p>{seat}</p>\n<p>Pay within {}, or another visitor can \
             take it.</p>\n<form method=\"post\" action=\"/reservations/{}/payment\">\
             <button>Pay</button></form>\n<p>This is a sample: no money moves.</p>\n",
            left(expires_in.map_or(Duration::ZERO, |left| left.0)),
            escaped(id)
        ),
        ReservationState::Sold => format!(
            "<h1>Done: the seat is yours</h1>\n<p>{seat}</p>\n\
             <p><a class=\"button\" href=\"/\">Another seat</a></p>\n"
        ),
        ReservationState::Lapsed => format!(
            "<h1>The time to pay has ended</h1>\n<p>{seat}</p>\n\
             <p><a class=\"button\" href=\"/\">Choose again</a></p>\n"
        ),
    };
    page("Your seat", &body)
}

/// Who finished has left.
pub fn goodbye() -> Response<Bytes> {
    let back = "<p><a class=\"button\" href=\"/\">Visit the shop again</a></p>\n";
    page("Goodbye", &format!("<h1>Your visit is over</h1>\n{back}"))
}

/// What did not work.
pub fn problem(title: &str, detail: Option<&str>) -> Response<Bytes> {
    let detail = detail.map(|detail| format!("<p>{}.</p>\n", escaped(detail))).unwrap_or_default();
    let back = "<p><a class=\"button\" href=\"/\">To the tickets</a></p>\n";
    let title = escaped(title);
    page(&title, &format!("<h1>{title}</h1>\n{detail}{back}"))
}

/// For a visitor who pressed a button when the visit was over.
pub fn not_admitted(room: &str) -> Response<Bytes> {
    let to = escaped(room);
    let back = format!("<p><a class=\"button\" href=\"{to}\">To the waiting room</a></p>\n");
    page(
        "Not admitted yet",
        &format!(
            "<h1>You are not admitted at the moment</h1>\n<p>Nothing was changed. Please wait for \
             your turn.</p>\n{back}"
        ),
    )
}

/// Nothing where there is no visit that could end.
fn visit_ends(visit: Option<Duration>) -> String {
    visit.map_or_else(String::new, |visit| {
        format!(
            "<p>Your visit ends in {}. Each step extends it.</p>\n\
             <form method=\"post\" action=\"/finish\"><button>Leave without a seat</button></form>\n",
            left(visit)
        )
    })
}

fn left(span: Duration) -> String {
    let seconds = span.as_secs();
    let clock = format!("{}:{:02}", seconds / 60, seconds % 60);
    format!("<time data-left=\"{seconds}\">{clock}</time>")
}

fn page(title: &str, body: &str) -> Response<Bytes> {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n"
    );
    let mut answer = Response::new(Bytes::from(html));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY.clone());
    // The address of a reservation is a secret, so no other site gets it. Not no-referrer: with
    // that, browsers send `Origin: null` with the forms.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    answer
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            char => safe.push(char),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_filled_in_stays_text() {
        let html = problem("<script>alert('1')</script>", Some("\"&\"")).into_body();
        let html = String::from_utf8(html.to_vec()).expect("text");
        assert!(html.contains("<h1>&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;</h1>"));
        assert!(html.contains("<p>&quot;&amp;&quot;.</p>"));
    }
}
