//! A real process under guard: its output kept in memory, its end certain.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, ErrorKind, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    sys::wait::{Id, WaitPidFlag, waitid},
    unistd::Pid,
};

use crate::until_some;

/// The lines a process has written so far.
#[derive(Default)]
struct Lines {
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Lines {
    /// Reads to the end on a thread of its own, so that the process never waits for a full pipe.
    fn read(source: impl Read + Send + 'static) -> Self {
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let kept = lines.clone();
        let reader = thread::spawn(move || {
            let mut source = BufReader::new(source);
            let mut line = Vec::new();
            while source.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(text);
                line.clear();
            }
        });
        Self { lines, reader: Some(reader) }
    }

    /// Whether the last line has been read.
    fn complete(&self) -> bool {
        self.reader.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn find(&self, needle: &str) -> Option<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().find(|line| line.contains(needle)).cloned()
    }

    fn text(&self) -> String {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }
}

/// A child process. Dropping it kills it, by its own id, and waits for its end.
///
/// It has no parent-death signal: that is tied to the thread that started the child, and a test
/// runtime retires threads.
pub struct Process {
    name: String,
    child: Child,
    stdout: Lines,
    stderr: Lines,
}

impl Process {
    /// Starts `program` with `args`, and `env` added to this process's environment.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn spawn<A: AsRef<OsStr>>(
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
        env: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new(&program);
        command.args(args).envs(env.iter().copied());
        Self::start(command)
    }

    /// Starts a prepared command; its three streams are this guard's.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(mut command: Command) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = loop {
            match command.spawn() {
                // Another thread forked while the file of the program was being written.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    thread::sleep(Duration::from_millis(5));
                }
                spawned => break spawned.unwrap_or_else(|error| panic!("{name}: {error}")),
            }
        };
        let stdout = child.stdout.take().map(Lines::read).unwrap_or_default();
        let stderr = child.stderr.take().map(Lines::read).unwrap_or_default();
        Self { name, child, stdout, stderr }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to standard output.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What it has written to standard error.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits for a line with `needle` on either stream and returns it.
    ///
    /// # Panics
    /// When it does not come within `patience`, or the process ends before.
    pub async fn line(&mut self, needle: &str, patience: Duration) -> String {
        let what = format!("{} writes {needle:?}", self.name);
        until_some(&what, patience, || {
            let ended =
                self.try_exit().filter(|_| self.stdout.complete() && self.stderr.complete());
            let found = self.stdout.find(needle).or_else(|| self.stderr.find(needle));
            if let (None, Some(status)) = (&found, ended) {
                let (out, err) = (self.stdout(), self.stderr());
                panic!("{} ended ({status}) and never wrote {needle:?}:\n{out}\n{err}", self.name);
            }
            std::future::ready(found)
        })
        .await
    }

    /// Waits until something listens on this port of the loopback.
    ///
    /// # Panics
    /// When nothing does within `patience`.
    pub async fn port(&self, port: u16, patience: Duration) {
        let what = format!("{} listens on {port}", self.name);
        until_some(&what, patience, || async {
            tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()
        })
        .await;
    }

    /// Asks it to end (SIGTERM).
    pub fn term(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Kills it (SIGKILL) and waits for its end.
    pub fn kill(&mut self) {
        if self.try_exit().is_none() {
            self.signal(Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }

    /// Stops it in its tracks (SIGSTOP), and returns when none of its threads runs any more.
    pub fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
        if let Ok(id) = i32::try_from(self.child.id()) {
            // Where it has ended instead, the caller that waits for its end finds it.
            let stopped_or_ended =
                WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            let _ = waitid(Id::Pid(Pid::from_raw(id)), stopped_or_ended);
        }
    }

    /// Lets it go on (SIGCONT).
    pub fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Sends any signal.
    pub fn signal(&self, signal: Signal) {
        if let Ok(id) = i32::try_from(self.child.id()) {
            // An error says that it has ended already.
            let _ = kill(Pid::from_raw(id), signal);
        }
    }

    /// Its exit status, if it has ended.
    pub fn try_exit(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for its end, and for the last of its output.
    ///
    /// # Panics
    /// When it does not end within `patience`.
    pub async fn exit(&mut self, patience: Duration) -> ExitStatus {
        let what = format!("{} ends", self.name);
        until_some(&what, patience, || {
            let status = self.try_exit();
            std::future::ready(status.filter(|_| self.stdout.complete() && self.stderr.complete()))
        })
        .await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
