//! `anteroom-issuer codes load EVENT FILE`: loads the codes that an event gives out.
//!
//! The whole file is checked before the first code is loaded. A code that was ever loaded is passed
//! over by the store, so a load that broke off is simply done again.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal as _, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anteroom_config::{Loader, Service};
use anteroom_core::event::{Event, Issue, Loaded, MAX_CODES};
use anteroom_core::store::{Error, Store};
use clap::{Arg, ArgMatches, Command, value_parser};
use prometheus::Registry;
use tokio::time::{Instant, sleep, sleep_until};

use crate::codes::{self, Code, Codes};
use crate::retry::retry;

/// The name of the subcommand.
pub const NAME: &str = "codes";

/// How long a store that does not answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is read of a pipe at most: two million codes of the longest.
const MOST_OF_A_PIPE: u64 = 256 * 1024 * 1024;
/// How long nothing is logged while the store is down.
const SILENCE: Duration = Duration::from_secs(2);
/// Between two looks at an event that no scheduler has created.
const PAUSE: Duration = Duration::from_millis(200);
/// Between two lines of progress on a terminal.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// The same in a log.
const LOGGED_EVERY: Duration = Duration::from_secs(5);

/// How it may end but for the best (`sysexits.h`).
#[derive(Clone, Copy)]
enum Exit {
    /// The store did not answer: do it again.
    Failed = 1,
    /// The configuration is refused, or does not name the event as one of codes.
    Config = 64,
    /// A line of the file is no code, or there is none.
    Data = 65,
    /// The file cannot be read.
    NoInput = 66,
    /// The store's user may not do it.
    Refused = 77,
}

/// Why it ended, in one line.
struct Failure(Exit, String);

/// The command line.
pub fn command() -> Command {
    let load = Command::new("load")
        .about("Load a file of codes, one per line; codes that were loaded before are skipped")
        .arg(Arg::new("event").value_name("EVENT").required(true).help("Name of the event"))
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("File with the codes: 1 to 128 bytes of UTF-8 each, no duplicates"),
        )
        .after_help(
            "Examples:\n  anteroom-issuer codes load coupon codes.txt --config anteroom.toml\n  \
             ANTEROOM_STORE__URL=redis://redis:6379 anteroom-issuer codes load coupon codes.txt \
             --config anteroom.toml\n\nA file with an error loads nothing. To continue a load \
             that stopped, run the command again.\nEvery line is a code, also a header line; empty \
             lines are skipped. Use /dev/stdin to read a pipe.\nRedis stores the codes \
             unencrypted.\n\nExit codes: 0 loaded, 1 Redis did not answer, 2 wrong arguments, 64 \
             bad configuration,\n65 an invalid line or no code, 66 the file cannot be read, 77 \
             missing Redis permission.",
        );
    Command::new(NAME)
        .about("Manage the codes that an event hands out")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(load)
}

/// Runs it with the arguments that [`command`] has read.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let Some(("load", arguments)) = arguments.subcommand() else {
        // There is no other.
        return ExitCode::FAILURE;
    };
    match load(arguments) {
        Ok(result) => {
            // Without a reader there is still the exit code.
            let _ = writeln!(std::io::stdout(), "{result}");
            ExitCode::SUCCESS
        }
        Err(Failure(exit, why)) => {
            let _ = writeln!(std::io::stderr(), "{}: {why}", Service::Issuer.program());
            ExitCode::from(exit as u8)
        }
    }
}

fn load(arguments: &ArgMatches) -> Result<String, Failure> {
    let failed = |exit| move |error: &dyn std::fmt::Display| Failure(exit, error.to_string());
    let text = |name| arguments.get_one::<String>(name).map_or("", String::as_str);
    let path = |name| arguments.get_one::<PathBuf>(name).map(PathBuf::as_path);
    let config = Loader::new(path("config"))
        .service(Service::Issuer)
        .process_environment()
        .and_then(|loader| loader.load())
        .map_err(|error| failed(Exit::Config)(&error))?;
    let name = text("event");
    let event = config.events.get(name).filter(|event| event.rules.issue == Issue::Codes);
    let event = event.ok_or_else(|| {
        failed(Exit::Config)(&format!("events.{name}: must be declared with issue = \"codes\""))
    })?;
    let file = path("file").unwrap_or(Path::new(""));
    let mut input = Input::open(file)?;
    let total = codes::count(input.rewound(file)?).map_err(|error| invalid(file, &error))?;
    if total == 0 {
        return Err(Failure(Exit::Data, format!("{}: the file has no codes", file.display())));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(Exit::Failed)(&error))?;
    runtime.block_on(async {
        let store = Store::open(&config.store(), &anteroom_core::scripts(), &Registry::new())
            .map_err(|error| failed(Exit::Config)(&error))?;
        let event = Event::open(&store, name, event.rules.clone(), 1);
        tokio::select! {
            loaded = load_into(&store, &event, file, input, total) => loaded,
            refused = store.refused_at_start() => Err(failed(Exit::Refused)(&refused)),
        }
    })
}

