//! Calls of the command with captured streams, and the scenarios of the tests.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and writes files")]
use std::path::{Path, PathBuf};

use railtwin_cli::{Streams, run};
use serde_json::Value;

/// What a call came to.
pub struct Outcome {
    pub status: u8,
    pub out: String,
    pub notes: String,
}

impl Outcome {
    /// Standard output as JSON; anything else beside it fails.
    #[allow(dead_code, reason = "each test file is a program of its own")]
    pub fn json(&self) -> Value {
        assert_eq!(self.status, 0, "{}", self.notes);
        serde_json::from_str(&self.out).unwrap()
    }

    /// Asserts one error with these words in it, and status 2.
    #[allow(dead_code, reason = "each test file is a program of its own")]
    pub fn assert_refused(&self, words: &[&str]) {
        let pieces = self.notes.split_whitespace().filter(|piece| *piece != "│");
        let notes = pieces.collect::<Vec<_>>().join(" ");
        assert_eq!(self.status, 2, "{notes}");
        assert_eq!(self.out, "");
        let errors = self.notes.lines().filter(|line| line.starts_with("  × ")).count();
        assert_eq!(errors, 1, "one error:\n{}", self.notes);
        for word in words {
            assert!(notes.contains(word), "{word:?} is missing:\n{}", self.notes);
        }
    }
}

/// The command as a file.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_railtwin");

/// Calls the command's library; sweeps start processes of the command itself.
pub fn railtwin(args: &[&str]) -> Outcome {
    railtwin_as(PROGRAM, args)
}

/// The same, with another program for the processes of sweeps.
pub fn railtwin_as(program: &str, args: &[&str]) -> Outcome {
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    let args = std::iter::once(program).chain(args.iter().copied());
    let mut streams = Streams { out: &mut out, notes: &mut notes };
    let status = run(args.map(Into::into), &mut streams);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { status, out: text(out), notes: text(notes) }
}

/// A small fabric and an all-reduce over it; `more` are further lines.
#[allow(dead_code, reason = "each test file is a program of its own")]
pub fn small(name: &str, more: &str) -> String {
    format!(
        "schema = 1\nname = \"{name}\"\n\n[fabric]\npreset = \"leaf-spine\"\n\n[[job]]\nhosts = 2\n\
         collective = {{ kind = \"all-reduce\", bytes = \"64 MiB\" }}\n\n{more}"
    )
}

/// Writes a file into a folder.
#[allow(dead_code, reason = "each test file is a program of its own")]
pub fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    shown(&path)
}

/// A path as an argument.
pub fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// The run folder that a call of `run --json` or `sweep --json` names for a point.
#[allow(dead_code, reason = "each test file is a program of its own")]
pub fn folder_of(answer: &Value, point: usize) -> PathBuf {
    PathBuf::from(answer["runs"][point]["folder"].as_str().unwrap())
}
