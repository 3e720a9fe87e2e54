//! Meta RoCE section 6.1: collectives tuned for a round trip of 22 us against what NCCL runs untuned, which takes the
//! network for one of less than 10 us. Paths, and an all-to-all other than NCCL's, are not in it.
use railtwin_fabric::HostModel;
use railtwin_store::Figure;
use railtwin_units::SimTime;
use railtwin_workload::{Algorithm, Collective, Group, Protocol};

use super::sweep::Set;
use railtwin_calibration::tune::{ASSUMED, Choice, Tuning};

/// Unloaded round trip of the paper's network.
const ROUND_TRIP: SimTime = SimTime::from_ns(22_000);
/// What senders waited for the receiver's word at the 90th percentile before it had priority and after.
const WAITS: [SimTime; 2] = [SimTime::from_ns(43_000), SimTime::from_ns(4_000)];
/// Hosts of 8 GPUs: the paper names no gang; 32 to 4,096 GPUs.
const HOSTS: [u32; 5] = [4, 16, 64, 256, 512];
const COLLECTIVES: [(Collective, &str); 3] = [
    (Collective::AllReduce, "all_reduce"),
    (Collective::AllGather, "all_gather"),
    (Collective::ReduceScatter, "reduce_scatter"),
];
/// Sizes as powers of two, 1 KiB to 16 GiB.
const SIZES: std::ops::RangeInclusive<u32> = 10..=34;

/// The hosts of a sweep: those of ours within its bounds.
fn hosts(set: &Set) -> impl Iterator<Item = u32> {
    let (least, most) = (set.number("hosts_least", 0.0), set.number("hosts_most", f64::INFINITY));
    HOSTS.into_iter().filter(move |&hosts| f64::from(hosts) >= least && f64::from(hosts) <= most)
}

fn tuning(collective: Collective, hosts: u32, round_trip: SimTime) -> Tuning {
    let host = HostModel::grand_teton();
    let group = Group::of(hosts, host.gpus);
    Tuning { collective, group, host, round_trip, caps: Vec::new() }
}

/// Times untuned over times tuned, by collective and of all: in a network without load; and where every crossing waits
/// for the receiver's word as senders did at the 90th percentile, with its priority untuned and tuned.
pub(super) fn gains(set: &Set) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (waits, tail) in [([SimTime::ZERO; 2], ""), (WAITS, "_with_waits")] {
        let round_trips = waits.map(|wait| ROUND_TRIP + wait);
        let mut all = Vec::new();
        for (collective, name) in COLLECTIVES {
            let mut own = Vec::new();
            for hosts in hosts(set) {
                let [before, after] = round_trips.map(|time| tuning(collective, hosts, time));
                own.extend(SIZES.map(|power| 1_u64 << power).map(|bytes| {
                    let choices = [before.untuned(bytes), after.best(None, bytes)];
                    let [untuned, tuned] = choices.map(|one| one.expect("NCCL knows it").time);
                    untuned / tuned
                }));
            }
            tell(&format!("{name}_gain{tail}"), &mut own, &mut figures);
            all.append(&mut own);
        }
        tell(&format!("gain{tail}"), &mut all, &mut figures);
    }
    figures
}

fn tell(name: &str, gains: &mut [f64], figures: &mut Vec<Figure>) {
    gains.sort_by(f64::total_cmp);
    let over = |least: f64| gains.iter().filter(|&&gain| gain > least).count() as f64;
    for (figure, value) in [
        ("least", gains[0]),
        ("median", gains[gains.len() / 2]),
        ("most", gains[gains.len() - 1]),
        ("share_over_2", over(2.0) / gains.len() as f64),
    ] {
        figures.push(Figure::new(&format!("{name}_{figure}"), value, ""));
    }
}

/// What is picked at 22 us and at the 10 us that NCCL assumes: the share of sizes and hosts with another choice, with
/// another algorithm or protocol, and of all-reduces for how many a tree, and LL128, is picked.
pub(super) fn picks(set: &Set) -> Vec<Figure> {
    let (mut changed, mut ways, mut cases) = (0, 0, 0);
    let mut counts = [[0_u32; 2]; 2];
    for (collective, _) in COLLECTIVES {
        for hosts in hosts(set) {
            let picks =
                [ASSUMED, ROUND_TRIP].map(|round_trip| picked(&tuning(collective, hosts, round_trip)));
            cases += picks[0].len();
            let pairs = || picks[0].iter().zip(&picks[1]);
            changed += pairs().filter(|(a, b)| !a.is_same(b)).count();
            let way = |one: &Choice| (one.algorithm, one.protocol);
            ways += pairs().filter(|(a, b)| way(a) != way(b)).count();
            if collective == Collective::AllReduce {
                for (counts, picks) in counts.iter_mut().zip(&picks) {
                    for one in picks {
                        counts[0] += u32::from(one.algorithm == Algorithm::Tree);
                        counts[1] += u32::from(one.protocol == Protocol::Ll128);
                    }
                }
            }
        }
    }
    let mut figures = vec![
        Figure::new("share_changed", changed as f64 / cases as f64, ""),
        Figure::new("share_of_other_way", ways as f64 / cases as f64, ""),
    ];
    for (counts, name) in counts.into_iter().zip(["10us", "22us"]) {
        for (count, what) in counts.into_iter().zip(["tree", "ll128"]) {
            figures.push(Figure::new(&format!("{what}_{name}"), f64::from(count), ""));
        }
    }
    figures
}

fn picked(tuning: &Tuning) -> Vec<Choice> {
    SIZES.map(|power| tuning.best(None, 1 << power).expect("NCCL knows it")).collect()
}
