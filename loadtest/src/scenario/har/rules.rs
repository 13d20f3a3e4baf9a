//! The rules that classify every recorded value, by the name of its field, its place and its looks:
//! what only the recorded visit may send, or what any visitor may.

use std::ops::Range;
use std::sync::LazyLock;

use heck::ToSnakeCase as _;
use regex::Regex;

/// Why a recorded value is not replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A secret that its owner knows, such as a password: also a short one counts.
    Known,
    /// What cannot be guessed: a token, or the id of an order.
    Random,
    /// A short number in a path: an id only if an answer shows it as one.
    Number,
}

/// A part of a text that is not replayed, and the name of its field.
pub type Found<'t> = (Range<usize>, Kind, &'t str);

macro_rules! patterns {
    ($($name:ident = $pattern:expr;)*) => {
        $(static $name: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new($pattern).expect("a constant that every test of this module uses")
        });)*
    };
}
// A name is matched as `_its_words_`, so that a `passenger` is no `pass`.
patterns! {
    KNOWN = r"(?x)
        _(?:pass|pwd|pw|passe|senha|kennwort|wachtwoord|pin|otp|totp|tan|cvc|cvv|csc|card|iban|ssn
            |mfa)_
        | passw | passphrase | passcode | contrase | one_*time | 2_*fa | cc_*num | cc_*exp
        | ^_+code_+$";
    CODE = "_codes?_";
    CODE_OF = r"(?x)_(?:auth|authorization|verification|verify|security|access|activation|reset
        |login|sms|email|confirmation|recovery|backup|device|invite|gift|voucher|secret)_";
    RANDOM = r"(?x)
        _(?:auth|oauth|session|sid|sig|hmac|saml|nonce|bearer|cookie|assertion|verifier)_
        | token | secret | csrf | xsrf | signature | credential | sessid | sessionid | authoriz
        | jwt | ^_+(?:key|refresh|sign)_+$
        | (?:api|access|private|auth|shared|account|master|signing|subscription|license)_*key";
    // After such a segment of a path comes what lets its holder in: `/reset/4f9a1c`.
    LEAD = r"(?x)_(?:tokens?|reset|verify|verification|activate|activation|invite|invitation|magic
        |otp|password|unsubscribe)_";
    DIGITS = r"\d+";
    ID = "_(?:ids?|uuid|guid)_+$";
    // A name and what parts it from its value: `password: "`, `token=`.
    FIELD = r#"([\p{L}_$][\p{L}\p{N}_.-]*)["']?\s*([:=])\s*"#;
    VALUE = concat!(
        r#"\A(?:"""(?s:.*?)"""|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?"#,
        // Without quotes it is short; the rest is searched for fields of its own.
        r#"|[^\s&"'<>(){}\[\]]{1,512})"#,
    );
    // A private key; a JSON Web Token, or JSON in Base64 (`{"`); a scheme and its token (RFC 9110,
    // section 11.4); a password in an address; a UUID with the word around it; a ULID or
    // an object id; a card.
    SHAPE = r"(?x)
        -----BEGIN[A-Z\ ]*PRIVATE\ KEY-----(?s:.*?)(?:-----END[A-Z\ ]*-----|\z)
        | \beyJ[A-Za-z0-9_+/-]{5,}={0,2}(?:\.[A-Za-z0-9_=-]*)*
        | (?i:\b(?:basic|bearer|digest)\s+(?<token>[A-Z0-9._~+/-]*[0-9=][A-Z0-9._~+/=-]*))
        | ://[^/\s:@?\#]*:([^/\s@?\#]+)@
        | (?i:[\w-]*[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[\w-]*)
        | \b(?:[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9A-Fa-f]{24})\b
        | (?<card>\b[2-6](?:[\ -]?[0-9]){13,15}\b)";
    RUN = "[A-Za-z0-9_+/=.~-]{20,}";
    WORD = "[A-Za-z0-9_+~-]{20,}";
}

/// What a field of this name holds.
pub fn named(name: &str) -> Option<Kind> {
    let words = words(name);
    if KNOWN.is_match(&words) || (CODE.is_match(&words) && CODE_OF.is_match(&words)) {
        return Some(Kind::Known);
    }
    RANDOM.is_match(&words).then_some(Kind::Random)
}

/// Whether a field of this name holds an id.
pub fn names_id(name: &str) -> bool {
    ID.is_match(&words(name))
}

/// What the whole value of a field is, within a field of another kind or of none.
pub fn field(name: &str, outer: Option<Kind>, value: &str) -> Option<Kind> {
    let secret = named(name).or(outer).filter(|kind| kind.may_be(value));
    secret.or_else(|| (names_id(name) && is_id(value)).then_some(Kind::Random))
}

/// What a segment of a path is, after the segment before it.
pub fn segment(before: &str, value: &str) -> Option<Kind> {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let long = value.len() >= 16 && !value.contains('-') || value.len() >= 4 && digits > 0;
    match is_id(value) || (long && LEAD.is_match(&words(before))) {
        true => Some(Kind::Random),
        false => (digits > 0 && digits == value.len()).then_some(Kind::Number),
    }
}

