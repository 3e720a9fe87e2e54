//! A foreign partner: our LACP on two leaves that know nothing of each other, against the bond of Open vSwitch, with
//! traffic over it; a leaf that dies with its LACP and one that dies without; a host that tells its address to both.
//!
//! 1. [`respond`]: the state machine of a leaf's port over a packet socket, a process of its own.
//! 2. [`run`]: scene, checks, rows.
//!
//! The daemons of Open vSwitch, the leaves and the network are of private namespaces; [`lacks`] says what is missing.
mod arp;
mod checks;
mod host_thread;
mod packet;
mod partner;
mod record;
mod responder;
mod scene;
mod show;
mod simulated;
mod traffic;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::host::LabError;

pub use responder::{ResponderOptions, respond};

/// How to run the scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BondOptions {
    /// The command that calls [`respond`] with the words that follow it, such as this program and a flag.
    pub responder: Vec<OsString>,
    /// The file that a capture (pcapng) of the LACPDUs goes to; none where nobody wants it.
    pub capture: Option<PathBuf>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BondRow {
    /// Name of the check.
    pub name: String,
    /// The expected outcome, in words and figures.
    pub expected: String,
    /// The outcome.
    pub seen: String,
    /// Whether it is as expected.
    pub ok: bool,
}

/// The outcome of the scene.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BondReport {
    /// The partner and its version.
    pub partner: String,
    /// The checks in their order.
    pub rows: Vec<BondRow>,
}

impl BondReport {
    /// Whether all is as expected.
    pub fn is_good(&self) -> bool {
        self.rows.iter().all(|row| row.ok)
    }
}

impl fmt::Display for BondReport {
    /// A table in text, one line for each check.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |head: &str, of: fn(&BondRow) -> &str| {
            self.rows.iter().map(of).chain([head]).map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let name = width(&self.partner, |row| &row.name);
        let expected = width("expected", |row| &row.expected);
        writeln!(f, "{:name$}  {:expected$}  seen", self.partner, "expected")?;
        for row in &self.rows {
            let mark = if row.ok { "" } else { "  NOT AS EXPECTED" };
            writeln!(f, "{:name$}  {:expected$}  {}{mark}", row.name, row.expected, row.seen)?;
        }
        Ok(())
    }
}

/// The first requirement of the scene that this host lacks; none if it meets all.
pub fn lacks() -> Option<String> {
    if let Some(lack) = crate::lacks() {
        return Some(lack);
    }
    if !Path::new("/dev/net/tun").exists() {
        return Some("it needs /dev/net/tun, for the interface of the bond".into());
    }
    partner::Programs::find().err().map(|error| error.to_string())
}

/// Runs the scene, within private namespaces of the network, of mounts and of processes: when the first process of those
/// ends, nothing of it is left. `say` gets a line for each outcome at once. It takes about 20 s.
///
/// # Errors
/// A command fails, a daemon does not come up, or the capture cannot be written. An outcome that is not as expected is no
/// error.
pub fn run(options: &BondOptions, say: &mut dyn FnMut(&str)) -> Result<BondReport, LabError> {
    let programs = partner::Programs::find()?;
    let partner = programs.version()?;
    let (rows, capture) = checks::Checks::start(&programs, &options.responder, say)?.run()?;
    if let Some(path) = &options.capture {
        std::fs::write(path, capture).map_err(|error| LabError(format!("{}: {error}", path.display())))?;
    }
    Ok(BondReport { partner, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_marks_what_is_not_as_expected() {
        let row = |seen: &str| BondRow {
            name: "attached".into(),
            expected: "2".into(),
            seen: seen.into(),
            ok: seen == "2",
        };
        let mut report = BondReport { partner: "Open vSwitch 3.1.0".into(), rows: vec![row("2")] };
        assert!(report.is_good());
        report.rows.push(row("1"));
        assert!(!report.is_good());
        let text = report.to_string();
        assert_eq!(text.lines().filter(|line| line.ends_with("NOT AS EXPECTED")).count(), 1);
        assert!(text.contains("\nattached            2         1  NOT AS EXPECTED\n"), "{text}");
    }
}
