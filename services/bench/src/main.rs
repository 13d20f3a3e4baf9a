//! `make bench`: the benchmark of the queue.
//!
//! Everything runs on one machine: the services, Redis, the hello-world that is the measure, and
//! the load generator. So requests per second mean little by themselves; their ratio to the
//! hello-world's of the same minute does, and so does processor time per request.

mod against;
mod answer;
mod cpu;
mod load;
mod machine;
mod measure;
mod meter;
mod progress;
mod report;
mod request;
mod sections;
mod settings;
mod stats;
mod world;

use std::{io::Write as _, process::ExitCode};

// Its allocator, which the load generator has always been measured with.
use anteroom_runtime as _;
use anteroom_testkit::Redis;
use anyhow::Context as _;
use clap::Parser as _;
use futures_util::{FutureExt as _, future::BoxFuture};

use crate::{
    machine::Machine,
    measure::{
        accepting, batching, gateways, growth, idle, issuance, limits, longest,
        rate_limit_services, recovery, rows, scaling, streams, waiting, wakes, worst,
    },
    progress::say,
    report::Report,
    sections::Sections,
    settings::{Arguments, Settings},
};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    match runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(run(&arguments)))
    {
        Ok(code) => code,
        Err(error) => {
            say(&format!("anteroom-bench: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Measures, and writes the report whatever ended the work.
async fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let settings = Settings::new(arguments);
    let sections = Sections::default();
    let mut work = if let Some(other) = arguments.against.clone() {
        let (settings, sections) = (settings.clone(), sections.clone());
        tokio::spawn(async move { against::run(&settings, &other, &sections).await })
    } else {
        let bins = std::env::var_os("ANTEROOM_BIN_DIR");
        bins.context("ANTEROOM_BIN_DIR names no folder with the binaries; run make bench")?;
        tokio::spawn(work(settings.clone(), sections.clone()))
    };
    let outcome = tokio::select! {
        outcome = &mut work => outcome.context("a part of the benchmark panicked").flatten(),
        _ = tokio::signal::ctrl_c() => {
            work.abort();
            // Its processes end with it.
            let _ = work.await;
            Err(anyhow::anyhow!("interrupted; the report holds what was measured before"))
        }
    };
    let mut measured = sections.take();
    if let Err(error) = &outcome {
        say(&format!("anteroom-bench: {error:#}"));
        measured.notes.push(format!("The run ended early: {error:#}"));
    }
    let report = Report {
        machine: Machine::this(settings.cores, store_version().await),
        method: method(&settings, arguments.against.is_some()),
        sections: measured.sections,
        notes: measured.notes,
    };
    report.write(&arguments.out)?;
    let folder = arguments.out.display();
    writeln!(std::io::stdout(), "{}\n{folder}/report.json\n{folder}/report.md", report.markdown())?;
    Ok(if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Section by section: each has names of which one is wanted, and the first says which one failed.
async fn work(settings: Settings, sections: Sections) -> anyhow::Result<()> {
    let (settings, sections) = (&settings, &sections);
    if rows::wanted(settings) {
        rows::run(settings, sections).await.context("rows")?;
    }
    let work: [(&[&str], BoxFuture<'_, anyhow::Result<()>>); 18] = [
        (&[limits::NAME], limits::run(settings, sections).boxed()),
        (&[limits::growth::NAME], limits::growth::run(settings, sections).boxed()),
        (&[gateways::NAME], gateways::run(settings, sections).boxed()),
        (&[rate_limit_services::NAME], rate_limit_services::run(settings, sections).boxed()),
        (&[batching::NAME], batching::run(settings, sections).boxed()),
        (&[growth::NAME, growth::MEMORY, longest::NAME], growth::run(settings, sections).boxed()),
        (&[worst::queue::NAME], worst::queue::run(settings, sections).boxed()),
        (&[worst::limit::NAME], worst::limit::run(sections).boxed()),
        (
            &[worst::event::NAME, worst::event::POSITION],
            worst::event::run(settings, sections).boxed(),
        ),
        (&[worst::pool::NAME], worst::pool::run(settings, sections).boxed()),
        (&[scaling::NAME], scaling::run(settings, sections).boxed()),
        (&[streams::NAME], streams::run(settings, sections).boxed()),
        (&[waiting::NAME], waiting::run(settings, sections).boxed()),
        (&[issuance::NAME], issuance::run(settings, sections).boxed()),
        (&[accepting::NAME], accepting::run(settings, sections).boxed()),
        (&[wakes::NAME], wakes::run(settings, sections).boxed()),
        (&[recovery::NAME], recovery::run(settings, sections).boxed()),
        (&[idle::NAME], idle::run(settings, sections).boxed()),
    ];
    for (names, run) in work {
        if names.iter().any(|name| settings.wants(name)) {
            run.await.context(names[0])?;
        }
    }
    Ok(())
}

async fn store_version() -> String {
    let info: String = Redis::start().await.run(&["INFO", "server"]).await;
    let of = |name: &str| info.lines().find_map(|line| line.strip_prefix(name));
    match (of("valkey_version:"), of("redis_version:")) {
        (Some(version), _) => format!("Valkey {}", version.trim()),
        (None, version) => format!("Redis {}", version.unwrap_or("of unknown version").trim()),
    }
}

fn method(settings: &Settings, against: bool) -> Vec<String> {
    let mut method = vec![format!(
        "The generator ({} thread) holds keep-alive connections, each of which sends a request, \
         reads the whole answer, and sends the next; any other status than the expected ends the \
         run.",
        settings.threads
    )];
    if against {
        method.push(
            "Services, Redis (no persistence) and load generator share the machine's cores."
                .to_owned(),
        );
    } else {
        method.extend([
            "Services, Redis (no persistence), hello-world and load generator share the machine's \
             cores."
                .to_owned(),
            "The hello-world is a bare axum route, built with the same profile, with as many \
             worker threads as admission, and is sent the same headers."
                .to_owned(),
            "A ratio is a row's requests per second over the mean of the hello-world's before and \
             after it; the median of the rounds is compared with the budget."
                .to_owned(),
        ]);
    }
    method.push(
        "Processor time is what the kernel's scheduler counted for all threads of a process, its \
         share of the kernel's work included."
            .to_owned(),
    );
    method
}
