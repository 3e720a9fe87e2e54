//! The `railtwin` command; all of it is in the library, which the Python wheel calls too.
use std::process::ExitCode;

fn main() -> ExitCode {
    railtwin_cli::main(std::env::args_os(), start::had_output())
}

/// What the process was started with.
///
/// Before `main` the standard library puts `/dev/null` where a standard stream is closed, and what is written there is
/// lost without an error. Only who looks earlier sees it: functions in `.init_array` run before.
#[cfg(target_os = "linux")]
mod start {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    static CLOSED: AtomicBool = AtomicBool::new(false);

    #[allow(unsafe_code, reason = "there is no other way to run before the standard library does")]
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    /// Looks into /proc alone: where there is none, the stream counts as open.
    extern "C" fn look() {
        let open = Path::new("/proc/self/fd");
        let is_closed = open.is_dir() && open.join("1").symlink_metadata().is_err();
        CLOSED.store(is_closed, Ordering::Relaxed);
    }

    pub(crate) fn had_output() -> bool {
        !CLOSED.load(Ordering::Relaxed)
    }
}

#[cfg(not(target_os = "linux"))]
mod start {
    pub(crate) fn had_output() -> bool {
        true
    }
}
