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
    Joins {
        /// The request up to the number that makes its key its own.
        before: Vec<u8>,
        /// The rest.
        after: Vec<u8>,
    },
}

impl Requests {
    /// `GET path`, once for each of these tokens.
    pub fn with_tokens<'a>(path: &str, tokens: impl IntoIterator<Item = &'a String>) -> Self {
        let request =
            |token| format!("GET {path} HTTP/1.1\r\n{HEADERS}x-anteroom-token: {token}\r\n\r\n");
        Self::Cycle(tokens.into_iter().map(|token| request(token).into_bytes()).collect())
    }

    /// Joins of a queue; `series` tells the keys of two runs apart.
    pub fn joins(queue: &str, series: u64) -> Self {
        let before = format!(
            "POST /v1/queues/{queue}/tokens HTTP/1.1\r\n{HEADERS}content-type: application/json\r\n\
             content-length: 2\r\nidempotency-key: bench-{series:016x}-"
        );
        Self::Joins { before: before.into_bytes(), after: b"\r\n\r\n{}".to_vec() }
    }

    /// The n-th request; `buffer` is for one that is put together now.
    pub fn get<'a>(&'a self, n: u64, buffer: &'a mut Vec<u8>) -> &'a [u8] {
        match self {
            Self::Cycle(requests) => &requests[(n % requests.len() as u64) as usize],
            Self::Joins { before, after } => {
                buffer.clear();
                buffer.extend_from_slice(before);
                // A vector takes every byte.
                let _ = write!(buffer, "{n:0DIGITS$x}");
                buffer.extend_from_slice(after);
                buffer
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_join_has_a_key_of_its_own() {
        let (one, other) = (Requests::joins("line", 1), Requests::joins("line", 2));
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
    }

    #[test]
    fn tokens_take_turns() {
        let tokens = ["a".to_owned(), "b".to_owned()];
        let requests = Requests::with_tokens("/", &tokens);
        let mut buffer = Vec::new();
        assert!(requests.get(3, &mut buffer).ends_with(b"x-anteroom-token: b\r\n\r\n"));
    }
}
