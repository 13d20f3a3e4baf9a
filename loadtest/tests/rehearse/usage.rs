//! What is wrong with a call is said, with the argument and the rule, and nothing is done.

use crate::rehearse;

const ROOM: [&str; 4] = ["--anteroom", "http://127.0.0.1:1", "--queue", "hall"];
const SERVICE: [&str; 2] = ["--target", "http://127.0.0.1:1"];

#[tokio::test]
async fn a_wrong_argument_is_named_with_its_rule() {
    for (wrong, named) in [
        (&["--mix", "greedy=1"][..], &["--mix", "`greedy` must be one of faithful, "][..]),
        (&["--mix", "faithful"], &["must be HABIT=WEIGHT"]),
        (&["--mix", "late=1,late=2"], &["`late` must be named once"]),
        (&["--mix", "late=-1"], &["must be 0 to 1000000"]),
        (&["--mix", "late=0"], &["one weight at least"]),
        (&["--slo", "p95<1s"], &["--target"]),
        (&[SERVICE[0], SERVICE[1], "--slo", "p95"], &["--slo", "FIGURE<LIMIT"]),
        (&[SERVICE[0], SERVICE[1], "--scenario", "/no/such.toml"], &["/no/such.toml: "]),
        (&["--visitors", "0"], &["--visitors", "not in 1..="]),
        (&["--arrive", "soon"], &["--arrive"]),
        (&["--gate", "shop"], &["--gate", "must be a path"]),
        (&["--both"], &["--target"]),
        (&["--target", "ftp://127.0.0.1"], &["--target", "must be an address such as"]),
    ] {
        let run = rehearse(&[&ROOM, wrong].concat()).await;
        assert_eq!(run.code(), 64, "{wrong:?}: {}", run.said());
        for part in named {
            assert!(run.said().contains(part), "{wrong:?}: {}", run.said());
        }
    }
    let run = rehearse(&["--visitors", "5"]).await;
    assert!(run.code() == 64 && run.said().contains("--queue"), "{}", run.said());
}

#[tokio::test]
async fn where_nobody_answers_nobody_is_sent() {
    let run = rehearse(&ROOM).await;
    assert_eq!(run.code(), 70, "{}", run.said());
    assert!(run.said().contains("no answer at http://127.0.0.1:1/"));
    assert_eq!(std::fs::read_dir(run.folder.path()).unwrap().count(), 0);
    // Nor to a service that is not there: what it never answered would be no slow answer.
    let run = rehearse(&[&["--without-room"], &SERVICE[..]].concat()).await;
    assert_eq!(run.code(), 70, "{}", run.said());
    assert!(run.said().contains("no answer at http://127.0.0.1:1"), "{}", run.said());
}
