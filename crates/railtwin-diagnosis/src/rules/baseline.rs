//! How long probes take when all is well: per path, loaded and unloaded apart (Meta RoCE section 6.4.1).
use std::collections::BTreeMap;

use railtwin_records::{Batch, Directory, FlowInfo};

use crate::robust::{median, spread};
use crate::rules::limits::Limits;

/// What names a path across runs and directories.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PathKey {
    /// Name of the sending NIC.
    pub source_nic: String,
    /// Name of the receiving NIC.
    pub target_nic: String,
    /// Port of the sending NIC.
    pub nic_port: u32,
    /// UDP source port, which chooses the path.
    pub source_port: u16,
}

impl PathKey {
    /// The key of a flow.
    pub fn of(flow: &FlowInfo) -> Self {
        Self {
            source_nic: flow.source_nic.clone(),
            target_nic: flow.target_nic.clone(),
            nic_port: flow.nic_port,
            source_port: flow.source_port,
        }
    }
}

/// Baselines as plain columns, sorted by path and then unloaded before loaded, so that a table of them reads and
/// writes without further ado.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BaselineStore {
    /// Paths.
    pub path: Vec<PathKey>,
    /// Whether it holds under load.
    pub loaded: Vec<bool>,
    /// Median delay in nanoseconds.
    pub median_ns: Vec<f64>,
    /// Robust standard deviation of delay in nanoseconds.
    pub spread_ns: Vec<f64>,
}

impl BaselineStore {
    /// What the probes of a record took, path by path: of those that were answered in [`Limits::rounds`] rounds at
    /// least under the same load, as fewer tell no spread.
    ///
    /// Queues under load come and go, so that delays are far from any bell: the spread is one of which `deviations`
    /// cover every median of so many rounds in a row that the record has.
    pub fn of(directory: &Directory, batch: &Batch, limits: &Limits, deviations: f64) -> Self {
        let probes = &batch.probes;
        let mut delays: BTreeMap<(PathKey, bool), Vec<f64>> = BTreeMap::new();
        for row in 0..probes.len() {
            let Some(flow) = directory.flows.get(probes.flow[row] as usize) else { continue };
            if probes.delay_ns[row] > 0 && probes.lost[row] < probes.sent[row] {
                let of_path = delays.entry((PathKey::of(flow), probes.loaded[row])).or_default();
                of_path.push(probes.delay_ns[row] as f64);
            }
        }
        let mut store = Self::default();
        for ((path, loaded), mut delays) in delays {
            let rounds = limits.rounds.max(1);
            if delays.len() < rounds {
                continue;
            }
            let medians = delays.windows(rounds).filter_map(|row| median(&mut row.to_vec()));
            let highest = medians.fold(0.0, f64::max);
            if let Some((median_ns, spread_ns)) = spread(&mut delays) {
                let strayed = (highest - median_ns) / deviations.max(f64::MIN_POSITIVE);
                store.set(path, loaded, median_ns, spread_ns.max(strayed));
            }
        }
        store
    }

    /// Number of baselines.
    pub fn len(&self) -> usize {
        self.path.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.path.is_empty()
    }

    /// The row of a baseline, or where it would stand.
    fn row(&self, path: &PathKey, loaded: bool) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match (&self.path[middle], self.loaded[middle]).cmp(&(path, loaded)) {
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// Median and robust standard deviation of a path's delay in nanoseconds.
    pub fn get(&self, path: &PathKey, loaded: bool) -> Option<(f64, f64)> {
        let row = self.row(path, loaded).ok()?;
        Some((self.median_ns[row], self.spread_ns[row]))
    }

    /// Sets a baseline.
    pub fn set(&mut self, path: PathKey, loaded: bool, median_ns: f64, spread_ns: f64) {
        match self.row(&path, loaded) {
            Ok(row) => (self.median_ns[row], self.spread_ns[row]) = (median_ns, spread_ns),
            Err(row) => {
                self.path.insert(row, path);
                self.loaded.insert(row, loaded);
                self.median_ns.insert(row, median_ns);
                self.spread_ns.insert(row, spread_ns);
            }
        }
    }
}