/// What is read twice: to be checked, and to be loaded.
enum Input {
    File(File),
    /// A pipe gives what it has only once.
    Pipe(Vec<u8>),
}

impl Input {
    fn open(path: &Path) -> Result<Self, Failure> {
        let unread = |error| unread(path, &error);
        let mut file = File::open(path).map_err(unread)?;
        let is_pipe = !file.metadata().map_err(unread)?.is_file();
        let mut bytes = Vec::new();
        if !is_pipe {
            return Ok(Self::File(file));
        }
        (&mut file).take(MOST_OF_A_PIPE + 1).read_to_end(&mut bytes).map_err(unread)?;
        if bytes.len() as u64 > MOST_OF_A_PIPE {
            let rule = "a pipe may have 256 MiB at most: load a file";
            return Err(Failure(Exit::NoInput, format!("{}: {rule}", path.display())));
        }
        Ok(Self::Pipe(bytes))
    }

    /// All of it once more.
    fn rewound(&mut self, path: &Path) -> Result<Box<dyn BufRead + '_>, Failure> {
        Ok(match self {
            Self::File(file) => {
                file.rewind().map_err(|error| unread(path, &error))?;
                Box::new(BufReader::new(file))
            }
            Self::Pipe(bytes) => Box::new(bytes.as_slice()),
        })
    }
}

fn unread(path: &Path, error: &std::io::Error) -> Failure {
    Failure(Exit::NoInput, format!("{}: {error}", path.display()))
}

/// What is wrong with the file.
fn invalid(file: &Path, error: &codes::CodesError) -> Failure {
    let exit = match error {
        codes::CodesError::Read { .. } => Exit::NoInput,
        codes::CodesError::NoCode { .. } | codes::CodesError::Twice { .. } => Exit::Data,
    };
    Failure(exit, format!("{}: {error}", file.display()))
}

async fn load_into(
    store: &Store,
    event: &Event,
    file: &Path,
    mut input: Input,
    total: u64,
) -> Result<String, Failure> {
    if !store.wait_up(SILENCE).await {
        let _ = writeln!(std::io::stderr(), "waiting for Redis (store.url)");
        store.wait_up(PATIENCE).await;
    }
    wait_created(store, event).await?;
    let mut progress = Progress::new(total);
    let (mut done, mut sum) = (0, Loaded { new: 0, left: 0 });
    let mut codes = Codes::new(input.rewound(file)?).peekable();
    loop {
        let part = codes.by_ref().take(MAX_CODES).map(|code| code.map(|Code { text, .. }| text));
        let part = part.collect::<Result<Vec<_>, _>>().map_err(|error| invalid(file, &error))?;
        let loaded = retry(store, sleep(PATIENCE), || event.load_codes(&part)).await;
        let loaded = loaded.map_err(|error| {
            let why = format!(
                "{error}; {done} of {total} codes are loaded: run it again, it skips these"
            );
            Failure(exit(&error), why)
        })?;
        done += part.len() as u64;
        sum = Loaded { new: sum.new + loaded.new, left: loaded.left };
        progress.show(done);
        if codes.peek().is_none() {
            break;
        }
    }
    if done != total {
        let why = format!("the file changed during the load: {done} of {total} codes are loaded");
        return Err(Failure(Exit::Data, format!("{}: {why}", file.display())));
    }
    let Loaded { new, left } = sum;
    let before = done - new;
    Ok(format!("{done} codes: {new} new, {before} loaded before; {left} are left"))
}

/// Waits until a service has created the event, with the stock of its own configuration.
async fn wait_created(store: &Store, event: &Event) -> Result<(), Failure> {
    let end = Instant::now() + PATIENCE;
    loop {
        let created = retry(store, sleep_until(end), || event.exists()).await;
        if created.map_err(|error| Failure(exit(&error), error.to_string()))? {
            return Ok(());
        }
        if Instant::now() >= end {
            let name = event.name();
            let why = format!(
                "events.{name}: the event does not exist in Redis yet: start anteroom-scheduler \
                 with this configuration"
            );
            return Err(Failure(Exit::Failed, why));
        }
        sleep(PAUSE).await;
    }
}

fn exit(error: &Error) -> Exit {
    if matches!(error, Error::Forbidden(_)) { Exit::Refused } else { Exit::Failed }
}

/// How far it is, on standard error.
struct Progress {
    total: u64,
    shown: Instant,
    on_terminal: bool,
}

impl Progress {
    fn new(total: u64) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        Self { total, shown: Instant::now(), on_terminal }
    }

    fn show(&mut self, done: u64) {
        let every = if self.on_terminal { PROGRESS_EVERY } else { LOGGED_EVERY };
        let is_last = done == self.total && self.on_terminal;
        if self.shown.elapsed() < every && !is_last {
            return;
        }
        self.shown = Instant::now();
        let percent = 100 * done / self.total.max(1);
        let (front, end) =
            if self.on_terminal { ("\r", if is_last { "\n" } else { "" }) } else { ("", "\n") };
        let total = self.total;
        let _ = write!(std::io::stderr(), "{front}{done} of {total} codes ({percent} %){end}");
    }
}
