//! Services that many tests share. A test that neither stops nor reconfigures a service, and counts
//! nothing but what is its own, takes entities with a name of its own in them.

use std::{
    process::{Child, Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use anteroom_testkit::{Anteroom, Redis};
use tokio::sync::OnceCell;

use crate::{
    admin, board, events, gate_joins, gone_tokens, journey,
    key::key,
    limit_checks, limits, local_answers, local_places, metrics, openapi, pools,
    room::{ONE, PATIENT, SECRETS},
    streams, targets,
};

/// What signs identities in the shared services.
pub const IDENTITY: (&str, &str) =
    ("ANTEROOM_ADMISSION__IDENTITY_SECRETS", "the-secret-between-shop-and-room");

/// Clients behind this machine have addresses of their own.
pub const PROXIES: (&str, &str) = ("ANTEROOM_ADMISSION__TRUSTED_PROXIES", "127.0.0.0/8,10.0.0.0/8");

/// An operator's key and a backend's, for all entities.
pub const OPS: &str = "ark1.the-key-of-an-operator";
pub const SHOP: &str = "ark1.the-key-of-a-backend";

/// The sections that tests take, and how many tests take each.
const SECTIONS: [(&str, usize); 28] = [
    (ONE, 40),
    (admin::LATER, 1),
    (board::LINE, 4),
    (gone_tokens::QUEUE, 5),
    (gone_tokens::SHORT, 1),
    (gone_tokens::SLOW, 1),
    (gate_joins::CROWDED, 1),
    (gate_joins::WIDE, 2),
    (gate_joins::LOCAL, 1),
    (journey::LATER, 1),
    (limits::TWO_PLACES, 1),
    (limits::TWO_JOINS, 2),
    (limits::FEW_JOINS, 1),
    (limits::FEW_WAIT, 1),
    (limits::SLOW, 2),
    (limits::FIVE_JOINS, 1),
    (local_answers::LOCAL, 2),
    (local_places::LINE, 9),
    (local_places::LONG, 1),
    (local_places::SOON, 1),
    (metrics::BATCHES, 1),
    (events::COUPON, 2),
    (events::MANY, 1),
    (pools::POOL, 2),
    (pools::LONG_HOLDS, 1),
    (targets::TARGET, 2),
    (limit_checks::LIMITS, 6),
    (streams::EXEMPT, 1),
];

/// How many of each have been taken.
static TAKEN: [AtomicUsize; SECTIONS.len()] = [const { AtomicUsize::new(0) }; SECTIONS.len()];

static WITHOUT_KEYS: OnceCell<Anteroom> = OnceCell::const_new();
static WITH_KEYS: OnceCell<Anteroom> = OnceCell::const_new();

/// The services without keys, and a name that no other test has in these sections of theirs.
pub async fn without_keys(sections: &str) -> (&'static Anteroom, String) {
    let kind = SECTIONS.iter().position(|(text, _)| *text == sections);
    let kind = kind.unwrap_or_else(|| panic!("not in SECTIONS: {sections}"));
    let number = TAKEN[kind].fetch_add(1, Relaxed);
    assert!(number < SECTIONS[kind].1, "more tests than SECTIONS says take {sections}");
    let all = || {
        let kinds = SECTIONS.iter().enumerate();
        let takers = kinds.flat_map(|(kind, (_, count))| (0..*count).map(move |n| (kind, n)));
        takers
            .map(|(kind, n)| SECTIONS[kind].0.replace(":name", &name(kind, n)))
            .collect::<String>()
    };
    (WITHOUT_KEYS.get_or_init(async || start(&all()).await).await, name(kind, number))
}

/// The services with keys. Which entities a test has in them, it names itself.
pub async fn with_keys() -> &'static Anteroom {
    let start = async || {
        let keys = key("ops", OPS, "operator", &[]) + &key("shop", SHOP, "backend", &[]);
        let (limits, documented) = (limit_checks::keyed(), openapi::keyed());
        let others = [admin::keyed(), events::keyed(), journey::keyed(), pools::keyed()].concat();
        start(&[keys, limits, documented, others, targets::keyed()].concat()).await
    };
    WITH_KEYS.get_or_init(start).await
}

fn name(kind: usize, number: usize) -> String {
    format!("test-{kind}-{number}")
}

/// Starts services that end with the tests.
pub async fn start(sections: &str) -> Anteroom {
    let redis = Redis::start().await;
    // Redis is never down here, only slow on a busy machine.
    let env = [&[SECRETS, IDENTITY, PROXIES][..], &PATIENT].concat();
    let anteroom = Anteroom::start_on(redis, sections, &env).await;
    end_with_the_tests(&anteroom);
    anteroom.scheduler.until_ready().await;
    anteroom.admission.until_ready().await;
    anteroom
}

/// Statics are not dropped. A shell waits for the end of this process, however it ends, which
/// closes the pipe; then it ends the services and removes their folders.
fn end_with_the_tests(anteroom: &Anteroom) {
    static SHELLS: Mutex<Vec<Child>> = Mutex::new(Vec::new());
    let Anteroom { deployment, admission, scheduler } = anteroom;
    let redis = deployment.redis.socket_url();
    let redis = redis.strip_prefix("unix://").and_then(|socket| socket.rsplit_once('/'));
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' INT TERM; read -r _; kill -9 $0 $1 $2; rm -rf \"$3\" \"$4\""]);
    shell.args([admission.process.id(), scheduler.process.id()].map(|id| id.to_string()));
    shell.arg(deployment.redis.id().expect("it runs").to_string());
    shell.arg(redis.expect("a socket in a folder").0);
    shell.arg(deployment.config_file().parent().expect("a folder"));
    let shell = shell.stdin(Stdio::piped()).spawn().expect("a shell");
    SHELLS.lock().unwrap_or_else(PoisonError::into_inner).push(shell);
}
