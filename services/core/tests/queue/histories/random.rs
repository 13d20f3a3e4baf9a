//! Many histories: the fixed set, always the same, or as many new ones as `ANTEROOM_HISTORIES`
//! says.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use tokio::runtime::{Builder, Runtime};

use super::history::play;
use super::step::{Base, Step, base, step};
use crate::world::World;

/// Histories that `cargo test` plays.
const FIXED: u64 = 320;
/// Histories that follow from one seed, one after the other on one store.
const SERIES: u64 = 40;
/// Between two lines about the progress of a soak.
const TOLD_EVERY: Duration = Duration::from_secs(10);

#[test]
fn promises_01_to_05_11_12_random_histories_answer_like_the_model() {
    let soak = std::env::var("ANTEROOM_HISTORIES").ok().map(|count| {
        let count = count.parse().expect("ANTEROOM_HISTORIES is a number");
        Soak { count, from: rand::random(), began: Instant::now() }
    });
    let histories = soak.as_ref().map_or(FIXED, |soak| soak.count);
    let first_seed = soak.as_ref().map_or(0, |soak| soak.from);
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for thread in 0..threads {
            let (next, done, soak) = (&next, &done, &soak);
            scope.spawn(move || {
                let runtime = Builder::new_current_thread().enable_all().build();
                let runtime = runtime.expect("a runtime");
                let world = runtime.block_on(World::new());
                let mut told = Instant::now();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let count = SERIES.min(histories.saturating_sub(number * SERIES));
                    if count == 0 {
                        return;
                    }
                    let seed = first_seed.wrapping_add(number);
                    if let Err(found) = series(&runtime, &world, seed, count) {
                        // One is enough.
                        next.store(u64::MAX / 2 / SERIES, Ordering::Relaxed);
                        panic!("{found}");
                    }
                    let done = done.fetch_add(count, Ordering::Relaxed) + count;
                    if let Some(soak) = soak
                        && thread == 0
                        && told.elapsed() > TOLD_EVERY
                    {
                        soak.tell(done);
                        told = Instant::now();
                    }
                }
            });
        }
    });
    if let Some(soak) = soak {
        soak.tell(histories);
    }
}

/// A run over many new histories.
struct Soak {
    count: u64,
    from: u64,
    began: Instant,
}

impl Soak {
    fn tell(&self, done: u64) {
        let seconds = self.began.elapsed().as_secs_f64();
        let rate = done as f64 / seconds;
        let left = (self.count - done) as f64 / rate / 60.0;
        eprintln!("{done} of {} histories, {rate:.0} a second, {left:.0} minutes left", self.count);
    }
}

/// Plays the histories of one seed; what is wrong with the first that fails.
fn series(runtime: &Runtime, world: &World, seed: u64, count: u64) -> Result<(), String> {
    let config = Config {
        cases: u32::try_from(count).expect("a short series"),
        max_shrink_iters: 5_000,
        failure_persistence: None,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, random);
    let result = runner.run(&(base(), vec(step(), 1..80)), |(base, steps)| {
        runtime
            .block_on(async {
                world.begin_again().await;
                play(world, &base.rules(), &steps).await
            })
            .map_err(TestCaseError::fail)
    });
    match result {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, (base, steps))) => {
            let code = code(&base, &steps);
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("history-{seed}.rs"));
            let kept = std::fs::write(&file, &code);
            Err(format!("{reason}\n\nfor fixed.rs ({}, {kept:?}):\n\n{code}", file.display()))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The history as a test.
fn code(base: &Base, steps: &[Step]) -> String {
    let mut code = format!(
        "#[tokio::test]\nasync fn found_by_make_soak() {{\n    \
         let base = {base:?};\n    let steps = [\n"
    );
    for step in steps {
        let step =
            format!("{step:?}").replace("op: ", "op: Op::").replace("whom: [", "whom: vec![");
        let _ = writeln!(code, "        Step::{step},");
    }
    code.push_str("    ];\n    holds(base, &steps).await;\n}\n");
    code
}
