//! The keys of a queue, in the order in which every script takes them.

const NAMES: [&str; 17] = [
    "meta", "waiting", "returned", "away", "ready", "active", "admitted", "held", "gone:0",
    "gone:1", "marks", "seen:0", "seen:1", "seen:2", "seen:3", "seen:4", "revoked",
];

/// The keys of the queue of this name. They share one hash tag, so they live on one node.
pub(super) fn keys(queue: &str) -> Vec<String> {
    NAMES.iter().map(|name| format!("anteroom:v1:queue:{{{queue}}}:{name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_share_the_hash_tag() {
        let keys = keys("concert");
        assert_eq!(keys[0], "anteroom:v1:queue:{concert}:meta");
        assert!(keys.iter().all(|key| key.contains("{concert}")));
    }

    #[test]
    fn keys_stand_in_the_readme_in_this_order() {
        let readme = include_str!("../../../../lua/README.md");
        let mut from = 0;
        for name in NAMES {
            let ring = if name.starts_with("seen") { ":{0-4}" } else { ":{0-1}" };
            let row = format!("| `{}` |", name.replace(":0", ring));
            if let Some(at) = readme[from..].find(&row) {
                from += at;
            } else {
                assert!(name.contains(':'), "{row} is missing, or not in this order");
            }
        }
    }
}
