//! The defaults, which are also the documentation of every key.

/// The text of `default.toml`.
pub const DEFAULT_TOML: &str = include_str!("../default.toml");

/// A key of the defaults file.
pub(crate) struct DocumentedKey {
    /// The section, such as `queues."*"`.
    pub section: &'static str,
    /// The key in it.
    pub key: &'static str,
    /// Its default, or the example that is there instead of one.
    pub value: &'static str,
}

/// The keys of the defaults file, those without a default included.
pub(crate) fn documented() -> impl Iterator<Item = DocumentedKey> {
    let mut section = "";
    DEFAULT_TOML.lines().filter_map(move |line| {
        let line = line.trim_start_matches('#');
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        }
        let (key, value) = line.split_once(" = ")?;
        let is_key = key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        is_key.then_some(DocumentedKey { section, key, value })
    })
}
