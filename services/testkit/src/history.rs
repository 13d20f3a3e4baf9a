//! Histories: lists of steps, each played on a subsystem and on its model, and compared.
//!
//! `cargo test` plays a fixed set of random ones. `ANTEROOM_HISTORY_SERIES` limits it to so many
//! series of 40, as `scripts/test.sh` does on further servers. `ANTEROOM_HISTORIES=1000000`, as
//! `make soak` has it, plays so many new ones. The first that fails is made as short as it goes and
//! written down as a test, which stays with the fix.

use std::{
    fmt::{Debug, Write as _},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use proptest::{
    collection::vec,
    strategy::Strategy,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};
use tokio::runtime::{Builder, Runtime};

/// Histories that follow from one seed, one after the other on one store.
const SERIES: u64 = 40;
/// Steps of a history.
const STEPS: std::ops::Range<usize> = 1..80;
/// Between two lines about the progress of a soak.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// What is wrong with a history, if anything is.
pub type Outcome = Result<(), String>;

/// Compares what the subsystem returned with what the model says.
///
/// # Errors
/// How they differ.
pub fn differ<T: Debug + PartialEq>(what: &str, returned: &T, model: &T) -> Outcome {
    if returned == model {
        Ok(())
    } else {
        Err(format!("{what}: returned {returned:?}, the model says {model:?}"))
    }
}

/// A history as it is played: a subsystem and its model.
#[expect(async_fn_in_trait, reason = "a history is played on one thread")]
pub trait History {
    /// One step.
    type Step: Debug;

    /// Whether it is the step before, sent once more.
    fn is_repeat(step: &Self::Step) -> bool;

    /// Plays a step, which is no repeat, on both.
    async fn apply(&mut self, step: &Self::Step) -> Outcome;

    /// What must hold when the last step has been played.
    async fn end(&mut self) -> Outcome;
}

/// Plays all steps in their order.
///
/// # Errors
/// The step at which the two differ, and how.
pub async fn play<H: History>(history: &mut H, steps: &[H::Step]) -> Outcome {
    let mut last = None;
    for (at, step) in steps.iter().enumerate() {
        last = if H::is_repeat(step) { last } else { Some(step) };
        if let Some(played) = last {
            let outcome = history.apply(played).await;
            outcome.map_err(|error| format!("step {at}, {step:?}: {error}"))?;
        }
    }
    history.end().await
}

/// Where one subsystem's histories are played, one after the other: a store.
#[expect(async_fn_in_trait, reason = "each thread has its own")]
pub trait Harness: Sized {
    /// What a history begins with, such as rules.
    type Base: Debug;
    /// One step.
    type Step: Debug;

    /// A new one.
    async fn start() -> Self;

    /// Anything to begin with.
    fn bases() -> impl Strategy<Value = Self::Base>;

    /// Any step, by how much it shows.
    fn steps() -> impl Strategy<Value = Self::Step>;

    /// Plays a history from the beginning, when nothing was ever written.
    async fn play(&self, base: &Self::Base, steps: &[Self::Step]) -> Outcome;

    /// A step as Rust code.
    fn code(step: &Self::Step) -> String;
}

/// Plays many: so many that are always the same, or as many new ones as `ANTEROOM_HISTORIES` says.
/// One that fails is written into `folder`.
///
/// # Panics
/// When one fails.
pub fn random<H: Harness>(fixed: u64, folder: &str) {
    let soak = std::env::var("ANTEROOM_HISTORIES").ok().map(|count| {
        let count = count.parse().expect("ANTEROOM_HISTORIES is a number");
        Soak { count, from: rand::random(), began: Instant::now() }
    });
    let fixed = std::env::var("ANTEROOM_HISTORY_SERIES").map_or(fixed, |most| {
        fixed.min(SERIES * most.parse::<u64>().expect("ANTEROOM_HISTORY_SERIES is a number"))
    });
    let histories = soak.as_ref().map_or(fixed, |soak| soak.count);
    let first_seed = soak.as_ref().map_or(0, |soak| soak.from);
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for thread in 0..threads {
            let (next, done, soak) = (&next, &done, &soak);
            scope.spawn(move || {
                let runtime = Builder::new_current_thread().enable_all().build();
                let runtime = runtime.expect("a runtime");
                let harness = runtime.block_on(H::start());
                let mut reported = Instant::now();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let count = SERIES.min(histories.saturating_sub(number * SERIES));
                    if count == 0 {
                        return;
                    }
                    let seed = first_seed.wrapping_add(number);
                    if let Err(found) = series(&runtime, &harness, seed, count, folder) {
                        // One is enough.
                        next.store(u64::MAX / 2 / SERIES, Ordering::Relaxed);
                        panic!("{found}");
                    }
                    let done = done.fetch_add(count, Ordering::Relaxed) + count;
                    if let Some(soak) = soak
                        && thread == 0
                        && reported.elapsed() > REPORT_EVERY
                    {
                        soak.report(done);
                        reported = Instant::now();
                    }
                }
            });
        }
    });
    if let Some(soak) = soak {
        soak.report(histories);
    }
}

