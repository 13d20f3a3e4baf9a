//! `anteroom-admission new-key`: makes a key and says how to configure it.
//!
//! The key is printed once and stored nowhere; the configuration has its digest.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::{Arg, ArgAction, ArgMatches, Command};
use rand::TryRngCore as _;
use rand::rngs::OsRng;

use anteroom_config::{Scope, is_name};

use crate::callers::keys::{KEY_PREFIX, digest};

/// The name of the subcommand.
pub const NAME: &str = "new-key";

/// What the subcommand takes.
pub fn command() -> Command {
    Command::new(NAME)
        .about("Make an API key for the service port; prints the key and its configuration")
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .value_parser(name)
                .help("Name of the key in the configuration and the audit log [default: the role]"),
        )
        .arg(
            Arg::new("role")
                .long("role")
                .value_name("ROLE")
                .value_parser(["backend", "operator", "viewer"])
                .default_value("backend")
                .help("Role of the caller: only operators can change things under /v1/admin; viewers can only read"),
        )
        .arg(
            Arg::new("scope")
                .long("scope")
                .value_name("SCOPE")
                .value_parser(scope)
                .action(ArgAction::Append)
                .help("Restrict the key to this scope, e.g. queues:concert; repeatable [default: everything of the role]"),
        )
}

/// Makes a key with what [`command`] has read, and prints it.
///
/// # Errors
///
/// When the system has no random bits, or the output cannot be written.
pub fn run(arguments: &ArgMatches, out: &mut impl Write) -> io::Result<()> {
    let text = |name| arguments.get_one::<String>(name).map(String::as_str);
    let role = text("role").unwrap_or("backend");
    let scopes = arguments.get_many::<String>("scope").unwrap_or_default();
    let scopes: Vec<_> = scopes.map(String::as_str).collect();
    print(&random_key()?, text("name").unwrap_or(role), role, &scopes, out)
}

fn print(
    key: &str,
    name: &str,
    role: &str,
    scopes: &[&str],
    out: &mut impl Write,
) -> io::Result<()> {
    let digest: String = digest(key).iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(out, "{key}\n")?;
    writeln!(out, "# This is the key. It is shown only once. Give it to the caller, who sends")?;
    writeln!(out, "# `Authorization: Bearer {KEY_PREFIX}…`. Add this to the configuration:")?;
    writeln!(out, "[keys.{name}]\ndigest = \"sha256:{digest}\"\nrole = \"{role}\"")?;
    let everything = if scopes.is_empty() { "   # everything of the role" } else { "" };
    writeln!(out, "scopes = {scopes:?}{everything}")?;
    out.flush()
}

/// 256 bits straight from the system.
fn random_key() -> io::Result<String> {
    let mut bits = [0; 32];
    OsRng.try_fill_bytes(&mut bits).map_err(io::Error::other)?;
    Ok(format!("{KEY_PREFIX}{}", URL_SAFE_NO_PAD.encode(bits)))
}

/// The rule of the configuration for scopes.
fn scope(text: &str) -> Result<String, &'static str> {
    text.parse::<Scope>().map(|_| text.to_owned())
}

/// The rule of the configuration for names.
fn name(text: &str) -> Result<String, String> {
    let rule = || "must be 1 to 40 characters of a-z, 0-9 and -".to_owned();
    is_name(text).then(|| text.to_owned()).ok_or_else(rule)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use anteroom_config::Config;

    use super::*;
    use crate::callers::RequestHead;
    use crate::callers::caller::{Access, Caller, Permission};

    fn output(arguments: &[&str]) -> String {
        let matches = command().try_get_matches_from(arguments).expect("known arguments");
        let mut out = Vec::new();
        run(&matches, &mut out).expect("a key");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn what_it_prints_is_a_configuration_that_knows_the_key() {
        let printed = output(&["new-key", "--name", "shop", "--role", "operator"]);
        let (key, toml) = printed.split_once('\n').expect("two parts");
        assert_eq!(key.len(), KEY_PREFIX.len() + 43);
        assert!(!toml.contains(key), "the key itself is not for the configuration");

        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("keys.toml");
        std::fs::write(&file, toml).expect("written");
        let config = Config::load(Some(Path::new(&file))).expect("a configuration");
        let bearer = http::HeaderValue::try_from(format!("Bearer {key}")).expect("a header");
        let headers = &[(http::header::AUTHORIZATION, bearer)].into_iter().collect();
        let (method, uri) = (&http::Method::GET, &http::Uri::from_static("/"));
        let head = RequestHead { method, uri, headers, peer: None };
        let access = Access { keys: &config.keys, sessions: None };
        let caller = Caller::of(access, &head).expect("known");
        assert_eq!(caller.name(), "shop");
        assert!(caller.may(Permission::Operate).is_ok());
    }

    #[test]
    fn a_key_is_printed_with_the_scopes_that_it_is_to_have() {
        let scopes = ["--scope", "queues:concert", "--scope", "pools:reward"];
        let printed = output(&[&["new-key", "--name", "shop"], &scopes[..]].concat());
        assert!(
            printed.ends_with("scopes = [\"queues:concert\", \"pools:reward\"]\n"),
            "{printed}"
        );
        let all = output(&["new-key"]);
        assert!(all.ends_with("scopes = []   # everything of the role\n"), "{all}");
        assert!(command().try_get_matches_from(["new-key", "--scope", "shop"]).is_err());
    }

    #[test]
    fn no_two_keys_are_the_same_and_the_role_is_the_name() {
        let (one, other) = (output(&["new-key"]), output(&["new-key"]));
        assert_ne!(one.lines().next(), other.lines().next());
        assert!(one.contains("[keys.backend]"));
    }

    #[test]
    fn a_name_that_the_configuration_would_refuse_is_refused_here() {
        for wrong in ["", "Shop", "a.b", "é", &"x".repeat(41)] {
            let arguments = ["new-key", "--name", wrong];
            assert!(command().try_get_matches_from(arguments).is_err(), "{wrong}");
        }
        assert!(command().try_get_matches_from(["new-key", "--role", "root"]).is_err());
    }
}
