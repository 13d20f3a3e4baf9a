//! One event, one line: what some readers take for a line break is escaped.

use std::{borrow::Cow, io, str};

/// Line breaks of Unicode that neither JSON nor the text format escapes: next line, line separator,
/// paragraph separator.
const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Writes whole lines, with these as `\u2028`, which is what JSON calls them too.
#[derive(Debug)]
pub(crate) struct OneLine<W>(pub W);

impl<W: io::Write> io::Write for OneLine<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(&escaped(line))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn escaped(line: &[u8]) -> Cow<'_, [u8]> {
    let Ok(text) = str::from_utf8(line) else { return line.into() };
    if !text.contains(BREAKS) {
        return line.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for part in text.split_inclusive(BREAKS) {
        let end = part.chars().next_back().filter(|last| BREAKS.contains(last));
        let Some(end) = end else {
            escaped.push_str(part);
            continue;
        };
        escaped.push_str(&part[..part.len() - end.len_utf8()]);
        escaped.push_str(&format!("\\u{:04x}", u32::from(end)));
    }
    escaped.into_bytes().into()
}