/// A subsystem's random histories, as a test: its name, how many it plays, the history, its world
/// (`TimedStore` of `services/core/tests/support`), its bases and steps, and what is replaced in
/// the debug form of a step to make Rust code of it.
#[macro_export]
macro_rules! random_histories {
    (
        $test:ident plays $count:literal of $history:ty, on $world:ty,
        from $bases:expr, which are $base:ty,
        $(write $from:literal as $to:literal),*
    ) => {
        impl $crate::history::Harness for $world {
            type Base = $base;
            type Step = step::Step;

            async fn start() -> Self {
                Self::new().await
            }

            fn bases() -> impl proptest::strategy::Strategy<Value = $base> {
                $bases
            }

            fn steps() -> impl proptest::strategy::Strategy<Value = step::Step> {
                step::step()
            }

            async fn play(&self, base: &$base, steps: &[step::Step]) -> $crate::history::Outcome {
                self.begin_again().await;
                $crate::history::play(&mut <$history>::begin(self, base).await, steps).await
            }

            fn code(step: &step::Step) -> String {
                format!("Step::{step:?}")$(.replace($from, $to))*
            }
        }

        #[test]
        fn $test() {
            let folder = env!("CARGO_TARGET_TMPDIR");
            $crate::history::random::<$world>($count, folder);
        }
    };
}

/// A run over many new histories.
struct Soak {
    count: u64,
    from: u64,
    began: Instant,
}

impl Soak {
    fn report(&self, done: u64) {
        let seconds = self.began.elapsed().as_secs_f64();
        let rate = done as f64 / seconds;
        let left = (self.count - done) as f64 / rate / 60.0;
        eprintln!("{done} of {} histories, {rate:.0} a second, {left:.0} minutes left", self.count);
    }
}

/// Plays the histories of one seed; what is wrong with the first that fails.
fn series<H: Harness>(
    runtime: &Runtime,
    harness: &H,
    seed: u64,
    count: u64,
    folder: &str,
) -> Result<(), String> {
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
    let result = runner.run(&(H::bases(), vec(H::steps(), STEPS)), |(base, steps)| {
        runtime.block_on(harness.play(&base, &steps)).map_err(TestCaseError::fail)
    });
    match result {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, (base, steps))) => {
            let code = code::<H>(&base, &steps);
            let file = Path::new(folder).join(format!("history-{seed}.rs"));
            let kept = std::fs::write(&file, &code);
            let file = file.display();
            Err(format!("{reason}\n\nto stay as a fixed case ({file}, {kept:?}):\n\n{code}"))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The history as a test.
fn code<H: Harness>(base: &H::Base, steps: &[H::Step]) -> String {
    let mut code = format!(
        "#[tokio::test]\nasync fn found_by_make_soak() {{\n    \
         let base = {base:?};\n    let steps = [\n"
    );
    for step in steps {
        let _ = writeln!(code, "        {},", H::code(step));
    }
    code.push_str("    ];\n    holds(base, &steps).await;\n}\n");
    code
}