impl Kind {
    /// Whether this value of a field of secrets is one: a short number can be guessed, so it is no
    /// token but a count or a row's number (the `session` of a cinema).
    fn may_be(self, value: &str) -> bool {
        let value = value.trim();
        let nothing = ["", "true", "false", "null", "undefined"];
        let number = value.len() <= 9 && value.bytes().all(|byte| byte.is_ascii_digit());
        !(nothing.contains(&value) || (self == Self::Random && number))
    }
}

/// The words of a name in lower case, with `_` around each; digits are a word of their own.
fn words(name: &str) -> String {
    format!("_{}_", DIGITS.replace_all(&name.to_snake_case(), "_${0}_"))
}

/// Fields with secrets in a text: a query of GraphQL, a cookie, a line of a log.
pub fn fields(text: &str) -> Vec<Found<'_>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(field) = FIELD.captures_at(text, at) {
        at = field.get_match().end();
        let (_, [name, sign]) = field.extract();
        let Some(kind) = named(name) else { continue };
        let value = VALUE.find(&text[at..]).map_or("", |value| value.as_str());
        let inside = value.trim_matches(['"', '\'']);
        // `$password: String!`, `token: accessToken`: a type or a name of GraphQL.
        let bare = sign == ":" && inside.len() == value.len();
        let variable = name.starts_with('$') || inside.starts_with('$');
        let number = inside.contains(|char: char| char.is_ascii_digit());
        if kind.may_be(inside) && !(bare && (variable || !number)) {
            let start = at + value.find(inside).unwrap_or_default();
            found.push((start..start + inside.len(), kind, name));
            at += value.len();
        }
    }
    found
}

/// The parts of a text that are random by their looks, in order and apart.
pub fn looks(text: &str) -> Vec<Found<'_>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for hit in SHAPE.captures_iter(text) {
        let is_one = hit.name("token").is_none_or(|token| token.len() >= 8)
            && hit.name("card").is_none_or(|card| is_card(card.as_str()));
        // The group, if it has one.
        found.extend(hit.iter().flatten().last().filter(|_| is_one).map(|part| part.range()));
    }
    for pattern in [&RUN, &WORD] {
        let runs = pattern.find_iter(text).filter(|run| is_random(run.as_str()));
        // The segments of a path are looked at one by one.
        let runs = runs.filter(|run| !run.as_str().starts_with('/'));
        found.extend(runs.map(|run| run.range()));
    }
    found.sort_by_key(|range| range.start);
    found.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        last.end = if overlaps { last.end.max(next.end) } else { last.end };
        overlaps
    });
    found.into_iter().map(|range| (range, Kind::Random, "")).collect()
}

/// What is found by field and by looks, which may overlap.
pub fn found(text: &str) -> Vec<Found<'_>> {
    fields(text).into_iter().chain(looks(text)).collect()
}

/// Whether a text can be shown: it has nothing that is not replayed.
pub fn is_clean(text: &str) -> bool {
    found(text).is_empty() && !is_id(text)
}

/// What is an id in a path or in a field of ids: what is random by its looks, a number of 5 digits
/// or more, hexadecimal digits or mixed letters and digits, of 8 or more.
fn is_id(value: &str) -> bool {
    let id = |piece: &str| {
        let digits = piece.bytes().filter(u8::is_ascii_digit).count();
        let hex = digits > 0 && piece.bytes().all(|byte| byte.is_ascii_hexdigit());
        (piece.len() >= 5 && digits == piece.len())
            || (piece.len() >= 8 && (hex || changes_in(piece) * 3 >= piece.len()))
    };
    pieces(value).any(id) || !looks(value).is_empty()
}

/// Whether letters and digits follow each other as in no word: of 20 and more, a fifth are
/// where a digit meets a letter or a capital follows a small letter (a quarter without digits).
/// At random it is about 0.45 for Base64, 0.47 for hexadecimal, 0.4 for digits and small letters.
fn is_random(text: &str) -> bool {
    let (mut length, mut changes, mut digits) = (0, 0, false);
    for piece in pieces(text) {
        let own = changes_in(piece);
        // What is shorter are words and numbers.
        if piece.len() >= 8 || (piece.len() >= 4 && own > 0) {
            length += piece.len();
            changes += own;
            digits |= piece.contains(|char: char| char.is_ascii_digit());
        }
    }
    length >= 20 && changes * (if digits { 5 } else { 4 }) >= length
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_ascii_alphanumeric())
}

fn changes_in(piece: &str) -> usize {
    let changes = |two: &&[u8]| {
        two[0].is_ascii_digit() != two[1].is_ascii_digit()
            || (two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase())
    };
    piece.as_bytes().windows(2).filter(changes).count()
}

