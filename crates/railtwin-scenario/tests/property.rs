//! Laws: no text panics, what is written reads back, a fabric within the bounds of its keys never overflows.
#![allow(clippy::unwrap_used, clippy::result_large_err, reason = "a test")]

use proptest::option::of;
use proptest::prelude::*;
use railtwin_fabric::HostModel;
use railtwin_routing::{Fields, HashFunction};
use railtwin_scenario::{
    AiZoneSpec, Algorithm, Amount, Balancer, Bounds, CapSpec, Collective, CollectiveSpec, DcnPlusSpec,
    Direction, EngineName, FabricSpec, FatTreeSpec, FaultCause, FaultKind, FaultSpec, FaultSubject, HostCaps,
    HostSpec, HpnSpec, HtsimSpec, JobSize, JobSpec, LeafSpineSpec, LingjunSpec, MemoryRule, Per, Placement,
    Posting, PresetSpec, RecipeSpec, Recompute, Replan, RoutingSpec, RunSpec, Scenario, Seeds, SettingsText,
    Split, Tier2, TrafficSpec, Work, Workload, expand,
};
use railtwin_units::{Bytes, Rate, SimTime};

use crate::packet_lots;

pub(crate) fn rate() -> impl Strategy<Value = Rate> {
    (1u64..1 << 49).prop_map(Rate::from_bits_per_s)
}

pub(crate) fn time() -> impl Strategy<Value = SimTime> {
    (0u64..1 << 52).prop_map(SimTime::from_ps)
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9./ -]{1,12}", ".{1,12}"]
}

fn host() -> impl Strategy<Value = HostSpec> {
    let model = of(prop::sample::select(HostModel::NAMES.to_vec()).prop_map(str::to_owned));
    let counts = (of(1u32..=1024), of(1u32..=1024), of(1u32..=64));
    let memory = of((1u64..1 << 40).prop_map(Bytes));
    let caps = of(prop::sample::select(vec![HostCaps::None, HostCaps::Measured]));
    (model, counts, of(rate()), of(rate()), of(rate()), caps, memory).prop_map(
        |(model, counts, port, nvlink, pcie, caps, gpu_memory)| {
            let (gpus, nics, nic_ports) = counts;
            HostSpec { model, gpus, nics, nic_ports, nic_port_capacity: port, nvlink, pcie, gpu_memory, caps }
        },
    )
}

fn hpn() -> impl Strategy<Value = PresetSpec> {
    let counts = (of(1u32..=65_536), of(1u32..=65_536), of(1u32..=65_536), of(0u32..=65_536));
    let upper = (of(0u32..=65_536), of(0u32..=4096), of(1u32..=65_536));
    let tier2 = of(prop::sample::select(vec![Tier2::AnyToAny, Tier2::RailOnly]));
    (counts, upper, (any::<Option<bool>>(), any::<Option<bool>>(), tier2), (of(rate()), of(rate())), host())
        .prop_map(
            |(
                (pods, segments, hosts, spare_hosts),
                (spines, spine_up, cores),
                (planes, dual_tor, tier2),
                (uplink, chip),
                host,
            )| {
                PresetSpec::Hpn(HpnSpec {
                    pods,
                    segments,
                    hosts,
                    spare_hosts,
                    planes,
                    dual_tor,
                    tier2,
                    spines,
                    spine_up,
                    cores,
                    uplink,
                    chip,
                    host,
                })
            },
        )
}

fn dcn_plus() -> impl Strategy<Value = PresetSpec> {
    let counts = (of(1u32..=65_536), of(1u32..=65_536), of(1u32..=65_536));
    let upper = (of(0u32..=65_536), of(1u32..=4096), of(1u32..=65_536));
    (counts, upper, of(rate()), of(rate()), host()).prop_map(
        |((pods, segments, hosts), (spines, parallel, cores), uplink, chip, host)| {
            PresetSpec::DcnPlus(DcnPlusSpec {
                pods,
                segments,
                hosts,
                spines,
                parallel,
                cores,
                uplink,
                chip,
                host,
            })
        },
    )
}

