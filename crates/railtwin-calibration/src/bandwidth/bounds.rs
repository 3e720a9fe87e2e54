//! What hardware allows of a collective, as a bus bandwidth of nccl-tests.
//!
//! Every bound is a number of bytes that must pass a place, over what that place carries in one direction.
//! `S` is the size as nccl-tests prints it, `t` the time, `N` hosts of `g` GPUs each, `n = N g`;
//! `W` is what the NICs of a host carry that its `g` GPUs use, `w` what those of one GPU do, `V` the NVLink of a GPU.
//! Bus over algorithm bandwidth is as in the file `doc/PERFORMANCE.md` of nccl-tests.
use railtwin_engine::packet::Packets;
use railtwin_fabric::HostModel;

/// What an nccl-test measures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Operation {
    /// `all_reduce_perf`.
    AllReduce,
    /// `all_gather_perf`.
    AllGather,
    /// `reduce_scatter_perf`.
    ReduceScatter,
    /// `alltoall_perf`.
    AllToAll,
    /// `sendrecv_perf`: every rank sends to the next one and receives from the one before.
    SendReceive,
    /// `broadcast_perf`.
    Broadcast,
    /// `reduce_perf`.
    Reduce,
}

/// Programs of nccl-tests whose bounds are known, and names of what they measure.
const OPERATIONS: [(&str, &str, Operation); 7] = [
    ("all_reduce", "all-reduce", Operation::AllReduce),
    ("all_gather", "all-gather", Operation::AllGather),
    ("reduce_scatter", "reduce-scatter", Operation::ReduceScatter),
    ("alltoall", "all-to-all", Operation::AllToAll),
    ("sendrecv", "send/receive", Operation::SendReceive),
    ("broadcast", "broadcast", Operation::Broadcast),
    ("reduce", "reduce", Operation::Reduce),
];

impl Operation {
    /// What a program of nccl-tests measures, such as `all_reduce_perf`; none where no bound is known.
    pub fn of_program(program: &str) -> Option<Self> {
        let bare = program.strip_suffix("_perf").unwrap_or(program);
        OPERATIONS.into_iter().find(|(name, ..)| *name == bare).map(|(.., operation)| operation)
    }

    /// The one of a name, such as `all-reduce`.
    pub fn of_name(name: &str) -> Option<Self> {
        OPERATIONS.into_iter().find(|(_, own, _)| *own == name).map(|(.., operation)| operation)
    }

    /// Its name, such as `all-reduce`.
    pub fn name(self) -> &'static str {
        OPERATIONS.into_iter().find(|(.., operation)| *operation == self).map_or("", |(_, name, _)| name)
    }
}

/// What the collectives of a host pass through.
#[derive(Clone, PartialEq, Debug)]
pub struct HostRates {
    /// Name of the host model.
    pub model: String,
    /// GPUs.
    pub gpus: u32,
    /// Backend NICs.
    pub nics: u32,
    /// Payload of one NIC in one direction with all its ports, GB/s: its capacity less the headers of RoCE.
    pub nic_gb_per_s: f64,
    /// NVLink of one GPU in one direction, GB/s, without anything taken off; none without NVLink.
    pub nvlink_gb_per_s: Option<f64>,
    /// Whether the NVSwitch reduces (NVLS): from the third generation on, which came with Hopper.
    pub nvls: bool,
}

/// Host models whose NVSwitch does not reduce: those of A100.
const WITHOUT_NVLS: [&str; 2] = ["hgx-a100", "zion-ex"];

/// Share of a link's rate that is payload: RoCE v2 with packets of 4,096 B has 82 B of headers, preamble and gap beside
/// them, so 4,096 of 4,178 B.
pub fn payload_share() -> f64 {
    let packets = Packets::default();
    packets.payload.0 as f64 / packets.full() as f64
}

impl HostRates {
    /// The rates of a host model.
    pub fn of(model: &HostModel) -> Self {
        let capacity = model.nic.port_capacity.bytes_per_s() * f64::from(model.nic.ports);
        Self {
            model: model.name.clone(),
            gpus: model.gpus,
            nics: model.nics,
            nic_gb_per_s: capacity * payload_share() / 1e9,
            nvlink_gb_per_s: model.nvlink.map(|rate| rate.bytes_per_s() / 1e9),
            nvls: model.nvlink.is_some() && !WITHOUT_NVLS.contains(&model.name.as_str()),
        }
    }