/// A number of a payment card by its check digit (ISO/IEC 7812-1, the formula of Luhn).
fn is_card(text: &str) -> bool {
    let digits = text.chars().rev().filter_map(|char| char.to_digit(10));
    let doubled = |digit| digit * 2 % 10 + digit / 5;
    let sum: u32 = (0..).zip(digits).map(|(i, it)| if i % 2 == 0 { it } else { doubled(it) }).sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        looks(text).into_iter().map(|(range, ..)| &text[range]).collect()
    }

    #[test]
    fn looks_show_a_secret_and_an_id() {
        for text in "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln eyJhbGciOiJIUzI1NiJ9.LEAK
            378282246310005 4242424242424242 9f86d081884c7d659a2feaa0c55ad015
            V1StGXR8_Z5jdHi6B-myT4 4/0AX4XfWhQ2Zk8sLr3vTn9pYd7cB1mUe5o 507f1f77bcf86cd799439011
            550e8400-e29b-41d4-a716-446655440000 order_11111111-1111-1111-1111-111111111111
            01ARZ3NDEKTSV4RRFFQ69G5FAV 01ABCDEFGHJKMNPQRSTVWXYZAB
            22222222-2222-4222-8222-222222222222"
            .split_whitespace()
        {
            assert_eq!(found(text), text);
        }
        for (text, part) in [
            ("as Bearer abcdefg1, please", "abcdefg1"),
            ("Basic YWRhOmI=", "YWRhOmI="),
            ("https://ada:lovelace@a.test/", "lovelace"),
            ("by 4242 4242 4242 4242", "4242 4242 4242 4242"),
            ("a -----BEGIN PRIVATE KEY-----\nAA", "-----BEGIN PRIVATE KEY-----\nAA"),
            ("/files/q83vEjRWeJA7s9Kd2LxQ0w/a", "q83vEjRWeJA7s9Kd2LxQ0w"),
            ("A basic package for the bearer of this, basic 2-room", ""),
        ] {
            assert_eq!(found(text), part, "{text}");
        }
        for text in "/api/shows/1/seats/A12 rolling-stones-live-in-berlin-2026-08-14-20h00
            /tickets/rolling-stones-2026/block-12/row-3/seat-44 iphone15pro-256gb-silver
            SeatMapQuery_getAvailableSeatsForShowOfTheWeek 2026-01-15T11:00:00.000Z 1768475000000
            5234567890123456 application/vnd.shop.v2+json;charset=utf-8
            12345678901234567890123456789012345"
            .split_whitespace()
        {
            assert_eq!(found(text), "");
        }
    }

    #[test]
    fn segments_and_fields_show_an_id() {
        for id in "10482 9f86d081 V1StGXR8 dQw4w9WgXcQ ord_10482 10482.json a1b2c3d4e5
            9f86d081884c7d659a2feaa0c55ad015 550e8400-e29b-41d4-a716-446655440000"
            .split_whitespace()
        {
            assert_eq!(segment("orders", id), Some(Kind::Random), "{id}");
            assert_eq!(field("orderId", None, id), Some(Kind::Random), "{id}");
            assert!(!is_clean(&format!("href=\"/a/{id}/b")), "{id}");
        }
        for word in "seats A12 row-3 iphone15pro v2 block12a beautiful 2026-08-14 facade".split(' ')
        {
            assert_eq!(segment("shows", word), None, "{word}");
            assert_eq!(field("show_id", None, word), None, "{word}");
        }
        assert_eq!((segment("a", "42"), field("price", None, "10482")), (Some(Kind::Number), None));
        let secret = |before, value| segment(before, value) == Some(Kind::Random);
        assert!(secret("reset", "4f9a1c") && secret("verify", "1234"));
        assert!(!secret("reset", "password") && !secret("shows", "1234"));
    }

    #[test]
    fn a_name_shows_a_secret_by_its_words() {
        let known = "pass j_pass userPassword passwd2 user[password] PASSPHRASE pin pinCode \
            PINCode otp one-time-code oneTimeCode code verification_code codeForLogin securityCode \
            cvc cvv2 cc-number cardNumber iban Contraseña 2fa";
        let random = "token access_token accesstoken X-CSRFToken csrfmiddlewaretoken sig \
            X-Amz-Signature key api-key apiKey APIKey access_key SAMLResponse JSESSIONID PHPSESSID \
            sid session_id oauth_verifier client_secret id_token_hint jwt Authorization refresh";
        let none = "seat show page state author authority inside sidebar spinner country_code \
            promo_code postcode keyword sort_key passenger compass_width discard postcard design \
            signup hotpot refresh_rate standard id user name";
        for (kind, names) in
            [(Some(Kind::Known), known), (Some(Kind::Random), random), (None, none)]
        {
            for name in names.split(' ') {
                assert_eq!(named(name), kind, "{name}");
            }
        }
        assert!(named("").is_none() && !Kind::Random.may_be("1042") && Kind::Known.may_be("1042"));
        assert!(!Kind::Known.may_be("true") && Kind::Random.may_be("a"));
    }
}
