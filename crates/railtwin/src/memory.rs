//! Memory that a command may take, memory that its process holds, and what may grow without being foreseen.
use std::cell::Cell;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// What is taken where the system does not tell: a workstation's.
const FALLBACK: u64 = 8 << 30;

/// Least limit, bytes, that a running process is held to: the program and a scenario alone take some of it.
const FLOOR: u64 = 64 << 20;

/// Advice while nothing is known to grow.
const ADVICE: &str = "write fewer hosts, fewer steps or a shorter duration";

thread_local! {
    /// `--memory` of the command that this thread runs.
    static SAID: Cell<Option<u64>> = const { Cell::new(None) };
}

/// What grows in the run that is under way, and which key makes it smaller; empty where nothing is known to.
static GROWTH: Mutex<String> = Mutex::new(String::new());

/// Sets the bytes that the command of this thread may take; none for those that the machine has to spare.
pub fn set_limit(bytes: Option<u64>) {
    SAID.set(bytes);
}

/// Bytes that the user lets the command of this thread take.
pub fn said() -> Option<u64> {
    SAID.get()
}

/// Bytes that the command of this thread may take: `--memory`, else those that the machine has to spare.
pub fn limit() -> u64 {
    said().unwrap_or_else(available)
}

/// Names what grows in the run that begins, and the key that makes it smaller, for [`excess`].
pub fn expect_growth(words: &str) {
    words.clone_into(&mut GROWTH.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Error and remedy of a process that holds `held` bytes, grew by `grown` since it was last looked at, and may take `limit`;
/// none while another such growth fits twice.
pub fn excess(held: u64, grown: u64, limit: u64) -> Option<(String, String)> {
    let limit = limit.max(FLOOR);
    if held.saturating_add(grown.saturating_mul(2)) <= limit {
        return None;
    }
    let growth = GROWTH.lock().unwrap_or_else(PoisonError::into_inner);
    let advice = if growth.is_empty() { ADVICE } else { growth.as_str() };
    let (held, limit) = (crate::estimate::gib(held as f64), crate::estimate::gib(limit as f64));
    let message = format!("the run has grown to {held}, and {limit} may be used: it is ended");
    Some((message, format!("{advice}, or allow more memory by --memory, such as --memory 64GiB")))
}

/// Bytes of memory that this process holds, where the system tells.
pub fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib.saturating_mul(1024))
}

/// Bytes that the machine has to spare, or the process's control group if that is less.
pub fn available() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_meminfo(&text));
    let group = of_group(Path::new("/sys/fs/cgroup"));
    machine.into_iter().chain(group).min().unwrap_or(FALLBACK)
}

/// `MemAvailable` of `/proc/meminfo`.
fn of_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib.saturating_mul(1024))
}

/// What a control group of version 2, as containers have it, may still take; none without a limit.
fn of_group(folder: &Path) -> Option<u64> {
    let number = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    Some(number("memory.max")?.saturating_sub(number("memory.current").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_ended_before_the_limit() {
        assert!(resident().is_none_or(|bytes| bytes > 1 << 20));
        let gib = 1 << 30;
        assert_eq!(excess(gib, 0, gib), None);
        assert_eq!(excess(gib, gib / 4, 2 * gib), None, "another growth fits twice");
        expect_growth("the table of queues grows: write longer `samples`");
        let (message, remedy) = excess(gib, gib, 2 * gib).unwrap();
        assert!(message.contains("1.0 GiB") && message.contains("2.0 GiB"), "{message}");
        assert!(remedy.starts_with("the table of queues grows") && remedy.contains("--memory"), "{remedy}");
        assert_eq!(excess(FLOOR, 0, 1), None, "the program itself");
        set_limit(Some(7));
        assert_eq!((said(), limit()), (Some(7), 7));
        set_limit(None);
    }

    #[test]
    fn the_system_is_asked_and_a_group_may_have_less() {
        assert_eq!(of_meminfo("MemTotal:  9 kB\nMemAvailable:    7 kB\n"), Some(7 * 1024));
        assert_eq!(of_meminfo("MemTotal:  9 kB\n"), None);
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(of_group(folder.path()), None);
        std::fs::write(folder.path().join("memory.max"), "max\n").unwrap();
        assert_eq!(of_group(folder.path()), None, "a group without a limit");
        std::fs::write(folder.path().join("memory.max"), "1000\n").unwrap();
        std::fs::write(folder.path().join("memory.current"), "400\n").unwrap();
        assert_eq!(of_group(folder.path()), Some(600));
        assert!(available() > 0);
    }
}
