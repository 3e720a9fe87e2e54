//! Links of the network that several jobs use, and how much of them the jobs would like to have.
use std::collections::BTreeMap;

use railtwin_engine::Case;
use railtwin_engine::choose::View;
use railtwin_engine::lower::Lowering;
use railtwin_fabric::{CableClass, LinkId};
use railtwin_routing::LinkMask;

/// A link that several jobs use.
#[derive(Clone, PartialEq, Debug)]
pub struct SharedLink {
    /// The link.
    pub link: LinkId,
    /// Rows of the jobs, ascending.
    pub jobs: Vec<usize>,
    /// Share of its capacity that each of them takes on average when it is alone, in the order of `jobs`.
    pub asked: Vec<f64>,
}

impl SharedLink {
    /// Share of the capacity that all of them together would take.
    pub fn all(&self) -> f64 {
        self.asked.iter().sum()
    }
}

/// Links between devices of the network that several jobs use on the paths of the first draw, those most asked for
/// first; `periods` are seconds of a step alone by job.
pub(super) fn links(case: &Case, periods: &[f64]) -> Vec<SharedLink> {
    let lowering = Lowering::new(case, 0);
    let mask = LinkMask::none(&case.fabric);
    let paths = lowering.paths(View { mask: &mask, planned: &mask });
    let mut bytes: BTreeMap<LinkId, BTreeMap<usize, f64>> = BTreeMap::new();
    for one in lowering.connections().iter().filter(|one| one.bytes > 0.0) {
        let each = one.bytes / f64::from(one.count.max(1));
        for queue_pair in one.first..one.first + one.count {
            let path = paths.path(queue_pair);
            for (at, &link) in path.links.iter().enumerate() {
                if case.fabric.cable_class(link.cable()) >= CableClass::Access {
                    let part = path.parts.get(at).copied().unwrap_or(1.0);
                    *bytes.entry(link).or_default().entry(one.job as usize).or_default() += each * part;
                }
            }
        }
    }
    let shared = |(link, by_job): (LinkId, BTreeMap<usize, f64>)| {
        let capacity = case.fabric.capacity(link).bytes_per_s() * case.wire_share;
        let asked = by_job.iter().map(|(&job, bytes)| bytes / periods[job] / capacity).collect();
        (by_job.len() > 1).then(|| SharedLink { link, jobs: by_job.into_keys().collect(), asked })
    };
    let mut links: Vec<SharedLink> = bytes.into_iter().filter_map(shared).collect();
    links.sort_by(|a, b| b.all().total_cmp(&a.all()).then(a.link.cmp(&b.link)));
    links
}
