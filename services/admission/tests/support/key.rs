//! Keys of callers in the configuration.

use anteroom_admission::digest;

/// A section `[keys.NAME]`.
pub fn key(name: &str, key: &str, role: &str, scopes: &[&str]) -> String {
    let digits: String = digest(key).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("[keys.{name}]\ndigest = \"sha256:{digits}\"\nrole = \"{role}\"\nscopes = {scopes:?}\n")
}
