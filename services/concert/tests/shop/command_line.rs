//! What it is started with is checked, and what is wrong is named.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output};

use anteroom_testkit::{PATIENCE, Process};
use rusqlite::Connection;

use crate::support::{Concert, PROGRAM};

fn run(arguments: &[&str], env: &[(&str, &str)]) -> Output {
    Command::new(PROGRAM).args(arguments).envs(env.iter().copied()).output().expect("it runs")
}

#[track_caller]
fn refused(arguments: &[&str], env: &[(&str, &str)], parts: &[&str]) {
    let output = run(arguments, env);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(64), "{arguments:?}: {text}");
    for part in parts {
        assert!(text.contains(part), "{arguments:?}: {part}: {text}");
    }
}

#[test]
fn what_an_option_must_be_is_named() {
    for (option, value, rule) in [
        ("--workers", "0", "1..=1024"),
        ("--backlog", "0", "1..=1000000"),
        ("--rows", "101", "1..=100"),
        ("--think", "20", "must be a time from 0s to 60s"),
        ("--think", "61s", "must be a time from 0s to 60s"),
        ("--hold", "0s", "must be a time from 1ms to 24h"),
        ("--gate", "on", "off, ask, headers"),
        ("--queue", "Concert", "must be 1 to 40 of a to z, 0 to 9 and -"),
        ("--anteroom", "https://127.0.0.1:8080", "must begin with http://"),
        ("--anteroom", "http://127.0.0.1:8080/v1", "must be scheme, host and port alone"),
        ("--public-url", "ftp://shop.example", "must begin with http:// or https://"),
        ("--listen", "8090", "invalid socket address"),
    ] {
        refused(&[option, value], &[], &[option, value, rule]);
    }
    refused(&["--gate", "ask"], &[], &["--anteroom <URL>", "--anteroom-service <URL>"]);
    refused(&[], &[("CONCERT_WORKERS", "many")], &["--workers", "many"]);
    refused(&[], &[("ANTEROOM_KEY", "a\nb")], &["ANTEROOM_KEY"]);
    let help = run(&["--help"], &[]);
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    assert_eq!(help.status.code(), Some(0));
    assert!(text.contains("Examples:") && text.contains("CONCERT_WORKERS"), "{text}");
    let (_, service) = text.split_once("--anteroom-service <URL>").expect("the option");
    let service = service.split("[env:").next().expect("its meaning");
    let service = service.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(service.contains("required with --gate ask"), "{service}");
}

#[test]
fn a_file_that_is_not_ours_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let text = path("letter.txt");
    fs::write(&text, "a letter, and no database at all").expect("written");
    let other = path("other.sqlite");
    Connection::open(&other)
        .and_then(|file| file.execute_batch("CREATE TABLE a (b)"))
        .expect("made");
    let missing = path("none/concert.sqlite");
    let before = fs::read(&other).expect("a file");
    let at = ["--listen", "127.0.0.1:0", "--database"];
    for (file, why) in [
        (&text, "file is not a database"),
        (&other, "a database of something else, or of another version"),
        (&missing, "unable to open database file"),
    ] {
        refused(&[&at[..], &[file]].concat(), &[], &["--database", file, why]);
    }
    assert_eq!(fs::read_to_string(&text).expect("a file"), "a letter, and no database at all");
    assert_eq!(fs::read(&other).expect("a file"), before);
}

#[tokio::test]
async fn a_file_keeps_its_schedule_and_a_taken_port_is_named() {
    let mut concert = Concert::start(&["--rows", "2"]).await;
    let file = concert.file().display().to_string();
    let address = concert.url.trim_start_matches("http://").to_owned();
    refused(&["--database", &file, "--listen", &address, "--rows", "2"], &[], &[&address]);
    let at = ["--database", &file, "--listen", "127.0.0.1:0"];
    refused(&at, &[], &["holds 3 shows of 2 rows of 6 seats"]);
    concert.process.term();
    assert_eq!(concert.process.exit(PATIENCE).await.code(), Some(0));
}

/// A file that may only be read could be opened, and each reservation would fail.
#[tokio::test]
async fn a_file_that_cannot_be_written_is_refused() {
    let mut concert = Concert::start(&[]).await;
    concert.process.term();
    assert_eq!(concert.process.exit(PATIENCE).await.code(), Some(0));
    let file = concert.file();
    fs::set_permissions(&file, Permissions::from_mode(0o444)).expect("read-only");
    let mut command = Command::new(PROGRAM);
    // Root may write to it all the same.
    let folder = tempfile::tempdir().expect("a folder");
    if folder.path().metadata().expect("its owner").uid() == 0 {
        let program = folder.path().join("anteroom-concert");
        fs::copy(PROGRAM, &program).expect("a copy that others may run");
        for folder in [folder.path(), file.parent().expect("a folder")] {
            fs::set_permissions(folder, Permissions::from_mode(0o777)).expect("open to others");
        }
        command = Command::new(program);
        command.uid(65_534);
    }
    command.args(["--listen", "127.0.0.1:0", "--database"]).arg(&file);
    let mut refused = Process::start(command);
    assert_eq!(refused.exit(PATIENCE).await.code(), Some(64));
    let text = refused.stderr();
    assert!(text.contains("may be read, but not written"), "{text}");
}
