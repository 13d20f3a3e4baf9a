//! Headers of which a request has one value.
//!
//! Of two lines that differ, a proxy in front may have read one and Anteroom would read the other.

use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::problem::{Code, Problem};

/// The lines of a header differ.
#[derive(Debug, PartialEq, Eq)]
pub struct Differs(HeaderName);

/// The value of a header, if it came; lines of one value count as one.
///
/// # Errors
///
/// When the lines differ.
pub fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, Differs> {
    let Some(first) = headers.get(name) else { return Ok(None) };
    // Nearly no request repeats a header, and to see that is cheaper than to read the lines of one.
    let repeats = headers.len() > headers.keys_len();
    if repeats && headers.get_all(name).iter().any(|other| other != first) {
        return Err(Differs(name.clone()));
    }
    Ok(Some(first))
}

impl From<Differs> for Problem {
    fn from(Differs(name): Differs) -> Self {
        Self::new(Code::BAD_REQUEST).detail(format!(
            "the header {name} came more than once, with different values: send one"
        ))
    }
}

#[cfg(test)]
mod tests {
    use http::header::ORIGIN;

    use super::*;
    use crate::callers::headers;

    #[test]
    fn lines_that_differ_are_no_value() {
        let read = |lines: &[&'static str]| {
            let lines: Vec<_> = lines.iter().map(|line| ("origin", *line)).collect();
            single(&headers(&lines), &ORIGIN).map(|value| value.cloned())
        };
        let value = HeaderValue::from_static("https://a.example");
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["https://a.example"]), Ok(Some(value.clone())));
        assert_eq!(read(&["https://a.example", "https://a.example"]), Ok(Some(value)));
        for lines in [&["a", "b"][..], &["a", "a", "b"], &["", "a"], &["a", "A"]] {
            assert_eq!(read(lines), Err(Differs(ORIGIN)), "{lines:?}");
        }
    }
}
