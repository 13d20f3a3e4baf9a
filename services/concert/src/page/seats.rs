//! The seats of a show: the hall as a picture, and on each free seat of it a button.
//!
//! The buttons are HTML, in rows of the same measures as the picture: so a seat is reserved by a
//! POST, with the keyboard, with a screen reader and without a script.

use std::time::Duration;

use http::Response;
use hyper::body::Bytes;

use super::hall::Hall;
use super::layout::{Width, escaped, leave, page, visit_clock};
use super::when::Start;
use crate::shop::{Seat, Show};

/// The page with all these seats.
pub fn seats(show: &Show, seats: &[Seat], visit: Option<Duration>) -> Response<Bytes> {
    let title = escaped(&show.title);
    let start = Start::of(&show.starts_at).long();
    let advice = if seats.iter().any(Seat::is_free) {
        "Choose a seat. It is reserved for you at once, and then you have some time to pay."
    } else {
        "All seats are taken. A reserved seat is free again if it is not paid in time."
    };
    let hall = Hall::of(seats);
    let rows: String = seats
        .chunk_by(|one, next| one.row == next.row)
        .map(|row| buttons(show, &hall, row))
        .collect();
    let card = format!(
        "<h1>{title}</h1>\n<p>{start}</p>\n{}<p>{advice}</p>\n{}\
         <div class=\"hall\"><form class=\"plan\" method=\"post\">\n{}{rows}</form></div>\n\
         <div class=\"ways\"><a class=\"button\" href=\"/\">All shows</a>\n{}</div>\n",
        visit_clock(visit),
        legend(),
        hall.picture(seats),
        leave(visit),
    );
    page(&title, Width::Content, &card)
}

/// A row: what the picture has at the same places.
fn buttons(show: &Show, hall: &Hall, row: &[Seat]) -> String {
    let mut html = String::from("<div class=\"row\">");
    let mut column = 1;
    for seat in row {
        // A seat that is not shown leaves its place empty.
        for empty in column..seat.number {
            html.push_str(&aisle(hall, empty));
            html.push_str("<span></span>");
        }
        html.push_str(&aisle(hall, seat.number));
        html.push_str(&button(show, hall, seat));
        column = seat.number + 1;
    }
    html.push_str("</div>\n");
    html
}

fn aisle(hall: &Hall, column: i64) -> String {
    if hall.is_after_aisle(column) { "<i></i>".to_owned() } else { String::new() }
}

fn button(show: &Show, hall: &Hall, seat: &Seat) -> String {
    let (row, number, bend) = (escaped(&seat.row), seat.number, hall.bend(seat.number));
    if seat.is_free() {
        let (show, id) = (show.id, seat.id);
        format!(
            "<button formaction=\"/shows/{show}/seats/{id}/reservation\" class=\"b{bend}\" \
             aria-label=\"Row {row}, seat {number}\">{number}</button>"
        )
    } else {
        format!(
            "<span class=\"taken b{bend}\" role=\"img\" \
             aria-label=\"Row {row}, seat {number}, taken\"></span>"
        )
    }
}

fn legend() -> String {
    let key = |seat: &str, text: &str| {
        format!(
            "<li><svg viewBox=\"0 0 40 40\" aria-hidden=\"true\">\
             <use href=\"#{seat}\"/></svg>{text}</li>"
        )
    };
    format!("<ul class=\"legend\">{}{}</ul>\n", key("free", "Free"), key("taken", "Taken"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shop::SeatState;

    fn seat(number: i64, state: SeatState) -> Seat {
        Seat { id: 10 + number, row: "A".to_owned(), number, state }
    }

    fn show() -> Show {
        Show { id: 1, title: "A".to_owned(), starts_at: "B".to_owned() }
    }

    #[test]
    fn only_free_seats_can_be_pressed() {
        let row = [
            seat(1, SeatState::Free),
            seat(2, SeatState::Reserved),
            seat(3, SeatState::Sold),
            seat(4, SeatState::Free),
        ];
        let html = buttons(&show(), &Hall::of(&row), &row);
        let names: Vec<_> = html.split("<button ").skip(1).collect();
        assert_eq!(names.len(), 2, "{html}");
        assert!(names[0].contains("/shows/1/seats/11/reservation"), "{html}");
        assert!(names[1].contains("aria-label=\"Row A, seat 4\">4</button>"), "{html}");
        assert_eq!(html.matches("role=\"img\"").count(), 2, "{html}");
    }

    #[test]
    fn seats_that_are_left_out_keep_their_places() {
        let row = [seat(2, SeatState::Free), seat(4, SeatState::Free)];
        let html = buttons(&show(), &Hall::of(&row), &row);
        let order: Vec<_> =
            html.split('<').filter_map(|tag| tag.split([' ', '>']).next()).collect();
        assert_eq!(
            order[2..].join(" "),
            "span /span button /button i /i span /span button /button /div"
        );
    }
}
