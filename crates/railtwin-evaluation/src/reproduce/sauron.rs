//! SAURON: its Table 1 beside pairs of hosts, and what follows from its tables and equations.
use railtwin_engine::intranode::{PcieSpec, modelled_throughput, traffic_overhead};
use railtwin_fabric::HostId;
use railtwin_fabric::preset::Rlft;
use railtwin_scenario::SweepPoint;
use railtwin_store::Figure;
use rayon::prelude::*;

use super::paper;
use super::sweep::Set;

/// Sizes of Table 1, bytes.
const SIZES: [u64; 16] = [
    128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576,
    2_097_152, 4_194_304,
];

/// One test of Table 1.
struct Measured {
    name: &'static str,
    scenario: &'static str,
    /// GB/s: printed as GiB/s, which would be more than the link carries.
    bandwidth: [f64; 16],
    /// us.
    latency: [f64; 16],
}

/// Table 1: two hosts of a real cluster.
const TABLE: [Measured; 3] = [
    Measured {
        name: "write",
        scenario: "sauron-ib-write",
        bandwidth: [
            0.44, 0.87, 1.75, 3.30, 7.35, 11.02, 11.58, 11.53, 11.60, 11.62, 11.90, 11.92, 11.93, 11.93,
            11.93, 11.86,
        ],
        latency: [
            1.12, 1.56, 1.58, 1.70, 1.95, 2.46, 2.84, 3.88, 5.41, 8.06, 13.39, 24.27, 45.73, 88.95, 174.65,
            345.97,
        ],
    },
    Measured {
        name: "read",
        scenario: "sauron-ib-read",
        bandwidth: [
            0.37, 0.79, 1.51, 2.74, 6.63, 9.90, 11.38, 11.78, 11.80, 11.81, 12.09, 12.09, 12.09, 12.09,
            12.06, 12.03,
        ],
        latency: [
            2.03, 2.07, 2.02, 2.15, 2.43, 2.88, 3.40, 4.28, 5.68, 8.38, 13.66, 24.25, 45.40, 87.73, 173.31,
            343.93,
        ],
    },
    Measured {
        name: "send",
        scenario: "sauron-ib-send",
        bandwidth: [
            0.41, 0.77, 1.64, 3.10, 6.22, 11.00, 11.55, 11.63, 11.67, 11.60, 11.90, 11.93, 11.92, 11.93,
            11.94, 11.94,
        ],
        latency: [
            1.20, 1.59, 1.64, 1.77, 2.02, 2.56, 2.94, 3.86, 5.32, 7.97, 13.25, 24.10, 45.41, 88.46, 173.74,
            344.31,
        ],
    },
];

/// How far bandwidths and latencies of a pair of hosts are from Table 1, as shares. Latency at 128 B is left out: the
/// adapter sends such a message inline with its work request, which the model has not.
pub(super) fn pairs(set: &Set) -> Vec<Figure> {
    let mut figures = Vec::new();
    for test in &TABLE {
        let question = paper(test.scenario, set);
        let points = question.points().expect("a test reads it");
        let run = |point: &SweepPoint| {
            let asked = question.intranode(&point.scenario, 1).expect("a test resolves it");
            let size = asked.spec.message.0;
            let row = SIZES.iter().position(|&known| known == size).expect("a size of the table");
            let figures = asked.figures(&asked.run());
            let value = |name: &str| figures.iter().find(|figure| figure.name == name)?.value;
            (row, value("bandwidth"), value("inter_latency"))
        };
        let all: Vec<_> = points.par_iter().map(run).panic_fuse().collect();
        let mut errors: [Vec<(usize, f64)>; 2] = Default::default();
        for (row, bandwidth, latency) in all {
            let of = |ours: f64, paper: f64| (ours / paper - 1.0).abs();
            errors[0].extend(bandwidth.map(|ours| (row, of(ours * 1e-9, test.bandwidth[row]))));
            errors[1].extend(latency.map(|ours| (row, of(ours * 1e6, test.latency[row]))));
        }
        errors[1].retain(|&(row, _)| SIZES[row] > 128);
        for (what, errors) in ["bandwidth", "latency"].into_iter().zip(&errors) {
            let mean = errors.iter().map(|(_, error)| error).sum::<f64>() / errors.len() as f64;
            let most = errors.iter().map(|(_, error)| *error).fold(0.0, f64::max);
            figures.push(Figure::new(&format!("{}_{what}_error_mean", test.name), mean, "ratio"));
            figures.push(Figure::new(&format!("{}_{what}_error_most", test.name), most, "ratio"));
        }
    }
    figures
}

/// What follows from tables and equations without a run; rates in Gbps.
pub(super) fn arithmetic() -> Vec<Figure> {
    let pcie = PcieSpec::default();
    let overhead = traffic_overhead((20, 128), (64, 4032));
    // The paper computes with the overhead rounded.
    let modelled = |adjustment, hosts| modelled_throughput(adjustment, 1.14, 20.0, hosts).round();
    let mut figures = Vec::new();
    let mut add = |name: &str, value: f64| figures.push(Figure::new(name, value, ""));
    add("pcie_gen3_x16_raw", 8.0 * f64::from(pcie.lanes));
    add("pcie_gen3_x16", pcie.rate().gbps());
    add("traffic_overhead", overhead);
    add("fitted_128_hosts", modelled(15703.9, 128.0));
    add("computed_128_hosts", modelled(16384.0, 128.0));
    add("computed_512_hosts", modelled(16384.0, 512.0));
    add("computed_share", modelled(16384.0, 128.0) / (512.0 * 8.0 * 128.0));
    for (ports, hosts) in [(8, 32), (16, 128), (32, 512)] {
        let fabric = Rlft { ports, ..Rlft::default() }.build().expect("a test builds it");
        add(&format!("switches_{hosts}_hosts"), fabric.switches().len() as f64);
        add(&format!("hosts_{ports}_ports"), fabric.hosts().len() as f64);
    }
    figures.extend(limits());
    figures
}

/// What the links of all GPUs and the NICs of all hosts carry at most, Gbps: of the hosts that the runs have.
fn limits() -> [Figure; 2] {
    let question = paper("sauron-scale-up", &Set::default());
    let points = question.points().expect("a test reads it");
    let fastest = |point: &&SweepPoint| point.label.iter().any(|(_, value)| value == "512 Gbps");
    let point = points.iter().find(fastest).expect("a test reads it");
    let asked = question.intranode(&point.scenario, 1).expect("a test resolves it");
    let fabric = question.fabric(&point.scenario).expect("a test resolves it");
    let hosts = (0..fabric.hosts().len()).map(|host| fabric.host_model(HostId::from_index(host)));
    let nics: f64 = hosts.map(|host| host.backend_capacity().gbps()).sum();
    [Figure::new("peak_8_gpus_512", asked.capacity * 1e-9, ""), Figure::new("nic_limit", nics, "")]
}
