//! Clocks of the host, ns.
use nix::time::{ClockId, clock_gettime};

fn read(clock: ClockId) -> u64 {
    // These clocks exist on every Linux; a zero would show at once.
    clock_gettime(clock).map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// CLOCK_MONOTONIC, the clock of all records.
pub(crate) fn monotonic_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME, the clock of the kernel's receive time stamps.
pub(crate) fn real_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

/// CPU time of this process, all threads.
pub(crate) fn process_cpu_ns() -> u64 {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of this thread.
pub(crate) fn thread_cpu_ns() -> u64 {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}
