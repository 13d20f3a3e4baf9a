//! Processor time of processes and threads, in nanoseconds, as the kernel's scheduler counts it.

use std::path::Path;

use anyhow::Context as _;

/// Of all threads that a process has now.
pub fn of_process(id: u32) -> anyhow::Result<u64> {
    let tasks = format!("/proc/{id}/task");
    let threads = std::fs::read_dir(&tasks).with_context(|| format!("no process {id}"))?;
    Ok(threads.flatten().map(|thread| of_task(&thread.path())).sum())
}

/// A process and all that it has started, such as the workers of NGINX.
pub fn with_children(id: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let children = tasks.flat_map(|task| {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        text.split_whitespace().flat_map(str::parse).collect::<Vec<_>>()
    });
    std::iter::once(id).chain(children.flat_map(with_children)).collect()
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
    use super::*;

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
