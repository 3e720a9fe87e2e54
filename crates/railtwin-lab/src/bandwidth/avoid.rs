//! How soon connections leave a link that drops everything and tells nobody.
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use railtwin_fabric::LinkId;

use crate::host::{LabError, now_ns};
use crate::master::{MasterHandle, NoteKind};
use crate::plant::{Drop, Plant, drop_packets, stop_dropping};

/// Time for connections to leave a link, ns.
const LIMIT_NS: u64 = 5_000_000_000;
/// Time behind a fault until the prober holds the link for sound again, s.
const CLEAN_S: f64 = 1.2;

/// A link that was silent, and how soon it was left.
#[derive(Clone, Debug, PartialEq)]
pub struct Avoidance {
    /// The link.
    pub link: LinkId,
    /// Connections that took it.
    pub lanes: usize,
    /// Time from the fault until the last of them went on over another path, s; none where one did not.
    pub seconds: Option<f64>,
}

/// Silences a link from a leaf to a spine so many times, each time one that most connections take, while jobs run under a
/// master that probes.
///
/// # Errors
/// The master has ended, or `tc` fails.
pub fn avoid(plant: &Plant, master: &MasterHandle, samples: u32) -> Result<Vec<Avoidance>, LabError> {
    let mut all = Vec::new();
    for sample in 0..samples {
        // Surveys come in a fixed rhythm; faults at moments that differ by a part of it see all of it.
        let part = f64::from(sample) / f64::from(samples.max(1));
        std::thread::sleep(Duration::from_secs_f64(CLEAN_S + 0.2 * part));
        let mut uses: BTreeMap<LinkId, BTreeSet<usize>> = BTreeMap::new();
        for path in master.paths()? {
            for link in path.links.into_iter().filter(|&link| is_uplink(plant, link)) {
                uses.entry(link).or_default().insert(path.row);
            }
        }
        let Some((&link, rows)) = uses.iter().max_by_key(|(_, rows)| rows.len()) else {
            return Err(LabError("no connection takes a link from a leaf to a spine".into()));
        };
        let Some([end, _]) = plant.ends(link) else { return Err(LabError("the link has no ends".into())) };
        let at_ns = now_ns();
        drop_packets(&end.node, &end.interface, Drop::All)?;
        let seconds = left(master, at_ns, rows);
        stop_dropping(&end.node, &end.interface)?;
        all.push(Avoidance { link, lanes: rows.len(), seconds: seconds? });
    }
    Ok(all)
}

fn is_uplink(plant: &Plant, link: LinkId) -> bool {
    let tier = |device| plant.fabric.place(device).map(|place| place.tier);
    tier(plant.fabric.source(link)) == Some(1) && tier(plant.fabric.target(link)) == Some(2)
}

/// Time until connections, by row, have moved.
fn left(master: &MasterHandle, at_ns: u64, rows: &BTreeSet<usize>) -> Result<Option<f64>, LabError> {
    while now_ns() < at_ns + LIMIT_NS {
        let mut moved: BTreeMap<usize, u64> = BTreeMap::new();
        for note in master.notes().iter().filter(|note| note.at_ns >= at_ns) {
            if let NoteKind::Moved(row) = note.kind {
                moved.entry(row).or_insert(note.at_ns);
            }
        }
        if rows.iter().all(|row| moved.contains_key(row)) {
            let last = rows.iter().filter_map(|row| moved.get(row)).max();
            return Ok(last.map(|last| (last - at_ns) as f64 / 1e9));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(None)
}