    /// NICs of one GPU: those beside it, which are what NCCL gives it; one that it shares counts.
    fn of_gpu(&self) -> u32 {
        self.nics.div_ceil(self.gpus.max(1))
    }

    /// NICs that `gpus` GPUs of a host use.
    fn used(&self, gpus: u32) -> u32 {
        gpus.saturating_mul(self.of_gpu()).min(self.nics)
    }
}

/// What binds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The NICs of a host that its GPUs use, and how many those are.
    Nics(u32),
    /// The NICs of one GPU, and how many those are.
    OwnNics(u32),
    /// NVLink of a GPU.
    Nvlink,
    /// NVLink of a GPU, where the NVSwitch reduces.
    Nvls,
    /// NVLink and NICs of a GPU together.
    NvlinkAndNics,
}

impl Limit {
    /// In a few words, such as `8 NICs`.
    pub fn name(self) -> String {
        match self {
            Self::Nics(1) | Self::OwnNics(1) => "1 NIC".to_owned(),
            Self::Nics(count) => format!("{count} NICs"),
            Self::OwnNics(count) => format!("{count} NICs of a GPU"),
            Self::Nvlink => "NVLink".to_owned(),
            Self::Nvls => "NVLink, NVLS".to_owned(),
            Self::NvlinkAndNics => "NVLink + NICs".to_owned(),
        }
    }
}

/// A bus bandwidth that is not exceeded, and why not.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bound {
    /// Bus bandwidth, GB/s.
    pub gb_per_s: f64,
    /// What binds.
    pub by: Limit,
}

/// Bounds of a collective over hosts of one kind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    /// Line rate: what a ring is held to; of all-to-all and send/receive the same as `most`. NVLS and trees may exceed it.
    pub line_rate: Bound,
    /// What none of the algorithms of NCCL exceeds, unless switches of the network reduce (SHARP).
    pub most: Bound,
}

fn least(bounds: &[Bound]) -> Option<Bound> {
    let finite = bounds.iter().copied().filter(|bound| bound.gb_per_s.is_finite());
    finite.min_by(|a, b| a.gb_per_s.total_cmp(&b.gb_per_s))
}

/// The bounds of `operation` over `hosts` hosts with `gpus` ranks each, a rank for a GPU.
///
/// Sources: what must pass is counted from the definition of each collective; that all-reduce moves `2 S (N - 1)` between
/// `N` hosts at least is Patarasuk and Yuan 2009 (Bandwidth optimal all-reduce algorithms for clusters of workstations).
///
/// # Errors
/// Why there is none, in words.
pub fn bounds(operation: Operation, hosts: u32, gpus: u32, host: &HostRates) -> Result<Bounds, String> {
    if gpus > host.gpus {
        return Err(format!("a host {} has GPUs: {}, and not {gpus}", host.model, host.gpus));
    }
    let (n, g) = (f64::from(hosts) * f64::from(gpus), f64::from(gpus));
    if n < 2.0 {
        return Err("one GPU moves nothing".to_owned());
    }
    // Without NVLink nothing that is known here holds up what stays in a host.
    let nvlink = host.nvlink_gb_per_s.unwrap_or(f64::INFINITY);
    let found = match hosts {
        1 => within(operation, g, nvlink, host.nvls),
        _ => between(operation, hosts, gpus, nvlink, host),
    };
    let (line_rate, most) = found;
    match least(&line_rate).zip(least(&most)) {
        Some((line_rate, most)) => Ok(Bounds { line_rate, most }),
        None => Err(format!("{} has no NVLink", host.model)),
    }
}

/// Candidates for line rate and for the most, of which the least holds.
type Candidates = (Vec<Bound>, Vec<Bound>);