fn ai_zone() -> impl Strategy<Value = PresetSpec> {
    let counts = (of(1u32..=65_536), of(1u32..=65_536), of(1u32..=65_536));
    let upper = (of(1u32..=4096), of(0u32..=4096), of(1u32..=65_536));
    (counts, upper, of(rate()), of(rate()), host()).prop_map(
        |((pods, segments, hosts), (uplinks, spine_up, cores), uplink, chip, host)| {
            let spec = AiZoneSpec { pods, segments, hosts, uplinks, spine_up, cores, uplink, chip, host };
            PresetSpec::AiZone(spec)
        },
    )
}

fn leaf_spine() -> impl Strategy<Value = PresetSpec> {
    let counts = (of(1u32..=65_536), of(1u32..=65_536), of(1u32..=4096), of(1u32..=4096));
    (counts, of(rate()), of(rate()), of(time()), of(time()), host()).prop_map(
        |(
            (leaves, hosts_per_leaf, uplinks, parallel),
            uplink_capacity,
            chip,
            delay,
            switch_latency,
            host,
        )| {
            PresetSpec::LeafSpine(LeafSpineSpec {
                leaves,
                hosts_per_leaf,
                rails_per_leaf: leaves.map(|leaves| 1 + leaves % 8),
                uplinks,
                parallel,
                uplink_capacity,
                chip,
                delay,
                switch_latency,
                host,
            })
        },
    )
}

fn preset() -> impl Strategy<Value = PresetSpec> {
    let tree = (of(2u32..=256), of(rate()));
    let tree = tree.prop_map(|(k, capacity)| PresetSpec::FatTree(FatTreeSpec { k, capacity }));
    prop_oneof![hpn(), dcn_plus(), ai_zone(), leaf_spine(), tree]
}

fn fabric() -> impl Strategy<Value = FabricSpec> {
    let lingjun =
        (text(), host()).prop_map(|(lingjun, host)| FabricSpec::Lingjun(LingjunSpec { lingjun, host }));
    let htsim = text().prop_map(|htsim| FabricSpec::Htsim(HtsimSpec { htsim }));
    prop_oneof![preset().prop_map(FabricSpec::Preset), lingjun, htsim]
}

