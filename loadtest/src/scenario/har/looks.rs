//! What is taken for a secret by its own looks.
//!
//! What is kept although it may look random: UUIDs, ULIDs and object ids (24 hexadecimal digits),
//! which name seats, shows and orders, and whatever has fewer than 20 letters and digits.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// A pattern of which the first group counts, if it has one, and what else must hold.
type Shape = (Regex, fn(&str) -> bool);

static SHAPES: LazyLock<[Shape; 5]> = LazyLock::new(|| {
    let any: fn(&str) -> bool = |_| true;
    let long: fn(&str) -> bool = |text| text.len() >= 8;
    [
        (r"-----BEGIN[A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END[A-Z ]*-----|\z)", any),
        // A JSON Web Token, or JSON in Base64: `{"`.
        (r"\beyJ[A-Za-z0-9_+/-]{5,}={0,2}(?:\.[A-Za-z0-9_=-]*)*", any),
        // RFC 9110, section 11.4: a scheme and its token.
        (r"(?i)\b(?:basic|bearer|digest)\s+([A-Z0-9._~+/-]*[0-9=][A-Z0-9._~+/=-]*)", long),
        (r"://[^/\s:@?#]*:([^/\s@?#]+)@", any),
        (r"\b[2-6](?:[ -]?[0-9]){13,15}\b", is_card),
    ]
    .map(|(pattern, holds)| (compiled(pattern), holds))
});
static RUN: LazyLock<Regex> = LazyLock::new(|| compiled(r"[A-Za-z0-9_+/=.~-]{20,}"));
static UUID: LazyLock<Regex> =
    LazyLock::new(|| compiled("(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));

pub fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant that every test of this module uses")
}

/// Where a text has parts that are secrets by their looks, in order.
pub fn in_text(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (pattern, holds) in SHAPES.iter() {
        let hits = pattern.captures_iter(text).filter_map(|hit| hit.get(1).or_else(|| hit.get(0)));
        found.extend(hits.filter(|hit| holds(hit.as_str())).map(|hit| hit.range()));
    }
    for run in RUN.find_iter(text) {
        // The segments of a path are looked at one by one.
        if !run.as_str().starts_with('/') && is_random(run.as_str()) {
            found.push(run.range());
            continue;
        }
        let mut at = run.start();
        for part in run.as_str().split_inclusive(['/', '.', '=']) {
            let bare = part.trim_end_matches(['/', '.', '=']);
            if is_random(bare) {
                found.push(at..at + bare.len());
            }
            at += part.len();
        }
    }
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut apart: Vec<Range<usize>> = Vec::new();
    for range in found {
        match apart.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

/// Whether letters and digits follow each other as nobody writes them: of 20 and more, a fifth are
/// where a digit meets a letter or a capital follows a small letter (a quarter without digits).
/// At random it is about 0.45 for Base64, 0.47 for hexadecimal, 0.4 for digits and small letters.
fn is_random(text: &str) -> bool {
    let text = UUID.replace_all(text, "-");
    let (mut length, mut changes, mut digits) = (0, 0, false);
    for piece in text.split(|char: char| !char.is_ascii_alphanumeric()) {
        let own = piece.as_bytes().windows(2).filter(|two| changes_at(two[0], two[1])).count();
        // What is shorter are words and numbers.
        let counts = piece.len() >= 8 || (piece.len() >= 4 && own > 0);
        if counts && !is_id(piece) {
            length += piece.len();
            changes += own;
            digits |= piece.contains(|char: char| char.is_ascii_digit());
        }
    }
    length >= 20 && changes * (if digits { 5 } else { 4 }) >= length
}

fn changes_at(one: u8, next: u8) -> bool {
    one.is_ascii_digit() != next.is_ascii_digit()
        || (one.is_ascii_lowercase() && next.is_ascii_uppercase())
}

/// An object id or a ULID.
fn is_id(piece: &str) -> bool {
    let ulid = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    match piece.len() {
        24 => piece.bytes().all(|byte| byte.is_ascii_hexdigit()),
        26 => piece.starts_with(|first| ('0'..='7').contains(&first)) && piece.bytes().all(ulid),
        _ => false,
    }
}

/// A number of a payment card by its length, its first digits and its check digit (ISO/IEC 7812-1,
/// the formula of Luhn).
fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|char| char.to_digit(10)).collect();
    let first = digits.iter().take(4).fold(0, |number, digit| number * 10 + digit);
    let known = match digits.len() {
        14 | 15 => (3000..4000).contains(&first),
        _ => (2221..=2720).contains(&first) || (3000..7000).contains(&first),
    };
    let sum: u32 = (0..)
        .zip(digits.iter().rev())
        .map(|(place, digit)| if place % 2 == 0 { *digit } else { digit * 2 % 10 + digit / 5 })
        .sum();
    known && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        in_text(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn looks_tell_a_secret() {
        for (text, secrets) in [
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", None),
            ("eyJhbGciOiJIUzI1NiJ9.LEAK", None),
            ("as Bearer abcdefg1, please", Some("abcdefg1")),
            ("Basic YWRhOmI=", Some("YWRhOmI=")),
            ("https://ada:lovelace@a.test/", Some("lovelace")),
            ("by 4242 4242 4242 4242", Some("4242 4242 4242 4242")),
            ("378282246310005", None),
            ("-----BEGIN PRIVATE KEY-----\nAA\n-----END PRIVATE KEY-----", None),
            ("9f86d081884c7d659a2feaa0c55ad015", None),
            ("(V1StGXR8_Z5jdHi6B-myT4)", Some("V1StGXR8_Z5jdHi6B-myT4")),
            ("/files/q83vEjRWeJA7s9Kd2LxQ0w/a", Some("q83vEjRWeJA7s9Kd2LxQ0w")),
            ("4/0AX4XfWhQ2Zk8sLr3vTn9pYd7cB1mUe5o", None),
        ] {
            let secrets = secrets.unwrap_or(text);
            assert_eq!(found(text).concat(), secrets, "{text}");
        }
    }

    #[test]
    fn what_a_shop_names_its_things_by_is_none() {
        for text in [
            "/api/shows/1/seats/A12",
            "550e8400-e29b-41d4-a716-446655440000",
            "order_550e8400-e29b-41d4-a716-446655440000.pdf",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "507f1f77bcf86cd799439011",
            "rolling-stones-live-in-berlin-2026-08-14-20h00",
            "/tickets/rolling-stones-2026/block-12/row-3/seat-44",
            "iphone15pro-256gb-silver",
            "SeatMapQuery_getAvailableSeatsForShowOfTheWeek",
            "2026-01-15T11:00:00.000Z",
            "1768475000000",
            "5234567890123456",
            "application/vnd.shop.v2+json;charset=utf-8",
            "A basic package for the bearer of this, basic 2-room",
            "12345678901234567890123456789012345",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
