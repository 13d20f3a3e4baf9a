//! A wrong call ends with the argument and the rule, and nothing is done.

use crate::rehearse;

const ROOM: &str = "--anteroom http://127.0.0.1:1 --queue hall";
const SERVICE: &str = "--target http://127.0.0.1:1";

#[tokio::test]
async fn a_wrong_argument_is_named_with_its_rule() {
    for (wrong, named) in [
        ("--mix greedy=1", &["--mix", "`greedy` must be one of faithful, "][..]),
        ("--mix faithful", &["must be HABIT=WEIGHT"]),
        ("--mix late=1,late=2", &["`late` must be named once"]),
        ("--mix late=-1", &["must be 0 to 1000000"]),
        ("--mix late=0", &["one weight at least"]),
        ("--slo p95<1s", &["--target"]),
        (&format!("{SERVICE} --slo p95"), &["--slo", "FIGURE<LIMIT"]),
        (&format!("{SERVICE} --scenario /no/such.toml"), &["/no/such.toml: "]),
        ("--visitors 0", &["--visitors", "not in 1..="]),
        ("--arrive soon", &["--arrive"]),
        ("--gate shop", &["--gate", "must be a path"]),
        ("--both", &["--target"]),
        ("--target ftp://127.0.0.1", &["--target", "must be an address such as"]),
    ] {
        let run = rehearse(&format!("{ROOM} {wrong}")).await;
        assert_eq!(run.code(), 64, "{wrong}: {}", run.stderr());
        for part in named {
            assert!(run.stderr().contains(part), "{wrong}: {}", run.stderr());
        }
    }
    let run = rehearse("--visitors 5").await;
    assert!(run.code() == 64 && run.stderr().contains("--queue"), "{}", run.stderr());
}

#[tokio::test]
async fn without_an_answer_no_visitor_is_sent() {
    let run = rehearse(ROOM).await;
    assert_eq!(run.code(), 70, "{}", run.stderr());
    assert!(run.stderr().contains("no answer at http://127.0.0.1:1/"));
    assert_eq!(std::fs::read_dir(run.folder.path()).unwrap().count(), 0);
    // Nor to a service that is not there: what it never answered would be no slow answer.
    let run = rehearse(&format!("--without-room {SERVICE}")).await;
    assert_eq!(run.code(), 70, "{}", run.stderr());
    assert!(run.stderr().contains("no answer at http://127.0.0.1:1"), "{}", run.stderr());
}
