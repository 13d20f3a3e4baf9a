//! The requests, built before the load begins. All carry the headers that a gateway passes on, the
//! hello-world's too, so that reading a request costs the same in every row.

use std::io::Write as _;

/// What NGINX passes on when it asks for a browser.
const HEADERS: &str = "host: shop.example\r\n\
    x-original-uri: /seats/42?row=7\r\n\
    x-original-method: GET\r\n\
    x-forwarded-for: 203.0.113.7\r\n\
    user-agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n\
    accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    accept-language: ko,en;q=0.5\r\n\
    cookie: session=0123456789abcdef0123456789abcdef\r\n";
/// Digits of the number in an Idempotency-Key.
const DIGITS: usize = 16;

/// The requests of one run: the n-th is the same whenever it is asked for.
pub enum Requests {
    /// These, in turn.
    Cycle(Vec<Vec<u8>>),
    /// Joins, each with an Idempotency-Key of its own.
    Joins(Joins),
}

/// Joins of one queue after the other.
pub struct Joins {
    /// For each queue the request up to the number that makes its key its own.
    before: Vec<Vec<u8>>,
    /// So many to one queue, then on to the next.
    each: u64,
}

impl Requests {
    /// `GET path`, once for each of these tokens.
    pub fn with_tokens(path: &str, tokens: &[String]) -> Self {
        Self::Cycle(tokens.iter().map(|token| with_token(path, token)).collect())
    }

    /// Joins, `each` to one queue before the next has its turn; `series` tells the keys of two runs
    /// apart.
    pub fn joins(queues: &[String], each: u64, series: u64) -> Self {
        let before = |queue| {
            format!(
                "POST /v1/queues/{queue}/tokens HTTP/1.1\r\n{HEADERS}\
                 content-type: application/json\r\ncontent-length: 2\r\n\
                 idempotency-key: bench-{series:016x}-"
            )
        };
        let before = queues.iter().map(before).map(String::into_bytes).collect();
        Self::Joins(Joins { before, each: each.max(1) })
    }

    /// The n-th request; `buffer` is for one that is put together now.
    pub fn get<'a>(&'a self, n: u64, buffer: &'a mut Vec<u8>) -> &'a [u8] {
        match self {
            Self::Cycle(requests) => in_turn(requests, n),
            Self::Joins(joins) => {
                buffer.clear();
                buffer.extend_from_slice(in_turn(&joins.before, n / joins.each));
                // A vector takes every byte.
                let _ = write!(buffer, "{n:0DIGITS$x}\r\n\r\n{{}}");
                buffer
            }
        }
    }
}

/// `GET path` with a token.
pub fn with_token(path: &str, token: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\n{HEADERS}x-anteroom-token: {token}\r\n\r\n").into_bytes()
}

fn in_turn(all: &[Vec<u8>], n: u64) -> &[u8] {
    let at = usize::try_from(n).unwrap_or_default() % all.len();
    &all[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_join_has_a_key_of_its_own() {
        let queues = ["line".to_owned(), "other".to_owned()];
        let (one, other) = (Requests::joins(&queues, 5, 1), Requests::joins(&queues, 5, 2));
        let text = |requests: &Requests, n| {
            String::from_utf8(requests.get(n, &mut Vec::new()).to_vec()).expect("ASCII")
        };
        assert!(
            text(&one, 10).contains("idempotency-key: bench-0000000000000001-000000000000000a\r\n")
        );
        assert_ne!(text(&one, 1), text(&one, 2));
        assert_ne!(text(&one, 1), text(&other, 1));
        assert_eq!(text(&one, 1), text(&one, 1));
        assert!(text(&one, 1).ends_with("\r\n\r\n{}"));
        assert!(text(&one, 4).starts_with("POST /v1/queues/line/tokens "));
        assert!(text(&one, 5).starts_with("POST /v1/queues/other/tokens "));
        assert!(text(&one, 10).starts_with("POST /v1/queues/line/tokens "));
    }

    #[test]
    fn tokens_take_turns() {
        let tokens = ["a".to_owned(), "b".to_owned()];
        let requests = Requests::with_tokens("/", &tokens);
        let mut buffer = Vec::new();
        assert!(requests.get(3, &mut buffer).ends_with(b"x-anteroom-token: b\r\n\r\n"));
    }
}
