//! MessagePack as `cmsgpack` of Redis writes the entries of the log.

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Packed {
    Number(u64),
    Flag(bool),
    Text(String),
    Array(Vec<Packed>),
}

impl Packed {
    /// Reads one value that fills the bytes; `None` for anything that no entry has.
    pub(super) fn read(mut bytes: &[u8]) -> Option<Self> {
        let value = Self::next(&mut bytes)?;
        bytes.is_empty().then_some(value)
    }

    fn next(bytes: &mut &[u8]) -> Option<Self> {
        let head = u8::try_from(number(bytes, 1)?).ok()?;
        Some(match head {
            0x00..=0x7f => Self::Number(head.into()),
            0x90..=0x9f => Self::array(bytes, u64::from(head & 15))?,
            0xa0..=0xbf => Self::text(bytes, u64::from(head & 31))?,
            0xc2 | 0xc3 => Self::Flag(head == 0xc3),
            0xcc..=0xcf => Self::Number(number(bytes, 1 << (head - 0xcc))?),
            0xd9..=0xdb => {
                let length = number(bytes, 1 << (head - 0xd9))?;
                Self::text(bytes, length)?
            }
            0xdc | 0xdd => {
                let length = number(bytes, 2 << (head - 0xdc))?;
                Self::array(bytes, length)?
            }
            _ => return None,
        })
    }

    fn text(bytes: &mut &[u8], length: u64) -> Option<Self> {
        let text = split(bytes, usize::try_from(length).ok()?)?;
        String::from_utf8(text.to_vec()).ok().map(Self::Text)
    }

    fn array(bytes: &mut &[u8], length: u64) -> Option<Self> {
        (0..length).map(|_| Self::next(bytes)).collect::<Option<_>>().map(Self::Array)
    }

    pub(super) fn number(self) -> Option<u64> {
        let Self::Number(number) = self else { return None };
        Some(number)
    }

    pub(super) fn into_text(self) -> Option<String> {
        let Self::Text(text) = self else { return None };
        Some(text)
    }

    pub(super) fn into_array(self) -> Option<Vec<Self>> {
        let Self::Array(values) = self else { return None };
        Some(values)
    }
}

/// The next bytes.
fn split<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(first)
}

/// The next bytes as a number in big-endian order.
fn number(bytes: &mut &[u8], length: usize) -> Option<u64> {
    Some(split(bytes, length)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_read_as_redis_packs_it() {
        let long = "x".repeat(300);
        let text16 = [b"\xda\x01\x2c".as_slice(), long.as_bytes()].concat();
        for (bytes, value) in [
            (&b"\x7f"[..], Packed::Number(127)),
            (b"\xcc\xff", Packed::Number(255)),
            (b"\xcd\x01\x00", Packed::Number(256)),
            (b"\xce\x80\x00\x00\x00", Packed::Number(1 << 31)),
            (b"\xcf\x00\x1f\xff\xff\xff\xff\xff\xff", Packed::Number((1 << 53) - 1)),
            (b"\xc2", Packed::Flag(false)),
            (b"\xc3", Packed::Flag(true)),
            (b"\xa2\xc3\xa9", Packed::Text("é".to_owned())),
            (b"\xd9\x01a", Packed::Text("a".to_owned())),
            (&text16, Packed::Text(long.clone())),
            (b"\x90", Packed::Array(vec![])),
            (
                b"\x92\x01\x91\xc3",
                Packed::Array(vec![Packed::Number(1), Packed::Array(vec![Packed::Flag(true)])]),
            ),
            (b"\xdc\x00\x01\x05", Packed::Array(vec![Packed::Number(5)])),
        ] {
            assert_eq!(Packed::read(bytes), Some(value), "{bytes:x?}");
        }
        for wrong in [&b""[..], b"\xa2a", b"\xcc", b"\x91", b"\x01\x01", b"\xc0", b"\xa1\xff"] {
            assert_eq!(Packed::read(wrong), None, "{wrong:x?}");
        }
    }
}
