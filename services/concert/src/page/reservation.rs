//! A reservation: the time to pay, then the receipt, or its end without a payment.

use std::time::Duration;

use http::Response;
use hyper::body::Bytes;

use super::layout::{Width, escaped, page, time_left};
use super::when::{Start, paid};
use crate::shop::{Reservation, ReservationState};

const TICK: &str = "<svg class=\"tick\" viewBox=\"0 0 48 48\" aria-hidden=\"true\">\
    <circle cx=\"24\" cy=\"24\" r=\"22\"/><path d=\"M14 25l7 7 14-15\"/></svg>\n";

/// The page of a reservation, whatever has become of it.
pub fn reservation(of: &Reservation) -> Response<Bytes> {
    let (title, card) = match of.state {
        ReservationState::Reserved => ("Reserved for you", reserved(of)),
        ReservationState::Sold => ("Receipt", sold(of)),
        ReservationState::Lapsed => ("The time to pay has ended", lapsed(of)),
    };
    page(title, Width::Column, &card)
}

fn reserved(of: &Reservation) -> String {
    let left = of.expires_in.map_or(Duration::ZERO, |left| left.0);
    format!(
        "<h1>Reserved for you</h1>\n\
         <p class=\"clock\">Pay within {} <small>Then the seat is free for others.</small></p>\n{}\
         <form method=\"post\" action=\"/reservations/{}/payment\">\
         <button class=\"primary\">Pay</button></form>\n",
        time_left(left),
        ticket(of, &[]),
        escaped(&of.id)
    )
}

fn sold(of: &Reservation) -> String {
    let mut facts = vec![("Receipt", short(&of.id))];
    facts.extend(of.paid_at.and_then(paid).map(|at| ("Paid", at)));
    format!(
        "{TICK}<h1>Done: the seat is yours</h1>\n{}\
         <div class=\"ways\"><button type=\"button\" data-print hidden>Print</button>\n\
         <a class=\"button\" href=\"/\">Another seat</a></div>\n",
        ticket(of, &facts)
    )
}

fn lapsed(of: &Reservation) -> String {
    format!(
        "<h1>The time to pay has ended</h1>\n<p>You did not pay in time, so other visitors can \
         choose this seat.</p>\n{}\
         <p class=\"go\"><a class=\"button\" href=\"/\">Choose again</a></p>\n",
        ticket(of, &[])
    )
}

/// Show, time and seat, then these facts; their values are escaped already.
fn ticket(of: &Reservation, facts: &[(&str, String)]) -> String {
    let Reservation { show, seat, .. } = of;
    let fact =
        |(name, value): &(&str, String)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>");
    let seat = [("Row", escaped(&seat.row)), ("Seat", seat.number.to_string())];
    format!(
        "<div class=\"ticket\"><h2>{}</h2><p>{}</p><dl>{}</dl></div>\n",
        escaped(&show.title),
        Start::of(&show.starts_at).long(),
        seat.iter().chain(facts).map(fact).collect::<String>()
    )
}

/// The number of a receipt. It is too short to find the reservation, so it is no secret.
fn short(id: &str) -> String {
    let number: String = id.chars().take(8).collect();
    escaped(&number.to_uppercase())
}
