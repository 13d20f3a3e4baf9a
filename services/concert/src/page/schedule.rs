//! The schedule: each show, and how many of its seats are free.

use std::time::Duration;

use http::Response;
use hyper::body::Bytes;

use super::layout::{Width, escaped, leave, page, visit_clock};
use super::when::Start;
use crate::shop::Offer;

/// All shows.
pub fn schedule(offers: &[Offer], visit: Option<Duration>) -> Response<Bytes> {
    let shows: String = offers.iter().map(show).collect();
    let card = format!(
        "<h1>Tickets</h1>\n{}<ul class=\"shows\">\n{shows}</ul>\n{}",
        visit_clock(visit),
        leave(visit)
    );
    page("Tickets", Width::Column, &card)
}

fn show(offer: &Offer) -> String {
    let Offer { show, seats, free } = offer;
    let (title, start) = (escaped(&show.title), Start::of(&show.starts_at));
    let (leaf, start) = (start.leaf(), start.long());
    let share = 100 * free / seats.max(&1);
    let way_in = match free {
        0 => "<p class=\"sold-out\">Sold out</p>".to_owned(),
        _ => format!(
            "<a class=\"button\" href=\"/shows/{}/seats\" aria-label=\"Choose a seat: {title}\">\
             Choose a seat</a>",
            show.id
        ),
    };
    format!(
        "<li>{leaf}<div><h2>{title}</h2><p>{start}</p></div>\
         <svg class=\"bar\" aria-hidden=\"true\"><rect width=\"{share}%\" height=\"100%\"/></svg>\
         <p class=\"free\">{free} of {seats} seats free</p>{way_in}</li>\n"
    )
}
