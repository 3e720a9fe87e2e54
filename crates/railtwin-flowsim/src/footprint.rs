//! What a run takes before it runs: bytes by the rows of a case, and roughly how long.
use std::mem::size_of;

use railtwin_engine::Extent;
use railtwin_units::SimTime;

use crate::phases::EXACT_WORK;
use crate::{filling, motion};

/// Nanoseconds for each link of a bundle: its path, its rows in tables, its rates, and all of that a second time for
/// the page. An all-to-all of 512 GPUs on `hpn` has 590,000 of them and takes 0.10 s.
const LINK_NS: f64 = 170.0;
/// Nanoseconds for each operation of a step: `llm-2300-gpus-hpn` has 41,042 and takes 0.07 s for them.
const OPERATION_NS: f64 = 1_700.0;
/// Nanoseconds for each link of a strand in one round of the search for rates: 4.3 s for 68 million of them.
const ROUND_NS: f64 = 60.0;
/// Bundles that end together, of an all-to-all over paths that hashes chose: between 3 and 45 of 4,032 to 16,256.
const ENDING_TOGETHER: f64 = 4.0;
/// Ranks whose exchange with storage ends together: those of a host share its way there, and several hosts are alike.
const STORED_TOGETHER: f64 = 32.0;
/// Phases of what is too large for one for each end: the time that is left falls by 1/128 in each, and the last bundles are few.
const JOINED: f64 = 300.0;

/// Most bytes that one replicate holds at once beside fabric and plan; `joined` where rank classes move as one.
pub fn bytes(extent: &Extent, joined: bool) -> f64 {
    let lowered = extent.lowered_bytes(false);
    let (bundles, links) = rows(extent, joined);
    let table = extent.lowering_bytes()
        + if joined { links * 12.0 + extent.strand_bytes() } else { extent.table_bytes() };
    let moving = if extent.dynamic {
        let strands = extent.strand_links() * 2.0 * (size_of::<u32>() + size_of::<f64>()) as f64;
        let phases = phases(extent, bundles);
        let phase =
            bundles * size_of::<f64>() as f64 + extent.flows as f64 * size_of::<(u32, f64)>() as f64 / 2.0;
        strands + phases * phase
    } else {
        // Constraints; then they once more within the pattern that runs its course, each with its filling.
        let entry = (size_of::<u32>() + size_of::<f64>()) as f64 + filling::BYTES_OF_ENTRY as f64;
        let bundle = (filling::BYTES_OF_VARIABLE + motion::BYTES_OF_BUNDLE) as f64;
        2.0 * (links * entry + bundles * bundle)
    };
    let times = extent.operations as f64 * (2 * size_of::<SimTime>() + 2 * size_of::<u32>()) as f64;
    lowered.max(table + moving) + times
}

/// Roughly the seconds of one replicate on one core.
pub fn seconds(extent: &Extent, joined: bool) -> f64 {
    let (bundles, _) = rows(extent, joined);
    let mut ns = extent.bundle_links() * LINK_NS + extent.operations as f64 * OPERATION_NS;
    if extent.dynamic {
        ns += phases(extent, bundles) * extent.strand_links() * ROUND_NS;
    } else {
        // Whenever hosts finish their exchange with storage, the rates of all that remain are found anew.
        let apart = extent.apart as f64;
        ns += (apart / STORED_TOGETHER) * apart * (extent.links_together + 2.0) * ROUND_NS;
    }
    ns * 1e-9
}

/// How often rates are searched for.
fn phases(extent: &Extent, bundles: f64) -> f64 {
    let apart = (bundles / ENDING_TOGETHER).max(1.0);
    if bundles * extent.strand_links() > EXACT_WORK as f64 { apart.min(JOINED) } else { apart }
}

/// Bundles that move and their links.
fn rows(extent: &Extent, joined: bool) -> (f64, f64) {
    let (bundles, links) = (extent.bundles as f64, extent.bundle_links());
    if joined {
        // What goes to storage stays rank by rank, with one edge each.
        let (patterns, apart) = (extent.patterns as f64, extent.apart as f64);
        let links_apart = apart * (extent.links_together + 2.0);
        let links = (links - links_apart).max(0.0).min(patterns * extent.links as f64);
        return (apart + (bundles - apart).min(patterns), links_apart + links);
    }
    (bundles, links)
}
