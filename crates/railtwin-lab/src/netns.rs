//! Network namespaces by name, as `ip netns` keeps them.
use std::fs::File;
use std::path::Path;

use nix::sched::{CloneFlags, setns};

use crate::host::{LabError, command};

/// Makes room for namespaces with names that this process alone sees, within its private mounts.
///
/// # Errors
/// A command of the system fails.
pub(crate) fn own_namespaces() -> Result<(), LabError> {
    command("mkdir -p /run/netns")?;
    command("mount -t tmpfs none /run/netns")?;
    command("ip link set lo up").map(drop)
}

/// Runs `work` on a thread of its own in a namespace. Sockets that it opens stay there.
///
/// # Errors
/// There is no such namespace, this process may not enter it, or `work` fails.
pub(crate) fn within<T: Send>(
    name: &str,
    work: impl FnOnce() -> Result<T, LabError> + Send,
) -> Result<T, LabError> {
    let path = Path::new("/run/netns").join(name);
    let file = File::open(&path).map_err(|error| LabError(format!("{}: {error}", path.display())))?;
    let enter = || {
        setns(&file, CloneFlags::CLONE_NEWNET)
            .map_err(|errno| LabError(format!("cannot enter namespace {name}: {errno}")))?;
        work()
    };
    std::thread::scope(|scope| scope.spawn(enter).join())
        .unwrap_or_else(|_| Err(LabError(format!("the work in namespace {name} broke off"))))
}

/// Sets kernel settings `key = value`, one in a line; lines that begin with `#` are comments.
///
/// # Errors
/// A line has no `=`, or the kernel refuses a value; the error names the key.
pub(crate) fn set_sysctl(name: &str, text: &str) -> Result<(), LabError> {
    within(name, || {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let pair = line.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
            let (key, value) = pair.ok_or_else(|| LabError(format!("{line:?} is no kernel setting")))?;
            let path = Path::new("/proc/sys").join(key.replace('.', "/"));
            if !path.exists() && key.ends_with("multipath_hash_seed") {
                // Linux 6.11 or newer. Without it paths are predicted as well, and differ from lab to lab.
                continue;
            }
            std::fs::write(&path, value)
                .map_err(|error| LabError(format!("{name}: {key} = {value}: {error}")))?;
        }
        Ok(())
    })
}
