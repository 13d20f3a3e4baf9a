//! The scripts, embedded at compile time.

use std::sync::OnceLock;

use redis::RedisWrite as _;

use super::{Args, Constants, constants};

/// One operation: a Lua file with its keys and its shared parts in front.
///
/// `build.rs` makes one from the header of each file in `lua/`.
#[derive(Debug)]
pub struct Script {
    /// Name of the operation everywhere: method, file, metric label, span.
    pub name: &'static str,
    /// The keys that it takes, in order, as the header's `KEYS:` line lists them; a ring of keys
    /// that is addressed by an index is one word, such as `seen:{0-4}`.
    pub keys: &'static str,
    /// Name and text of each shared part, in order, as the header's `Uses:` line lists them.
    pub parts: &'static [(&'static str, &'static str)],
    /// The text of its file, with its header.
    pub text: &'static str,
    /// What tables in Rust give to it.
    pub constants: fn() -> Constants,
    source: OnceLock<String>,
    sha: OnceLock<String>,
}

impl Script {
    /// A script of its parts; for the registry and tests.
    pub const fn new(
        name: &'static str,
        keys: &'static str,
        parts: &'static [(&'static str, &'static str)],
        text: &'static str,
        constants: fn() -> Constants,
    ) -> Self {
        Self { name, keys, parts, text, constants, source: OnceLock::new(), sha: OnceLock::new() }
    }

    /// The whole text that the store runs: the names of the keys, the parts, the operation, with
    /// the values of their constants.
    pub fn source(&self) -> &str {
        self.source.get_or_init(|| {
            let parts: String = self.parts.iter().flat_map(|(_, text)| [*text, "\n"]).collect();
            let text = format!("{}{parts}{}\nend\nreturn run()\n", self.names(), self.text);
            constants::inlined(&text, &(self.constants)())
        })
    }

    /// The SHA-1 by which the store knows the text, computed once.
    pub(super) fn sha(&self) -> &str {
        self.sha.get_or_init(|| redis::Script::new(self.source()).get_hash().to_owned())
    }

    /// Its KEYS for an entity. They share one hash tag, so they live on one node.
    pub fn keys_of(&self, entity: &str) -> Args {
        let mut keys = Args::new();
        for key in self.keys.split_whitespace().map(Key::of) {
            match key {
                Key::One(name) => self.push_key(&mut keys, entity, name.as_bytes()),
                Key::Ring(name, length) => (0..length).for_each(|number| {
                    self.push_key(&mut keys, entity, format!("{name}:{number}").as_bytes());
                }),
            }
        }
        keys
    }

    /// Appends one key of its subsystem under this hash tag.
    pub(crate) fn push_key(&self, keys: &mut Args, tag: &str, key: &[u8]) {
        let subsystem = self.name.split('.').next().unwrap_or_default();
        keys.write_arg(b"anteroom:v1:");
        for part in [subsystem, ":{", tag, "}:"] {
            keys.extend_last(part.as_bytes());
        }
        keys.extend_last(key);
    }

    /// [`push_key`](Self::push_key) for one of very many: a letter says of what kind it is, and a
    /// digest which.
    pub(crate) fn push_digest_key(&self, keys: &mut Args, tag: &str, kind: u8, digest: &[u8]) {
        self.push_key(keys, tag, &[kind]);
        keys.extend_last(digest);
    }

    /// Lua that gives each key its name in capitals; a ring is the number of its first key. Behind
    /// it all is one function: what its functions capture of the lines before costs a call nothing.
    fn names(&self) -> String {
        let (mut names, mut values, mut next) = (Vec::new(), Vec::new(), 1);
        for key in self.keys.split_whitespace().map(Key::of) {
            let (name, value, length) = match key {
                Key::One(name) => (name, format!("KEYS[{next}]"), 1),
                Key::Ring(name, length) => (name, next.to_string(), length),
            };
            names.push(name.to_uppercase());
            values.push(value);
            next += length;
        }
        let start = "local call, KEYS, ARGV = redis.call, KEYS, ARGV\n";
        if names.is_empty() {
            return format!("{start}local function run()\n");
        }
        format!("{start}local {} = {}\nlocal function run()\n", names.join(", "), values.join(", "))
    }
}

/// A word of a list of keys.
enum Key {
    One(&'static str),
    Ring(&'static str, usize),
}

impl Key {
    fn of(word: &'static str) -> Self {
        let ring = word.strip_suffix('}').and_then(|word| word.split_once(":{0-"));
        match ring.and_then(|(name, last)| Some((name, last.parse::<usize>().ok()?))) {
            Some((name, last)) => Self::Ring(name, last + 1),
            None => Self::One(word),
        }
    }
}

/// Declares the module `scripts` of a subsystem: a static for each script in this folder of `lua/`,
/// such as `JOIN`, and their list `SCRIPTS`. `build.rs` makes them from the headers.
macro_rules! scripts {
    ($folder:literal) => {
        pub(crate) mod scripts {
            include!(concat!(env!("OUT_DIR"), "/", $folder, ".rs"));
        }
    };
}
pub(crate) use scripts;

#[cfg(test)]
mod tests {
    use super::*;

    static SCRIPT: Script = Script::new(
        "room.look",
        "meta gone:{0-1} marks",
        &[("lib/a", "a = 1")],
        "return KEYS[GONE + a]\n",
        Constants::shared,
    );

    #[test]
    fn keys_share_the_hash_tag_and_a_ring_is_several() {
        let keys = SCRIPT.keys_of("x");
        let keys: Vec<_> = keys.iter().map(String::from_utf8_lossy).collect();
        assert_eq!(
            keys,
            ["meta", "gone:0", "gone:1", "marks"]
                .map(|key| format!("anteroom:v1:room:{{x}}:{key}"))
        );
    }

    #[test]
    fn the_keys_have_names_before_the_parts() {
        let names = "local call, KEYS, ARGV = redis.call, KEYS, ARGV\n\
            local META, MARKS = KEYS[1], KEYS[4]\n";
        let rest = "local function run()\na = 1\nreturn KEYS[2 + a]\n\nend\nreturn run()\n";
        assert_eq!(SCRIPT.source(), format!("{names}{rest}"));
    }
}
