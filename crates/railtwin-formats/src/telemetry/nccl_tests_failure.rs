//! How a test of nccl-tests failed: what the test itself, NCCL, CUDA and launchers print when one dies.

use super::input;

/// Longest line that is repeated, in characters.
const LINE_CHARS_MAX: usize = 160;

/// How a test ended that did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NcclTestEnd {
    /// A process said that it failed, or its launcher that it did.
    Died,
    /// It was stopped because it took too long.
    Hung,
    /// The log ends, or goes on with another test, without a word: it hung and was stopped, or its log was cut.
    CutOff,
}

impl NcclTestEnd {
    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Died => "died",
            Self::Hung => "ran out of its time",
            Self::CutOff => "ended without a word",
        }
    }
}

/// A test that did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NcclTestFailure {
    /// How it ended.
    pub end: NcclTestEnd,
    /// The line that says so; empty where none does.
    pub line: String,
    /// Number of that line, or of the last one that was read, from 1.
    pub number: u64,
    /// Host that the line names: who says it, or of whom it is said.
    pub host: Option<String>,
    /// Whether what failed is that host's own: its GPU, its process, the host itself. An error of the network is told by
    /// either end.
    pub own: bool,
    /// Further hosts that say so of themselves.
    pub others: Vec<String>,
    /// Largest size that came to its end before, in bytes; none where none did.
    pub after_bytes: Option<u64>,
}

/// What one line says of the end of a test.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) end: NcclTestEnd,
    pub(crate) host: Option<String>,
    pub(crate) own: bool,
    /// Whether it may stand behind a test that came to its end: launchers tell of processes that leave late.
    pub(crate) late: bool,
}

/// How a kind of line is known: all of these words stand in it, in small letters.
struct Sign {
    words: &'static [&'static str],
    end: NcclTestEnd,
    own: bool,
    late: bool,
    /// The host stands behind this word; where it is empty before the first colon.
    host: &'static str,
}

const fn sign(
    words: &'static [&'static str],
    end: NcclTestEnd,
    own: bool,
    late: bool,
    host: &'static str,
) -> Sign {
    Sign { words, end, own, late, host }
}

/// The first that fits decides.
///
/// - nccl-tests (`src/common.h`): `HOST: Test NCCL failure FILE:LINE 'ERROR / DETAIL'`, `HOST: Test CUDA failure …`,
///   ` .. HOST pid N: Test failure FILE:LINE`, `HOST: Test timeout (Ns) FILE:LINE`;
/// - Slurm (`slurmstepd`, `srun`): `*** STEP N ON HOST CANCELLED AT … DUE TO TIME LIMIT ***`, `… DUE TO NODE FAILURE`,
///   `Detected N oom_kill event in StepId=…`, `srun: error: HOST: task N: Killed`;
/// - Open MPI: `mpirun noticed that process rank N with PID N on node HOST exited on signal 9 (Killed).`,
///   `… has lost communication with a remote daemon`, `MPI_ABORT was invoked on rank N`; from version 5 on `prterun noticed …`
///   with a new line before `signal`;
/// - MPICH: `BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES`;
/// - `timeout` of coreutils, `ssh`, shells and the kernel.
const SIGNS: &[Sign] = &[
    sign(&["test timeout ("], NcclTestEnd::Hung, false, false, ""),
    sign(&["test nccl failure", "unhandled cuda error"], NcclTestEnd::Died, true, false, ""),
    sign(&["test nccl failure", "out of memory"], NcclTestEnd::Died, true, false, ""),
    sign(&["test nccl failure"], NcclTestEnd::Died, false, false, ""),
    sign(&["test cuda failure"], NcclTestEnd::Died, true, false, ""),
    sign(&["test failure"], NcclTestEnd::Died, false, false, ""),
    sign(&["due to time limit"], NcclTestEnd::Hung, false, false, " on "),
    sign(&["due to node failure"], NcclTestEnd::Died, true, false, " on "),
    sign(&["cancelled at"], NcclTestEnd::CutOff, false, false, " on "),
    sign(&["timeout: sending signal"], NcclTestEnd::Hung, false, false, "-"),
    sign(&["oom_kill event"], NcclTestEnd::Died, true, false, "-"),
    sign(&["oom-kill event"], NcclTestEnd::Died, true, false, "-"),
    sign(&["out of memory", "killed process"], NcclTestEnd::Died, true, false, "-"),
    sign(&["node failure on "], NcclTestEnd::Died, true, false, "node failure on "),
    sign(&["srun: error:", "killed"], NcclTestEnd::Died, false, true, "srun: error: "),
    sign(&["srun: error:", "segmentation fault"], NcclTestEnd::Died, true, true, "srun: error: "),
    sign(&["srun: error:", "aborted"], NcclTestEnd::Died, false, true, "srun: error: "),
    sign(&["srun: error:", "exited with exit code"], NcclTestEnd::Died, false, true, "srun: error: "),
    sign(&["srun: error:"], NcclTestEnd::Died, false, true, "-"),
    sign(&["on node ", "exited on signal"], NcclTestEnd::Died, true, true, "on node "),
    sign(&["lost communication with a remote daemon"], NcclTestEnd::Died, false, false, "-"),
    sign(&["mpi_abort was invoked"], NcclTestEnd::Died, false, false, "-"),
    sign(&["bad termination of one of your application"], NcclTestEnd::Died, false, false, "-"),
    sign(&["returned a non-zero exit code"], NcclTestEnd::Died, false, true, "-"),
    sign(&["ssh: connect to host "], NcclTestEnd::Died, true, false, "ssh: connect to host "),
    sign(
        &["ssh: could not resolve hostname "],
        NcclTestEnd::Died,
        true,
        false,
        "ssh: could not resolve hostname ",
    ),
];

