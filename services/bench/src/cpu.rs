//! Processor time of processes and threads, in nanoseconds, as the kernel's scheduler counts it.

use std::path::Path;

use anyhow::Context as _;

/// Of all threads that a process has now.
pub fn of_process(id: u32) -> anyhow::Result<u64> {
    let tasks = format!("/proc/{id}/task");
    let threads = std::fs::read_dir(&tasks).with_context(|| format!("no process {id}"))?;
    Ok(threads.flatten().map(|thread| of_task(&thread.path())).sum())
}

/// Of a process and all that it has started and that still run, such as the workers of NGINX. Its
/// cache loader ends after a minute.
pub fn with_children(id: u32) -> anyhow::Result<u64> {
    let children = children(id).map(|child| with_children(child).unwrap_or_default());
    Ok(of_process(id)? + children.sum::<u64>())
}

fn children(id: u32) -> impl Iterator<Item = u32> {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    tasks.flat_map(|task| {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        text.split_whitespace().flat_map(str::parse).collect::<Vec<_>>()
    })
}

/// The kernel's name for the calling thread.
pub fn own_thread() -> u64 {
    let link = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    link.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap_or_default()
}

/// Of a thread of this process; 0 when it has ended.
pub fn of_own_thread(id: u64) -> u64 {
    of_task(Path::new(&format!("/proc/self/task/{id}")))
}

/// 0 for one that has just ended.
fn of_task(folder: &Path) -> u64 {
    let schedstat = std::fs::read_to_string(folder.join("schedstat")).unwrap_or_default();
    schedstat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or_default()
}

/// Of all programs of the machine together, and of its host where it is a virtual one and the host
/// kept it waiting; to 10 ms.
pub fn of_machine() -> anyhow::Result<u64> {
    let stat = std::fs::read_to_string("/proc/stat")?;
    let line = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().skip(1).flat_map(str::parse).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal
    let [user, nice, system, _, _, irq, softirq, steal, ..] = ticks[..] else {
        anyhow::bail!("/proc/stat is of another form: {line}")
    };
    Ok((user + nice + system + irq + softirq + steal) * 10_000_000)
}

/// Resident memory of a process in bytes.
pub fn resident_bytes(id: u32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let kilobytes: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok())
        .context("no VmRSS")?;
    Ok(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_child_that_has_ended_is_left_out() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & read _; kill $!; wait; read _"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let id = shell.id();
        let until = |number| {
            while children(id).count() != number {
                std::thread::yield_now();
            }
            with_children(id).expect("it runs");
        };
        until(1);
        let stdin = shell.stdin.as_mut().expect("a pipe");
        stdin.write_all(b"\n").expect("it reads");
        until(0);
        stdin.write_all(b"\n").expect("it reads");
        shell.wait().expect("it ends");
        assert!(with_children(id).is_err());
    }

    #[test]
    fn work_shows() {
        let (process, thread) = (std::process::id(), own_thread());
        let before = (of_process(process).expect("runs"), of_own_thread(thread));
        let mut sum = 0_u64;
        while of_own_thread(thread) < before.1 + 1_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(of_process(process).expect("runs") >= before.0 + 1_000_000);
        assert!(of_machine().expect("Linux") > 0);
        assert!(resident_bytes(process).expect("runs") > 100_000);
    }
}
