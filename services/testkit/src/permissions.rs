//! What `docs/OPERATIONS.md` says that the store's user needs: the tests run with exactly this.

use std::sync::LazyLock;

/// The ACL rules for one server.
pub static PERMISSIONS: LazyLock<Vec<String>> =
    LazyLock::new(|| rules("ACL SETUSER anteroom on >PASSWORD resetchannels "));

/// What the user needs besides on the nodes of a Redis Cluster.
pub static PERMISSIONS_OF_CLUSTER: LazyLock<Vec<String>> =
    LazyLock::new(|| rules("ACL SETUSER anteroom +cluster|slots "));

/// The words that follow on the line that begins like this, and the rules in its own words.
fn rules(line: &str) -> Vec<String> {
    let text = include_str!("../../../docs/OPERATIONS.md");
    let found = text.lines().find(|it| it.starts_with(line));
    let found = found.unwrap_or_else(|| panic!("docs/OPERATIONS.md has no line {line:?}"));
    let words = found.split(' ').map(str::to_owned);
    words.filter(|word| word.starts_with(['+', '-', '~', '&'])).collect()
}