fn routing() -> impl Strategy<Value = RoutingSpec> {
    let names = prop::sample::subsequence(Fields::NAMES.to_vec(), 1..=7);
    let balancer = prop::sample::select(Balancer::ALL.to_vec());
    let hash = prop::sample::select(HashFunction::ALL.to_vec());
    let seeds = prop::sample::select(vec![Seeds::Shared, Seeds::PerTier, Seeds::PerSwitch]);
    let split = prop::sample::select(vec![Split::Static, Split::Dynamic]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let replan = prop::sample::select(vec![
        (None, None),
        (Some(Replan::Never), None),
        (Some(Replan::Once), Some(SimTime::from_ps(7))),
        (Some(Replan::Every), Some(SimTime::from_ps(1 << 40))),
    ]);
    (balancer, hash, names, seeds, 1u32..=1024, split, flags, replan).prop_map(
        |(balancer, hash, names, seeds, queue_pairs, split, flags, (replan, replan_time))| {
            let (core_per_port, pxn, resilient) = flags;
            RoutingSpec {
                balancer,
                hash,
                fields: Fields::from_names(names).unwrap(),
                seeds,
                queue_pairs,
                split,
                core_per_port,
                pxn,
                posting: if resilient { Posting::Split } else { Posting::RoundRobin },
                message: pxn.then_some(Bytes(1 << 19)),
                resilient,
                replan,
                replan_time,
            }
        },
    )
}

fn kind() -> impl Strategy<Value = Collective> {
    use Collective::{AllGather, AllReduce, AllToAll, Broadcast, ReduceScatter, SendReceive};
    prop::sample::select(vec![AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, SendReceive])
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(vec![
        Algorithm::Ring,
        Algorithm::Tree,
        Algorithm::Nvls,
        Algorithm::NvlsTree,
        Algorithm::Direct,
    ])
}

fn traffic() -> impl Strategy<Value = TrafficSpec> {
    let counts = (1u32..=1 << 24, of(1u32..=1 << 24), 0u32..=1 << 24, of(0u64..1 << 63));
    (0usize..4, 1u64..1 << 53, counts).prop_map(|(which, bytes, (shift, sources, target, seed))| {
        let bytes = Bytes(bytes);
        match which {
            0 => TrafficSpec::Permutation { bytes, seed },
            1 => TrafficSpec::Shift { bytes, shift },
            2 => TrafficSpec::Incast { bytes, sources, target },
            _ => TrafficSpec::AllToAll { bytes },
        }
    })
}

fn work() -> impl Strategy<Value = Work> {
    let per = prop::sample::select(vec![Per::All, Per::Rail]);
    let collective = (kind(), 1u64..1 << 53, of(algorithm()), 1u32..=1_000_000, time(), per).prop_map(
        |(kind, bytes, algorithm, repeat, compute, per)| {
            let bytes = Bytes(bytes);
            Work::Collective(CollectiveSpec { kind, bytes, algorithm, repeat, compute, per })
        },
    );
    let axes = (1u32..=1_000_000, 1u32..=1_000_000, 1u32..=1_000_000, 1u32..=1_000_000);
    let batches = (1u32..=1_000_000, 1u32..=1_000_000, 0.001f64..=1.0, 1u32..=1024, 0u32..=3);
    let recomputes = vec![Recompute::None, Recompute::Selective, Recompute::Full];
    let rules = vec![MemoryRule::Check, MemoryRule::Allow];
    let held = (prop::sample::select(recomputes), prop::sample::select(rules));
    let recipe = (text(), axes, batches, held).prop_map(|(recipe, (tp, pp, dp, ep), batches, held)| {
        let (recompute, memory) = held;
        let (micro_batches, micro_batch, efficiency, interleave, zero) = batches;
        Work::Workload(Workload::Recipe(RecipeSpec {
            recipe,
            tp,
            pp,
            dp,
            ep,
            micro_batches,
            micro_batch,
            efficiency,
            interleave,
            zero,
            recompute,
            memory,
        }))
    });
    let simai = (text(), of(1u32..=1024))
        .prop_map(|(simai, interleave)| Work::Workload(Workload::Simai { simai, interleave }));
    let chakra = text().prop_map(|chakra| Work::Workload(Workload::Chakra { chakra }));
    let connections = text().prop_map(|connections| Work::Workload(Workload::Connections { connections }));
    let traffic = traffic().prop_map(|traffic| Work::Workload(Workload::Traffic(traffic)));
    prop_oneof![collective, recipe, simai, chakra, connections, traffic]
}

fn job() -> impl Strategy<Value = JobSpec> {
    let size = prop_oneof![(1u32..1 << 24).prop_map(JobSize::Hosts), (1u32..1 << 24).prop_map(JobSize::Gpus)];
    let listed = prop::collection::btree_set(0u32..1 << 24, 1..5);
    let placement = prop_oneof![
        Just(Placement::Packed),
        Just(Placement::Spread),
        Just(Placement::Random),
        listed.prop_map(|hosts| Placement::Hosts(hosts.into_iter().collect())),
    ];
    (1u32..=1_000_000, of(size), placement, time(), work()).prop_map(
        |(count, size, placement, start, work)| {
            // What the text refuses is mended: a listed placement is of one copy and says the size, a collective has one.
            let listed = matches!(placement, Placement::Hosts(_));
            let size = match work {
                Work::Collective(_) => size.or(Some(JobSize::Gpus(8))),
                Work::Workload(_) => size,
            };
            JobSpec {
                name: String::new(),
                count: if listed { 1 } else { count },
                size: size.filter(|_| !listed),
                placement,
                start,
                work,
            }
        },
    )
}

/// Subjects that a kind may have, by their row below.
fn subjects(kind: FaultKind) -> &'static [usize] {
    use FaultKind::*;
    match kind {
        Down | Up | Flap | Slow | Lossy | Latency => &[0, 1, 2, 3, 4, 5],
        WrongCable => &[0],
        PauseStorm => &[1, 2],
        SmallBuffer => &[3, 4, 5],
        SlowGpu => &[6, 7, 8],
        GpuError => &[6, 7],
        Crash => &[6, 8],
        Hang | SizeMismatch => &[6],
        SlowData => &[6, 8, 9],
        _ => &[8, 10],
    }
}

