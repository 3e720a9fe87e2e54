//! This host: its commands, its clock, what it lacks.
use std::io::Write;
use std::process::{Command, Stdio};

/// Why the laboratory did not do its work.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LabError(pub String);

/// Why a request cannot be carried out, though the laboratory is well: a value is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {accepted}")]
pub struct LabRefusal {
    /// The value and its trouble.
    pub message: String,
    /// Accepted values.
    pub accepted: String,
}

impl LabRefusal {
    pub(crate) fn new(message: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self { message: message.into(), accepted: accepted.into() }
    }
}

/// Nanoseconds of CLOCK_MONOTONIC, the clock of the records.
pub fn now_ns() -> u64 {
    let clock = nix::time::ClockId::CLOCK_MONOTONIC;
    nix::time::clock_gettime(clock)
        .map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Runs a command of the system by its words, and returns its output.
///
/// # Errors
/// It cannot be started, or ends with another status than 0: the command with what it said.
pub(crate) fn command(words: &str) -> Result<String, LabError> {
    let mut parts = words.split_whitespace();
    let program = parts.next().unwrap_or("true");
    of_output(words, Command::new(program).args(parts))
}

/// Runs a command and returns its output; `shown` names it in errors.
///
/// # Errors
/// As [`command`].
pub(crate) fn of_output(shown: &str, command: &mut Command) -> Result<String, LabError> {
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| LabError(format!("{shown}: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(LabError(format!("{shown}: {}", said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A command that runs in a network namespace. Its output is taken by [`of_output`].
pub(crate) fn command_in(node: &str, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", node, program]);
    command
}

/// Runs a command with `text` as its input.
///
/// # Errors
/// As [`command`], with what it said.
pub(crate) fn fed(shown: &str, command: &mut Command, text: &str) -> Result<String, LabError> {
    let failed = |error: std::io::Error| LabError(format!("{shown}: {error}"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // Who ends early closes its input; its status tells why.
        let _ = input.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(LabError(format!("{shown}: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first requirement of the laboratory that this host lacks; none if it meets all.
pub fn lacks() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("it needs root".into());
    }
    for words in
        ["unshare --version", "ip -V", "tc -V", "unshare --net --mount --pid --fork --kill-child true"]
    {
        if let Err(error) = command(words) {
            return Some(format!("it needs namespaces, ip and tc: {error}"));
        }
    }
    None
}
