//! The calls of scripts that a Redis sees, by MONITOR.

use anteroom_testkit::{PATIENCE, Redis};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Every command that Redis gets from now on.
pub struct Monitor<'a> {
    redis: &'a Redis,
    lines: BufReader<TcpStream>,
}

/// A call that Redis has seen: the hash of the script, its KEYS and its ARGV.
pub struct Evalsha {
    pub sha: String,
    pub keys: Vec<String>,
    pub args: Vec<Vec<u8>>,
}

impl<'a> Monitor<'a> {
    pub async fn start(redis: &'a Redis) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", redis.port())).await.expect("Redis answers");
        let mut lines = BufReader::new(stream);
        lines.get_mut().write_all(b"MONITOR\r\n").await.expect("sent");
        let mut answer = String::new();
        lines.read_line(&mut answer).await.expect("an answer");
        assert_eq!(answer, "+OK\r\n");
        Self { redis, lines }
    }

    /// The calls of scripts since then.
    pub async fn stop(mut self) -> Vec<Evalsha> {
        let last = "the last of it";
        self.redis.run::<String>(&["ECHO", last]).await;
        let (mut line, mut calls) = (String::new(), Vec::new());
        while !line.contains(last) {
            calls.extend(Evalsha::read(&line));
            line.clear();
            let read = timeout(PATIENCE, self.lines.read_line(&mut line)).await;
            read.expect("a line in time").expect("a line");
        }
        calls
    }
}

impl Evalsha {
    /// A line of MONITOR, when it is a call of a script from outside.
    fn read(line: &str) -> Option<Self> {
        let (_, command) = line.split_once("] ")?;
        let words = quoted(command);
        if !words.first()?.eq_ignore_ascii_case(b"EVALSHA") {
            return None;
        }
        let text = |word: &[u8]| String::from_utf8(word.to_vec()).expect("a text");
        let count: usize = text(&words[2]).parse().expect("the number of keys");
        let (keys, args) = words[3..].split_at(count);
        // A digest in a key is no text.
        let keys = keys.iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect();
        Some(Self { sha: text(&words[1]), keys, args: args.to_vec() })
    }
}

/// The words of a line of MONITOR, which are quoted as in C.
fn quoted(line: &str) -> Vec<Vec<u8>> {
    let (mut words, mut bytes) = (Vec::new(), line.bytes());
    while bytes.by_ref().any(|byte| byte == b'"') {
        let mut word = Vec::new();
        while let Some(byte) = bytes.next().filter(|byte| *byte != b'"') {
            word.push(match byte {
                b'\\' => match bytes.next().expect("an escape") {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'a' => 7,
                    b'b' => 8,
                    b'x' => {
                        let digits = [bytes.next(), bytes.next()].map(|digit| digit.expect("hex"));
                        let digits = std::str::from_utf8(&digits).expect("hex").to_owned();
                        u8::from_str_radix(&digits, 16).expect("hex")
                    }
                    other => other,
                },
                byte => byte,
            });
        }
        words.push(word);
    }
    words
}
