//! As much of HTTP/1.1 as the load generator needs.

use anyhow::{Context as _, bail};

/// Status and whole length of an answer, once its head is complete.
pub fn parse(bytes: &[u8]) -> anyhow::Result<Option<(u16, usize)>> {
    let Some(head) = bytes.windows(4).position(|end| end == b"\r\n\r\n") else { return Ok(None) };
    let mut lines = bytes[..head].split(|byte| *byte == b'\n');
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix(b"HTTP/1.1 "))
        .and_then(|rest| std::str::from_utf8(rest.get(..3)?).ok()?.parse().ok())
        .context("no status")?;
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = line.split_at(colon);
        if name.eq_ignore_ascii_case(b"content-length") {
            let value = value[1..].trim_ascii();
            let length: usize = std::str::from_utf8(value)?.parse()?;
            return Ok(Some((status, head + 4 + length)));
        }
    }
    if status == 204 {
        return Ok(Some((status, head + 4)));
    }
    bail!("an answer of unknown length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_head_and_body_are() {
        let whole = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nx: y\r\n\r\nhello";
        let head = whole.len() - 5;
        for end in 0..whole.len() {
            let parsed = parse(&whole[..end]).expect("well-formed");
            assert_eq!(parsed, (end >= head).then_some((201, whole.len())), "{end}");
        }
        let none = b"HTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(parse(none).expect("well-formed"), Some((204, none.len())));
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        for bad in [
            "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