fn fault() -> impl Strategy<Value = FaultSpec> {
    use FaultKind::*;
    let kinds = vec![
        Down,
        Up,
        Flap,
        Slow,
        Lossy,
        Latency,
        WrongCable,
        PauseStorm,
        SmallBuffer,
        SlowGpu,
        GpuError,
        Crash,
        Hang,
        SlowData,
        StorageStall,
        SizeMismatch,
    ];
    let subject = |which: usize, name: String| match which {
        0 => FaultSubject::Cable(name),
        1 => FaultSubject::Port(name),
        2 => FaultSubject::Nic(name),
        3 => FaultSubject::Leaf(name),
        4 => FaultSubject::Spine(name),
        5 => FaultSubject::Device(name),
        6 => FaultSubject::Rank(name),
        7 => FaultSubject::Gpu(name),
        8 => FaultSubject::Host(name),
        9 => FaultSubject::Job(name),
        _ => FaultSubject::Storage("all".to_owned()),
    };
    let numbers = (0.001f64..0.999, 1.001f64..1000.0, 1u32..=1_000_000, 0usize..3);
    let whole = (0u64..1 << 50, any::<prop::sample::Index>(), text(), of(1u64..1 << 50), 1u32..=10_000);
    (prop::sample::select(kinds), whole, numbers).prop_map(
        move |(kind, (at, which, name, after, flaps), (share, factor, every, third))| {
            let of_kind = subjects(kind);
            let at = if kind == WrongCable { 0 } else { at };
            let named = subject(of_kind[which.index(of_kind.len())], name.clone());
            let mut fault = FaultSpec::new(SimTime::from_ps(at), named, kind);
            if !matches!(kind, Up | Flap | WrongCable | GpuError | Crash | SizeMismatch) {
                fault.until = after.map(|after| SimTime::from_ps(at + after));
            }
            let directions = [Direction::Out, Direction::In, Direction::Both];
            match kind {
                Flap => {
                    fault.flaps = Some(flaps);
                    fault.period = Some(SimTime::from_ps(2 * (at + 1)));
                    fault.length = Some(SimTime::from_ps(at + 1));
                }
                Slow => (fault.capacity, fault.direction) = (Some(share), Some(directions[third])),
                Lossy => (fault.loss, fault.direction) = (Some(share), after.map(|_| directions[third])),
                Latency => fault.delay = Some(SimTime::from_ps(at + 1)),
                WrongCable => fault.with = Some(name),
                PauseStorm => fault.capacity = after.map(|_| share),
                SmallBuffer => fault.capacity = Some(share),
                SlowGpu => fault.factor = Some(factor),
                GpuError => {
                    fault.cause = Some([FaultCause::Ecc, FaultCause::Nvlink, FaultCause::Cuda][third])
                }
                Crash => fault.cause = Some([FaultCause::OutOfMemory, FaultCause::Bug][third % 2]),
                SlowData => fault.delay = Some(SimTime::from_ps(at + 1)),
                StorageStall => {
                    fault.delay = Some(SimTime::from_ps(at + 1));
                    fault.every = after.map(|_| every);
                }
                _ => {}
            }
            fault
        },
    )
}

