//! The configuration: its keys and layers, what is refused and how, and secrets.

mod defaults;
mod errors;
mod keys;
mod layers;
mod listing;
mod published;
mod reference;
mod schema;
mod secrets;
mod signing;

use anteroom_config::{Config, Loader};

/// Loads this TOML and these variables; an error shows the path of the file as `FILE`.
fn load(toml: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), toml).expect("written");
    let loader = Loader::new(Some(file.path())).environment(variables.iter().copied());
    let path = file.path().display().to_string();
    loader.load().map_err(|error| error.to_string().replace(&path, "FILE"))
}
