//! The permissions that the documentation gives to the user of Redis: the tests run with exactly
//! these.

use std::sync::LazyLock;

use crate::docs;

/// The ACL rules for one server.
pub static PERMISSIONS: LazyLock<Vec<String>> =
    LazyLock::new(|| rules("ACL SETUSER anteroom on >PASSWORD resetchannels "));

/// What the user needs besides on the nodes of a Redis Cluster.
pub static PERMISSIONS_OF_CLUSTER: LazyLock<Vec<String>> =
    LazyLock::new(|| rules("ACL SETUSER anteroom +cluster|slots "));

/// The words that follow on the line that begins like this, and the rules in its own words.
fn rules(line: &str) -> Vec<String> {
    let text = docs::read(docs::REDIS).text;
    let found = text.lines().find(|it| it.starts_with(line));
    let found = found.unwrap_or_else(|| panic!("{} has no line {line:?}", docs::REDIS));
    let words = found.split(' ').map(str::to_owned);
    words.filter(|word| word.starts_with(['+', '-', '~', '&'])).collect()
}
