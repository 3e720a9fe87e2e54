//! Small clusters with five jobs, as the Crux paper draws its 1,500 cases (section 4.4), and all that it leaves open.
use railtwin_control::crux::contention::Start;
use railtwin_control::crux::demand::Demand;
use railtwin_control::crux::tenants::{Candidate, SharedLink, Tenant, Tenants, Transfer};
use railtwin_units::{Bytes, Rate, SimTime, stream};
use rand::RngExt;
use rand::seq::SliceRandom;

/// Jobs of a case.
const JOBS: usize = 5;
/// Spines of a case.
const SPINES: u32 = 2;
/// Most hosts of a case.
const HOSTS_MOST: u32 = 20;
/// GPUs of a host.
const GPUS: u32 = 8;
/// Four NICs of 200 Gbps, as the hosts of the paper's testbed have.
const HOST_RATE: Rate = Rate::from_gbps(4 * 200);
/// Shortest and longest computation of a step: of a small vision model to the paper's GPT of 1.5 s a step.
const COMPUTE: [f64; 2] = [0.1, 1.5];

/// What the paper does not say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// Oversubscription of leaves, one of these by lot.
    pub(super) oversubscription: &'static [u32],
    /// Least and most communication of a step alone over its computation.
    pub(super) ratio: [f64; 2],
    /// Least and most share of the computation after which communication begins.
    pub(super) overlap_from: [f64; 2],
    /// Window in longest steps of the case.
    pub(super) steps: f64,
    /// Jobs begin anywhere in their steps; else all are ready to communicate at once, as in the paper's examples.
    pub(super) phases: bool,
}

/// The ranges of the paper's own examples: communication of 0.25 to 1.5 of the computation, from half of it or from its
/// end.
const OURS: Setting = Setting {
    oversubscription: &[1, 2, 4],
    ratio: [0.25, 1.5],
    overlap_from: [0.5, 1.0],
    steps: 40.0,
    phases: true,
};

/// Ours first, then others that are as reasonable.
pub(super) const SETTINGS: &[(&str, Setting)] = &[
    ("ours", OURS),
    ("one-to-one", Setting { oversubscription: &[1], ..OURS }),
    ("two-to-one", Setting { oversubscription: &[2], ..OURS }),
    ("four-to-one", Setting { oversubscription: &[4], ..OURS }),
    ("little-traffic", Setting { ratio: [0.1, 0.5], ..OURS }),
    ("much-traffic", Setting { ratio: [0.5, 4.0], ..OURS }),
    ("no-overlap", Setting { overlap_from: [1.0, 1.0], ..OURS }),
    ("half-overlap", Setting { overlap_from: [0.5, 0.5], ..OURS }),
    ("all-ready", Setting { phases: false, ..OURS }),
    ("long-window", Setting { steps: 120.0, ..OURS }),
];

/// A case.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) tenants: Tenants,
    pub(super) start: Start,
    /// Seconds.
    pub(super) window: f64,
}

/// Case `number` of `seed`.
pub(super) fn draw(setting: &Setting, seed: u64, number: u32) -> Drawn {
    let mut stream = stream::named(seed, &format!("crux-case-{number}"));
    let leaves: u32 = stream.random_range(2..=4);
    // Two hosts at least for each job, or it has no traffic.
    let per_leaf = stream.random_range((2 * JOBS as u32).div_ceil(leaves)..=HOSTS_MOST / leaves);
    let oversubscription = setting.oversubscription[stream.random_range(0..setting.oversubscription.len())];
    let up = Rate::from_bits_per_s(
        u64::from(per_leaf) * HOST_RATE.bits_per_s() / u64::from(SPINES * oversubscription),
    );
    let mut links = Vec::new();
    for leaf in 0..leaves {
        for spine in 0..SPINES {
            links.push(SharedLink::new(&format!("leaf-{leaf}:up-{spine}"), up));
            links.push(SharedLink::new(&format!("spine-{spine}:down-{leaf}"), up));
        }
    }
    let (up_of, down_of) = (
        |leaf: u32, spine: u32| 2 * (leaf * SPINES + spine),
        |leaf: u32, spine: u32| 2 * (leaf * SPINES + spine) + 1,
    );
    // Hosts are given out by lot, as a cluster is after a while: two to each job, the others to a job or to nobody.
    let mut hosts: Vec<u32> = (0..leaves * per_leaf).collect();
    hosts.shuffle(&mut stream);
    let mut of: Vec<Vec<u32>> = vec![Vec::new(); JOBS + 1];
    for (place, &host) in hosts.iter().enumerate() {
        let job = if place < 2 * JOBS { place / 2 } else { stream.random_range(0..=JOBS) };
        of[job].push(host);
    }
    let mut between = |[least, most]: [f64; 2]| least + (most - least) * stream.random::<f64>();
    let (mut jobs, mut phases) = (Vec::new(), Vec::new());
    for (number, hosts) in of.into_iter().take(JOBS).enumerate() {
        let mut on: Vec<u32> = hosts.iter().map(|host| host / per_leaf).collect();
        on.sort_unstable();
        on.dedup();
        let nics = links.len() as u32;
        links.push(SharedLink::new(&format!("job-{number}:nics"), HOST_RATE));
        // Rings over the hosts in the order of their leaves, one for each NIC: every hop carries the same bytes, and one
        // hop leads from each leaf to the next.
        let candidate = |spine: u32| {
            let hops = on.iter().enumerate().filter(|_| on.len() > 1);
            let hops = hops
                .flat_map(|(place, &leaf)| [up_of(leaf, spine), down_of(on[(place + 1) % on.len()], spine)]);
            Candidate { links: std::iter::once(nics).chain(hops).collect(), source_port: None }
        };
        let slowest = if on.len() > 1 { HOST_RATE.min(up) } else { HOST_RATE };
        let compute = (between([COMPUTE[0].ln(), COMPUTE[1].ln()])).exp();
        let bytes = compute * between(setting.ratio) * slowest.bytes_per_s();
        let candidates = (0..if on.len() > 1 { SPINES } else { 1 }).map(candidate).collect();
        let transfers = vec![Transfer { bytes: Bytes(bytes as u64), candidates }];
        let (name, gpus) = (format!("job-{number}"), hosts.len() as u32 * GPUS);
        let alone = Tenant::new(&name, gpus, SimTime::from_seconds(compute), between(setting.overlap_from));
        jobs.push(Tenant { transfers, ..alone });
        phases.push(if setting.phases { between([0.0, 1.0]) } else { 0.0 });
    }
    let tenants = Tenants { links, jobs };
    let demand = Demand::of(&tenants, &tenants.first_paths());
    let begin = |(job, phase): (&railtwin_control::crux::demand::JobDemand, &f64)| {
        phase * job.step_alone() - job.ready
    };
    let start = Start(demand.jobs.iter().zip(&phases).map(begin).collect());
    let longest = demand.jobs.iter().map(|job| job.step_alone()).fold(0.0, f64::max);
    Drawn { tenants, start, window: setting.steps * longest }
}
