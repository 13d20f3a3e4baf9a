//! The KEYS or ARGV of one call, in one buffer.

use std::io::{self, Write};

use redis::{RedisWrite, ToRedisArgs};

/// The KEYS or ARGV of a call: every argument behind the other in one buffer, numbers written
/// straight into it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Args {
    data: Vec<u8>,
    ends: Vec<usize>,
}

impl Args {
    /// No arguments yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No arguments yet, with room for `args` of them that hold `bytes` together.
    pub fn with_capacity(args: usize, bytes: usize) -> Self {
        Self { data: Vec::with_capacity(bytes), ends: Vec::with_capacity(args) }
    }

    /// Appends what `value` writes: one argument for a number, a string or bytes.
    pub fn push(&mut self, value: impl ToRedisArgs) -> &mut Self {
        value.write_redis_args(self);
        self
    }

    /// [`push`](Self::push) for chains that begin with [`new`](Self::new).
    #[must_use]
    pub fn with(mut self, value: impl ToRedisArgs) -> Self {
        self.push(value);
        self
    }

    /// Appends all arguments of another call.
    pub(crate) fn append(&mut self, others: &Self) {
        let start = self.data.len();
        self.data.extend_from_slice(&others.data);
        self.ends.extend(others.ends.iter().map(|end| start + end));
    }

    /// Appends bytes to the last argument.
    pub(crate) fn extend_last(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
        if let Some(end) = self.ends.last_mut() {
            *end = self.data.len();
        }
    }

    /// How many arguments there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of all arguments together.
    pub(super) fn bytes(&self) -> usize {
        self.data.len()
    }

    /// The arguments in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.data[std::mem::replace(&mut start, end)..end])
    }
}

/// Says how many there are; arguments may hold what no log may show.
impl std::fmt::Debug for Args {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Args({} of {} bytes)", self.ends.len(), self.data.len())
    }
}

impl RedisWrite for Args {
    fn write_arg(&mut self, arg: &[u8]) {
        self.data.extend_from_slice(arg);
        self.ends.push(self.data.len());
    }

    fn write_arg_fmt(&mut self, arg: impl std::fmt::Display) {
        // Writing into a Vec cannot fail.
        let _ = write!(self.data, "{arg}");
        self.ends.push(self.data.len());
    }

    fn writer_for_next_arg(&mut self) -> impl Write + '_ {
        self.ends.push(self.data.len());
        Last(self)
    }
}

/// Appends to the last argument.
struct Last<'a>(&'a mut Args);

impl Write for Last<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_last(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_one_argument() {
        let mut args = Args::with_capacity(4, 32);
        args.push("").push(b"\0\xff".as_slice()).push(18_446_744_073_709_551_615u64).push(-1i64);
        args.push([7u8; 14].as_slice());
        let _ = args.writer_for_next_arg().write_all(b"ab");
        let seen: Vec<&[u8]> = args.iter().collect();
        let expected: [&[u8]; 6] =
            [b"", b"\0\xff", b"18446744073709551615", b"-1", &[7u8; 14], b"ab"];
        assert_eq!(seen, expected);
        assert_eq!((args.len(), args.is_empty()), (6, false));
        args.append(&Args::new().with("x").with(""));
        assert_eq!(args.iter().skip(5).collect::<Vec<_>>(), [&b"ab"[..], b"x", b""]);
    }

    #[test]
    fn debug_shows_no_content() {
        assert_eq!(format!("{:?}", Args::new().with("secret")), "Args(1 of 6 bytes)");
    }
}
