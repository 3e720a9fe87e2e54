//! Subjects of commits: one line of at most 72 characters.

use std::path::Path;
use std::process::Command;

/// Characters that a subject may have.
pub const LIMIT: usize = 72;

/// Returns the commits after `base` whose subject is too long, merges left out; none where `base` is not in the clone.
pub fn long_subjects(root: &Path, base: &str) -> Option<Vec<String>> {
    let range = format!("{base}..HEAD");
    let log = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["log", "--no-merges", "--format=%h %s", &range])
        .output();
    let log = log.ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&log.stdout);
    let long = text.lines().filter_map(|line| {
        let (hash, subject) = line.split_once(' ')?;
        let length = subject.chars().count();
        (length > LIMIT).then(|| format!("{hash}: {length} characters: {subject}"))
    });
    Some(long.collect())
}