/// Lines that are all a program says.
const ALONE: [&str; 5] =
    ["killed", "terminated", "segmentation fault", "bus error", "segmentation fault (core dumped)"];

/// What a line says of the end of a test; none where it says nothing of one.
pub(crate) fn said(line: &str) -> Option<Said> {
    let small = line.trim().to_lowercase();
    if ALONE.contains(&small.as_str()) {
        return Some(Said { end: NcclTestEnd::Died, host: None, own: false, late: false });
    }
    let sign = SIGNS.iter().find(|sign| sign.words.iter().all(|word| small.contains(word)))?;
    let host = host(line.trim(), &small, sign);
    Some(Said { end: sign.end, own: sign.own && host.is_some(), host, late: sign.late })
}

/// Whether a line of a launcher goes on in the next one: Open MPI's since version 5 begins a new line before the signal.
pub(crate) fn is_wrapped(line: &str, next: &str) -> bool {
    line.contains(" noticed that process rank ")
        && line.trim_end().ends_with(" exited on")
        && next.trim_start().starts_with("signal ")
}

/// Whether a line shows that a log is one of nccl-tests although nothing else does.
pub(crate) fn is_of_a_test(line: &str) -> bool {
    ["Test NCCL failure ", "Test CUDA failure ", ": Test timeout ("].iter().any(|words| line.contains(words))
}

/// The host that a line names.
fn host(line: &str, small: &str, sign: &Sign) -> Option<String> {
    let rest = match sign.host {
        "-" => return None,
        // ` .. HOST pid N: Test failure` and `HOST: Test NCCL failure`.
        "" => line.trim_start_matches(['.', ' ']),
        word => {
            let at = small.find(word)? + word.len();
            // Letters of other scripts may change their length when they become small.
            line.get(at..)?
        }
    };
    let name = rest.split([' ', ':', ',', '\t']).next().unwrap_or_default().trim_end_matches('.');
    // Slurm writes several hosts as a list in brackets.
    let one =
        !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "-._".contains(letter));
    (one && input::is_whole(name)).then(|| name.to_owned())
}

/// A line for a message: its beginning.
pub(crate) fn shortened(line: &str) -> String {
    line.trim().chars().take(LINE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tests_and_launchers_tell_how_it_ended_and_who_it_was() {
        let told = |line: &str| said(line).map(|said| (said.end, said.host, said.own));
        let host = |name: &str| Some(name.to_owned());
        for (line, wanted) in [
            (
                "gpu-7: Test NCCL failure alltoall.cu:274 'remote process exited or there was a network error / '",
                (NcclTestEnd::Died, host("gpu-7"), false),
            ),
            (" .. gpu-7 pid 340134: Test failure common.cu:484", (NcclTestEnd::Died, host("gpu-7"), false)),
            ("n1: Test CUDA failure common.cu:1005 'out of memory'", (NcclTestEnd::Died, host("n1"), true)),
            ("n1.a.b: Test timeout (60s) common.cu:300", (NcclTestEnd::Hung, host("n1.a.b"), false)),
            (
                "slurmstepd: error: *** STEP 71.0 ON n3 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***",
                (NcclTestEnd::Hung, host("n3"), false),
            ),
            (
                "slurmstepd: error: Detected 1 oom_kill event in StepId=71.0.",
                (NcclTestEnd::Died, None, false),
            ),
            ("srun: error: n3: task 1: Killed", (NcclTestEnd::Died, host("n3"), false)),
            ("srun: error: n[3-4]: tasks 0-1: Exited with exit code 3", (NcclTestEnd::Died, None, false)),
            (
                "mpirun noticed that process rank 1 with PID 0 on node n4 exited on signal 9 (Killed).",
                (NcclTestEnd::Died, host("n4"), true),
            ),
            ("ssh: connect to host n5 port 22: Connection refused", (NcclTestEnd::Died, host("n5"), true)),
            ("Killed", (NcclTestEnd::Died, None, false)),
        ] {
            assert_eq!(told(line), Some(wanted), "{line}");
        }
        for line in ["n1:12:34 [0] NCCL INFO Bootstrap: Using eth0", "Loading modules", "# size count", ""] {
            assert_eq!(told(line), None, "{line}");
        }
    }
}
