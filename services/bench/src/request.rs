//! The requests, built before the load begins. Visitors' carry the headers that a gateway passes
//! on, the hello-world's too, so that reading a request costs the same; a backend's carry its key.

use std::io::Write as _;

use bytes::Bytes;

/// What NGINX passes on when it asks for a browser.
const HEADERS: &str = "host: shop.example\r\n\
    x-original-uri: /seats/42?row=7\r\n\
    x-original-method: GET\r\n\
    x-forwarded-for: 203.0.113.7\r\n\
    user-agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n\
    accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    accept-language: ko,en;q=0.5\r\n\
    cookie: session=0123456789abcdef0123456789abcdef\r\n";
/// What a backend sends.
const BACKEND_HEADERS: &str = concat!(
    "host: anteroom:8081\r\nuser-agent: shop/1.0\r\naccept: */*\r\nauthorization: Bearer ",
    "ark1.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n"
);
/// The digest of the key there.
pub const KEY_DIGEST: &str =
    "sha256:831cc2210c846aa7be2667b4b68691f28dfca3367db18ad0c45dbfedbf2d1de5";
/// Digits of a number.
const DIGITS: usize = 16;

/// The requests of one run: the n-th is always the same.
pub enum Requests {
    /// These, in turn.
    Cycle(Vec<Vec<u8>>),
    /// Requests that a number in them makes each its own.
    Numbered(Numbered),
    /// gRPC calls.
    Calls(Calls),
}

/// gRPC calls of one method, with these messages in turn.
pub struct Calls {
    /// `/SERVICE/METHOD`.
    pub method: &'static str,
    /// Each with the prefix that gRPC puts before a message.
    messages: Vec<Bytes>,
}

impl Calls {
    /// Calls with these messages.
    pub fn new(method: &'static str, messages: impl Iterator<Item = Vec<u8>>) -> Self {
        let message = |message: Vec<u8>| {
            let length = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes();
            [&[0], &length[..], &message].concat().into()
        };
        Self { method, messages: messages.map(message).collect() }
    }

    /// The n-th message.
    pub fn get(&self, n: u64) -> Bytes {
        let at = usize::try_from(n).unwrap_or_default() % self.messages.len();
        self.messages[at].clone()
    }
}

/// Requests with a number in them, to one path after the other.
pub struct Numbered {
    /// For each path the request up to the number.
    before: Vec<Vec<u8>>,
    /// The text behind it.
    behind: &'static str,
    /// So many to one path, then on to the next.
    each: u64,
    /// So many numbers there are, in turn.
    numbers: u64,
}

impl Requests {
    /// `GET path`, once for each of these tokens.
    pub fn with_tokens(path: &str, tokens: &[String]) -> Self {
        Self::Cycle(tokens.iter().map(|token| with_token(path, token)).collect())
    }

    /// Joins, `each` to one queue before the next has its turn; the keys of two `series` differ.
    pub fn joins(queues: &[String], each: u64, series: u64) -> Self {
        let before = |queue| {
            format!(
                "POST /v1/queues/{queue}/tokens HTTP/1.1\r\n{HEADERS}\
                 content-type: application/json\r\ncontent-length: 2\r\n\
                 idempotency-key: bench-{series:016x}-"
            )
        };
        let before = queues.iter().map(before).map(String::into_bytes).collect();
        let (behind, each) = ("\r\n\r\n{}", each.max(1));
        Self::Numbered(Numbered { before, behind, each, numbers: u64::MAX })
    }

    /// `POST path` with JSON that begins so, has one of so many numbers, and ends with `behind`.
    pub fn posts(path: &str, json: &str, numbers: u64, behind: &'static str) -> Self {
        let length = json.len() + DIGITS + behind.len();
        let before = format!(
            "POST {path} HTTP/1.1\r\n{BACKEND_HEADERS}content-type: application/json\r\n\
             content-length: {length}\r\n\r\n{json}"
        );
        let before = vec![before.into_bytes()];
        Self::Numbered(Numbered { before, behind, each: 1, numbers: numbers.max(1) })
    }

    /// The n-th request; `buffer` is for one that is put together now.
    pub fn get<'a>(&'a self, n: u64, buffer: &'a mut Vec<u8>) -> &'a [u8] {
        match self {
            Self::Cycle(requests) => in_turn(requests, n),
            Self::Calls(calls) => in_turn(&calls.messages, n),
            Self::Numbered(Numbered { before, behind, each, numbers }) => {
                buffer.clear();
                buffer.extend_from_slice(in_turn(before, n / each));
                // A vector takes every byte.
                let _ = write!(buffer, "{:0DIGITS$x}{behind}", n % numbers);
                buffer
            }
        }
    }
}

/// `GET path` with a token.
pub fn with_token(path: &str, token: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\n{HEADERS}x-anteroom-token: {token}\r\n\r\n").into_bytes()
}

/// A number as it is in requests.
pub fn number(n: u64) -> String {
    format!("{n:0DIGITS$x}")
}

fn in_turn<T: AsRef<[u8]>>(all: &[T], n: u64) -> &[u8] {
    let at = usize::try_from(n).unwrap_or_default() % all.len();
    all[at].as_ref()
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
    fn a_numbered_post_says_how_long_it_is() {
        let requests = Requests::posts("/v1/limits/log/check", r#"{"key":"client-"#, 3, "\"}");
        let text = String::from_utf8(requests.get(4, &mut Vec::new()).to_vec()).expect("ASCII");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("POST /v1/limits/log/check HTTP/1.1\r\n"));
        assert!(head.ends_with(&format!("content-length: {}", body.len())));
        assert_eq!(body, r#"{"key":"client-0000000000000001"}"#);
    }

    #[test]
    fn a_call_has_the_length_of_its_message_before_it() {
        let calls = Calls::new("/a/b", [vec![7; 300], vec![]].into_iter());
        assert_eq!(calls.get(2)[..6], [0, 0, 0, 1, 44, 7]);
        assert_eq!(calls.get(1)[..], [0; 5]);
    }

    #[test]
    fn tokens_take_turns() {
        let tokens = ["a".to_owned(), "b".to_owned()];
        let requests = Requests::with_tokens("/", &tokens);
        let mut buffer = Vec::new();
        assert!(requests.get(3, &mut buffer).ends_with(b"x-anteroom-token: b\r\n\r\n"));
    }
}