/// Within one host every byte goes over NVLink. Each GPU takes in `S (g - 1) / g`, with broadcast, reduce and
/// send/receive `S`, and twice as much with all-reduce: in all of them a bus bandwidth of `V`. With NVLS each GPU of an
/// all-reduce sends `S` into the reduction of the NVSwitch and `S / g` of results out of it, so `S (g + 1) / g`:
/// `V · 2 (g - 1) / (g + 1)`.
fn within(operation: Operation, g: f64, nvlink: f64, nvls: bool) -> Candidates {
    let line = Bound { gb_per_s: nvlink, by: Limit::Nvlink };
    let reduced = nvlink * 2.0 * (g - 1.0) / (g + 1.0);
    let most = match operation {
        Operation::AllReduce if nvls && reduced > nvlink => Bound { gb_per_s: reduced, by: Limit::Nvls },
        _ => line,
    };
    (vec![line], vec![most])
}

fn between(operation: Operation, hosts: u32, gpus: u32, nvlink: f64, host: &HostRates) -> Candidates {
    let (hosts, g) = (f64::from(hosts), f64::from(gpus));
    let n = hosts * g;
    // Shares of the ranks, and of the hosts, that are others.
    let (ranks_share, hosts_share) = ((n - 1.0) / n, (hosts - 1.0) / hosts);
    let used = host.used(gpus);
    let of_nics = f64::from(used) * host.nic_gb_per_s;
    // Ring: each edge carries the bus bandwidth; one edge in g of a GPU leaves the host.
    let on_ring = if gpus > 1 { nvlink * g / (g - 1.0) } else { f64::INFINITY };
    let nics = |gb_per_s: f64| Bound { gb_per_s, by: Limit::Nics(used) };
    let links = |gb_per_s: f64| Bound { gb_per_s, by: Limit::Nvlink };
    let both = Bound { gb_per_s: nvlink + of_nics / g, by: Limit::NvlinkAndNics };
    let ring = vec![nics(of_nics), links(on_ring)];
    match operation {
        Operation::AllReduce => {
            // Through the NVSwitch each GPU sends S of its own and S / g of results.
            let reduced = nvlink * 2.0 * ranks_share * g / (g + 1.0);
            let inside = match host.nvls && gpus > 1 && reduced > on_ring {
                true => Bound { gb_per_s: reduced, by: Limit::Nvls },
                false => links(on_ring),
            };
            (ring, vec![nics(of_nics * ranks_share / hosts_share), inside])
        }
        // S (N - 1) / N into each host, or out of it, and S (n - 1) / n into each GPU, or out of it.
        Operation::AllGather | Operation::ReduceScatter => {
            (ring, vec![nics(of_nics * ranks_share / hosts_share), both])
        }
        // S into each host and each GPU but the root's.
        Operation::Broadcast | Operation::Reduce => (ring, vec![nics(of_nics), both]),
        // g ranks send S / n to each of the n - g of other hosts, and to each of the g - 1 beside them.
        Operation::AllToAll => {
            let inside = if gpus > 1 { nvlink * (n - 1.0) / (g - 1.0) } else { f64::INFINITY };
            let all = vec![nics(of_nics * ranks_share / (g * hosts_share)), links(inside)];
            (all.clone(), all)
        }
        // One message of S at least leaves each host, by the NIC of its GPU.
        Operation::SendReceive => {
            let own = host.of_gpu();
            let by_own = Bound { gb_per_s: f64::from(own) * host.nic_gb_per_s, by: Limit::OwnNics(own) };
            let inside = links(if gpus > 1 { nvlink } else { f64::INFINITY });
            (vec![by_own, inside], vec![by_own, inside])
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(operation: Operation, hosts: u32, gpus: u32, model: &HostModel) -> (f64, f64) {
        let found = bounds(operation, hosts, gpus, &HostRates::of(model)).expect("a bound");
        (found.line_rate.gb_per_s, found.most.gb_per_s)
    }

    #[track_caller]
    fn assert_near(ours: (f64, f64), by_hand: (f64, f64)) {
        assert!(
            (ours.0 - by_hand.0).abs() < 0.01 && (ours.1 - by_hand.1).abs() < 0.01,
            "{ours:?} {by_hand:?}"
        );
    }

    /// 400 Gbps = 50 GB/s, 4,096 of 4,178 B of which are payload.
    #[test]
    fn a_nic_of_400_gbps_gives_49_gb_per_s() {
        let host = HostModel::hgx_h100();
        for operation in OPERATIONS.map(|(.., operation)| operation) {
            for hosts in [2, 10] {
                assert_near(of(operation, hosts, 1, &host), (49.0187, 49.0187));
            }
        }
    }

    /// By hand, with W = 8 · 49.0187 = 392.149 and V = 450.
    #[test]
    fn hosts_of_eight_gpus_by_hand() {
        use Operation::{AllGather, AllReduce, AllToAll, Broadcast, ReduceScatter, SendReceive};
        let host = HostModel::hgx_h100();
        // Two hosts: 392.149 · (15/16) / (1/2); the ring stays at the NICs.
        assert_near(of(AllReduce, 2, 8, &host), (392.149, 735.280));
        // NVLink and NIC of a GPU: 450 + 49.0187.
        assert_near(of(AllGather, 2, 8, &host), (392.149, 499.0187));
        // Ten hosts: 392.149 · (79/80) / (9/10).
        assert_near(of(ReduceScatter, 10, 8, &host), (392.149, 430.275));
        // Two hosts: 8 ranks send S/16 to each of 8: 4 S; 392.149 / 4 · 15/16.
        assert_near(of(AllToAll, 2, 8, &host), (91.910, 91.910));
        // Ten hosts: 8 · S · 9/10 = 7.2 S; 392.149 / 7.2 · 79/80.
        assert_near(of(AllToAll, 10, 8, &host), (53.784, 53.784));
        assert_near(of(SendReceive, 10, 8, &host), (49.0187, 49.0187));
        assert_near(of(Broadcast, 10, 8, &host), (392.149, 392.149));
    }

    /// One host: V, and with NVLS V · 2 · 7 / 9.
    #[test]
    fn within_a_host_nvls_is_above_line_rate() {
        let host = HostModel::hgx_h100();
        assert_near(of(Operation::AllReduce, 1, 8, &host), (450.0, 700.0));
        assert_near(of(Operation::AllReduce, 1, 2, &host), (450.0, 450.0));
        assert_near(of(Operation::AllToAll, 1, 8, &host), (450.0, 450.0));
        assert_near(of(Operation::AllReduce, 1, 8, &HostModel::hgx_a100()), (300.0, 300.0));
        // NVLink of 200 GB/s holds a ring up before 8 NICs do: 200 · 8 / 7.
        assert_near(of(Operation::AllReduce, 4, 8, &HostModel::hgx_h800()), (228.571, 344.444));
    }

    #[test]
    fn what_has_no_bound_says_why() {
        let host = HostRates::of(&HostModel::hgx_h100());
        assert!(bounds(Operation::AllReduce, 1, 1, &host).expect_err("one GPU").contains("one GPU"));
        assert!(
            bounds(Operation::AllReduce, 2, 16, &host).expect_err("too many").contains("GPUs: 8, and not 16")
        );
        assert_eq!(Operation::of_program("gather_perf"), None);
        assert_eq!(Operation::of_program("sendrecv_perf").map(Operation::name), Some("send/receive"));
    }

    proptest! {
        #[test]
        fn line_rate_is_never_above_the_most(
            which in 0..OPERATIONS.len(), hosts in 1..5_000_u32, gpus in 1..17_u32, nics in 1..33_u32,
            nvlink in proptest::option::of(1..10_000_u64), name in 0..HostModel::NAMES.len(),
        ) {
            let named = HostModel::named(HostModel::NAMES[name]).expect("a model");
            let nvlink = nvlink.map(railtwin_units::Rate::from_gbps);
            let model = HostModel { gpus: 16, nics, nvlink, ..named };
            if let Ok(found) = bounds(OPERATIONS[which].2, hosts, gpus, &HostRates::of(&model)) {
                prop_assert!(found.line_rate.gb_per_s > 0.0 && found.most.gb_per_s.is_finite());
                prop_assert!(found.line_rate.gb_per_s <= found.most.gb_per_s * (1.0 + 1e-12), "{:?}", found);
            }
        }
    }
}
