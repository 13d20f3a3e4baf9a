//! A file of codes: one a line, each given to one applicant.
//!
//! A code is what an identifier is: 1 to 128 bytes of UTF-8 without control characters, and
//! without white space at its ends. Empty lines are skipped, and so are the byte order mark and the
//! carriage returns that some programs write. However the file is made,
//! no more than one line of it is in memory.

use std::io::{BufRead, Read as _};

use anteroom_core::identifier::{MAX_IDENTIFIER, is_identifier};
use sha2::{Digest as _, Sha256};

/// The mark at the beginning of some files, and inside of what was put together of such.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// A line with its end; a longer one is no code.
const LONGEST_LINE: u64 = MAX_IDENTIFIER as u64 + BYTE_ORDER_MARK.len() as u64 + 2;

/// What is wrong with a file of codes; it never shows a code.
#[derive(Debug, thiserror::Error)]
pub enum CodesError {
    /// It cannot be read.
    #[error("line {line}: cannot be read: {error}")]
    Read {
        /// The line, from 1.
        line: u64,
        /// Why.
        error: std::io::Error,
    },
    /// A line is no code.
    #[error(
        "line {line}: must be 1 to 128 bytes of UTF-8 without control characters, and without \
         white space at its ends"
    )]
    NoCode {
        /// The line, from 1.
        line: u64,
    },
    /// A code would be given twice.
    #[error("line {line}: the same code as in line {first}")]
    Twice {
        /// The line, from 1.
        line: u64,
        /// The line that had it first.
        first: u64,
    },
}

/// One code and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The line, from 1.
    pub line: u64,
    /// The code itself.
    pub text: String,
}

/// Reads the codes of a file one after the other.
pub struct Codes<R> {
    file: R,
    line: u64,
}

impl<R: BufRead> Codes<R> {
    /// Reads from its beginning.
    pub fn new(file: R) -> Self {
        Self { file, line: 0 }
    }

    /// The next line without its end; `None` after the last.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, CodesError> {
        self.line += 1;
        let line = self.line;
        let mut bytes = Vec::new();
        (&mut self.file)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut bytes)
            .map_err(|error| CodesError::Read { line, error })?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let ended = bytes.pop_if(|last| *last == b'\n').is_some();
        if !ended && bytes.len() as u64 == LONGEST_LINE {
            return Err(CodesError::NoCode { line });
        }
        bytes.pop_if(|last| *last == b'\r');
        if bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(Some(bytes))
    }
}

impl<R: BufRead> Iterator for Codes<R> {
    type Item = Result<Code, CodesError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let bytes = match self.next_line() {
                Ok(bytes) => bytes?,
                Err(error) => return Some(Err(error)),
            };
            if bytes.is_empty() {
                continue;
            }
            let line = self.line;
            let text = String::from_utf8(bytes).ok().filter(|text| is_identifier(text));
            return Some(text.map(|text| Code { line, text }).ok_or(CodesError::NoCode { line }));
        }
    }
}

/// Reads a whole file: how many codes it has. Nothing is loaded from one with a mistake.
///
/// # Errors
///
/// The first line that is no code, or has the code of an earlier line.
pub fn count(file: impl BufRead) -> Result<u64, CodesError> {
    // 16 bytes of its digest represent a code: a million of them take some 50 MB less.
    let mut seen = std::collections::HashMap::<[u8; 16], u64>::new();
    for code in Codes::new(file) {
        let Code { line, text } = code?;
        let mut digest = [0; 16];
        digest.copy_from_slice(&Sha256::digest(&text)[..16]);
        if let Some(first) = seen.insert(digest, line) {
            return Err(CodesError::Twice { line, first });
        }
    }
    Ok(seen.len() as u64)
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor, repeat};

    use proptest::prelude::*;

    use super::*;

    fn read(file: &[u8]) -> Result<Vec<(u64, String)>, String> {
        let codes = Codes::new(Cursor::new(file));
        codes.map(|code| code.map(|it| (it.line, it.text)).map_err(|it| it.to_string())).collect()
    }

    fn code(line: u64, text: &str) -> (u64, String) {
        (line, text.to_owned())
    }

    #[test]
    fn lines_are_codes_however_they_end() {
        let codes = Ok(vec![code(1, "A-1"), code(2, "B 2"), code(4, "나")]);
        for file in
            ["A-1\nB 2\n\n나\n", "A-1\r\nB 2\r\n\r\n나", "\u{feff}A-1\n\u{feff}B 2\n\n나\n\n"]
        {
            assert_eq!(read(file.as_bytes()), codes, "{file:?}");
        }
        assert_eq!(read(b""), Ok(Vec::new()));
    }

    #[test]
    fn a_mistake_is_reported_with_its_line_and_without_the_code() {
        for bad in [&b" a"[..], b"a ", b"a\x00b", b"a\tb", b"\xff\xfe"] {
            let file = [b"good\n", bad, b"\n"].concat();
            let problem = read(&file).expect_err("a mistake");
            assert!(problem.starts_with("line 2: must be 1 to 128 bytes"), "{problem}");
            assert_eq!(count(Cursor::new(file)).expect_err("a mistake").to_string(), problem);
        }
        let twice = count(Cursor::new("secret\n\nother\nsecret\n")).expect_err("a mistake");
        assert_eq!(twice.to_string(), "line 4: the same code as in line 1");
    }

    #[test]
    fn a_code_has_at_most_128_bytes_and_an_endless_line_fills_no_memory() {
        let longest = "x".repeat(128);
        for end in ["", "\n", "\r\n"] {
            let good = format!("\u{feff}{longest}{end}");
            assert_eq!(read(good.as_bytes()), Ok(vec![code(1, &longest)]));
            assert!(read(format!("{longest}x{end}").as_bytes()).is_err());
        }
        let endless = Codes::new(BufReader::new(repeat(b'x'))).next();
        assert!(matches!(endless, Some(Err(CodesError::NoCode { line: 1 }))));
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(codes in proptest::collection::vec("[a-zA-Z0-9-]{1,128}", 0..9)) {
            let file = codes.iter().map(|code| format!("{code}\n")).collect::<String>();
            let expected = (1..).zip(codes).collect::<Vec<_>>();
            prop_assert_eq!(read(file.as_bytes()), Ok(expected));
        }

        #[test]
        fn no_file_breaks_the_reader(file: Vec<u8>) {
            let _ = count(Cursor::new(file));
        }
    }
}