fn bounds() -> impl Strategy<Value = Bounds> {
    let amount = prop_oneof![
        (-1e12f64..1e12).prop_map(Amount::Number),
        time().prop_map(Amount::Time),
        (0u64..1 << 53).prop_map(|size| Amount::Size(Bytes(size))),
        rate().prop_map(Amount::Rate),
    ];
    (amount, 0u8..4, of(0.001f64..=1.0)).prop_map(|(amount, which, tolerance)| Bounds {
        at_least: (which == 0 || which == 3).then_some(amount),
        at_most: (which == 1 || which == 3).then_some(amount),
        equals: (which == 2).then_some(amount),
        tolerance: tolerance.filter(|_| which == 2),
    })
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let head = ("[a-z0-9-]{1,12}", of(text()), 0u64..1 << 63, 1u32..=100_000, 1u32..=100_000);
    let cap = (kind(), algorithm(), of(prop::sample::select(HostModel::NAMES.to_vec())), rate());
    let cap = cap.prop_map(|(collective, algorithm, host, busbw)| CapSpec {
        collective,
        algorithm,
        host: host.map(str::to_owned),
        busbw,
    });
    let lists = (
        prop::collection::vec(job(), 0..3),
        prop::collection::vec(cap, 0..3),
        prop::collection::vec(fault(), 0..3),
        prop::collection::btree_map("[a-z0-9_]{1,8}", bounds(), 0..3),
    );
    let packets = (prop::sample::select(EngineName::ALL.to_vec()), packet_lots::packets());
    (head, fabric(), routing(), lists, packets).prop_map(
        |(head, fabric, routing, (mut jobs, caps, faults, expect), (engine, packets))| {
            let (name, description, seed, replicates, steps) = head;
            for (index, job) in jobs.iter_mut().enumerate() {
                job.name = format!("train-{index}");
            }
            let mut scenario = Scenario::new(&name, fabric);
            scenario.description = description;
            scenario.seed = seed;
            scenario.run = RunSpec {
                replicates,
                steps,
                pace: None,
                throughput: Some(SimTime::from_ps(1 + seed % (1 << 50))),
            };
            scenario.reaction.mac_aging = SimTime::from_ps(seed % (1 << 50));
            scenario.transport.timeout = 1 + (seed % 31) as u32;
            scenario.routing = routing;
            (scenario.jobs, scenario.caps, scenario.faults) = (jobs, caps, faults);
            scenario.expect = expect;
            scenario.engine = engine;
            (scenario.packet, scenario.switch, scenario.troubles) = packets;
            scenario
        },
    )
}

/// A change of one place: delete, double, or replace by a piece that means something in a scenario.
fn mutate(text: &str, at: usize, length: usize, piece: &str) -> String {
    let floor = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap();
    let (start, end) = (floor(at), floor(at.saturating_add(length)));
    format!("{}{piece}{}", &text[..start], &text[end..])
}

const PIECES: [&str; 16] = [
    "",
    "[",
    "]",
    "[]",
    "{}",
    "\"",
    "\n",
    "= [1, 2]",
    "[[job]]\n",
    "[expect]\n",
    "-1",
    "9e99",
    "nan",
    "[[1], [2]]",
    "\"1 s\"",
    "é",
];

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = expand("x", &text);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = expand("x", &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn what_is_written_reads_back(scenario in scenario()) {
        let text = scenario.to_toml();
        let again = Scenario::parse("x", &text);
        prop_assert_eq!(again.as_ref(), Ok(&scenario), "{}", text);
        prop_assert_eq!(again.unwrap().to_toml(), text);
    }

    #[test]
    fn no_change_of_a_good_scenario_panics(
        scenario in scenario(),
        changes in prop::collection::vec((0usize..2000, 0usize..40, prop::sample::select(PIECES.to_vec())), 1..4),
    ) {
        let mut text = scenario.to_toml();
        for (at, length, piece) in changes {
            text = mutate(&text, at, length, piece);
        }
        if let Err(error) = expand("x", &text) {
            prop_assert!(!error.problems.is_empty());
            for problem in &error.problems {
                prop_assert!(text.get(problem.span.clone()).is_some());
                prop_assert!(problem.line >= 1 && problem.column >= 1);
            }
        }
    }

    /// Spelling out and checking overflows nowhere; building may be refused but is not tried: it is large.
    #[test]
    fn no_fabric_within_the_bounds_of_its_keys_overflows(preset in preset()) {
        let _ = preset.spec().and_then(|spec| spec.check());
    }

    #[test]
    fn no_setting_panics(key in "\\PC{0,12}", value in "\\PC{0,12}") {
        let mut settings = SettingsText::new("hpn");
        settings.set(&key, &value);
        let _ = settings.fabric("x");
    }
}
