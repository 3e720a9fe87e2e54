//! How much memory a process may take, where the system tells.
use std::path::Path;

/// What is taken where the system does not tell: a workstation's.
const FALLBACK: u64 = 8 << 30;

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
