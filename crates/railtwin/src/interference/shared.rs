//! Links that several jobs use, of the network and inside hosts, and how much of them the jobs would like to have.
use std::collections::BTreeMap;

use railtwin_engine::Case;
use railtwin_engine::choose::{ChosenPaths, View};
use railtwin_engine::lower::Lowering;
use railtwin_fabric::{CableClass, LinkId};
use railtwin_routing::LinkMask;
use railtwin_workload::PatternId;

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

/// Links that several jobs use on the paths of the first draw, those most asked for first; `periods` are seconds of a step
/// alone by job.
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
    for (link, job, carried) in inside_hosts(case, &lowering, &paths) {
        *bytes.entry(link).or_default().entry(job).or_default() += carried;
    }
    let shared = |(link, by_job): (LinkId, BTreeMap<usize, f64>)| {
        let headers = if case.fabric.is_network(link) { case.wire_share } else { 1.0 };
        let capacity = case.fabric.capacity(link).bytes_per_s() * headers;
        let asked = by_job.iter().map(|(&job, bytes)| bytes / periods[job] / capacity).collect();
        (by_job.len() > 1).then(|| SharedLink { link, jobs: by_job.into_keys().collect(), asked })
    };
    let mut links: Vec<SharedLink> = bytes.into_iter().filter_map(shared).collect();
    links.sort_by(|a, b| b.all().total_cmp(&a.all()).then(a.link.cmp(&b.link)));
    links
}

/// What each job puts on links inside hosts in a step, in order of patterns and bundles.
fn inside_hosts(case: &Case, lowering: &Lowering<'_>, paths: &ChosenPaths) -> Vec<(LinkId, usize, f64)> {
    let table = lowering.table_on(paths, false).0;
    let mut carried = Vec::new();
    if table.is_dynamic() {
        return carried;
    }
    let mut pattern = 0;
    for (job, graph) in case.work.jobs.iter().enumerate() {
        for bytes in graph.plan.bytes_by_pattern() {
            for bundle in table.bundles_of(PatternId::from_index(pattern)) {
                let links = table.links_of(bundle).filter(|(link, _)| !case.fabric.is_network(*link));
                carried.extend(links.map(|(link, share)| (link, job, bytes * table.volume[bundle] * share)));
            }
            pattern += 1;
        }
    }
    carried
}
