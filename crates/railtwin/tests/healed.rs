//! Dumps of a real job of 16 ranks in which two were broken: with one of the two put right, the other stands alone.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::collections::BTreeSet;
use std::path::Path;

use railtwin::diagnose::flight::dumps_of;
use railtwin_diagnosis::hang::dumps::{Dumps, findings_of_dumps};
use railtwin_formats::telemetry::FlightRecorderDump;

fn dumps(run: &str) -> Dumps {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry/flight_recorder").join(run);
    let read = |rank: u32| {
        let name = format!("_dump_{rank}");
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        FlightRecorderDump::parse(&name, &bytes, Some(rank)).unwrap()
    };
    dumps_of(&(0..16).map(read).collect::<Vec<_>>(), &BTreeSet::new(), &BTreeSet::new())
}

/// The same with a rank where another one is, in communicators of its own where the other's are for the same.
fn healed(mut dumps: Dumps, rank: u32, like: u32) -> Dumps {
    let groups = dumps.groups.clone();
    let of = |row: usize| {
        let known = &groups[row];
        let fits = |group: &&railtwin_diagnosis::hang::dumps::DumpedGroup| {
            group.description == known.description && group.ranks.contains(&rank)
        };
        match known.ranks.contains(&rank) {
            true => row,
            false => groups.iter().position(|group| fits(&group)).unwrap(),
        }
    };
    let mut other = dumps.dumps[like as usize].clone();
    other.rank = rank;
    other.operations.iter_mut().for_each(|operation| operation.group = of(operation.group));
    other.status = other.status.into_iter().map(|(row, told)| (of(row), told)).collect();
    dumps.dumps[rank as usize] = other;
    dumps
}

#[test]
fn one_whose_process_is_blind_stands_alone() {
    for (rank, like, left) in [(12, 13, 14), (14, 15, 12)] {
        let (findings, notes) = findings_of_dumps(&healed(dumps("gpu_error_1st"), rank, like), "job");
        let accused: Vec<(&str, f64)> = findings
            .iter()
            .filter(|finding| finding.accuses())
            .flat_map(|finding| finding.suspects.iter().map(|one| (one.component.name(), finding.confidence)))
            .collect();
        assert_eq!(accused, [(format!("job/{left}").as_str(), 0.8)], "{notes:?} {findings:#?}");
    }
}
