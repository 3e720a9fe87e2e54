//! The credit world: nothing is lost, nothing stands still, threads change nothing, and one message takes what its bytes
//! take.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use proptest::prelude::*;
use railtwin_engine::intranode::{
    Arbiter, Arrivals, Crossings, Destinations, HotspotSpec, IntranodeLog, IntranodeSpec, Measure, PairSpec,
    Pattern, PcieSpec, PcieTopology, UnitPlace, UnitsSpec,
};
use railtwin_fabric::preset::Rlft;
use railtwin_fabric::{Fabric, HostSpec};
use railtwin_packetsim::intranode::IntranodeRun;
use railtwin_units::{Bytes, Rate, SimTime};

fn fabric(ports: u32, stages: u32, gpus: u32) -> Fabric {
    let nvlink = Some(Rate::from_gbps(512));
    let host = HostSpec { gpus: Some(gpus), nvlink, ..HostSpec::default() };
    Rlft { ports, stages, host, ..Rlft::default() }.build().unwrap()
}

fn short() -> IntranodeSpec {
    IntranodeSpec {
        duration: SimTime::from_ns(20_000),
        warm_up: SimTime::from_ns(5_000),
        ..IntranodeSpec::default()
    }
}

fn run(fabric: &Fabric, spec: &IntranodeSpec, threads: u32) -> IntranodeLog {
    IntranodeRun::new(fabric, spec, 1, threads).unwrap().run()
}

fn drained(fabric: &Fabric, spec: &IntranodeSpec, seed: u64, threads: u32) -> IntranodeLog {
    IntranodeRun::new(fabric, spec, seed, threads).unwrap().drained().run()
}

/// What random cases may be.
fn specs() -> impl Strategy<Value = IntranodeSpec> {
    let sizes = (1_u64..20_000, 0_u64..40, 1_u64..400, 0_u64..80, 1_u64..5_000);
    let times = (0_u64..30_000, 0_u64..20_000, 0_u64..20_000);
    let how = (0.01_f64..1.0, 0.0_f64..1.0, any::<bool>(), any::<bool>(), 0_u64..3_000, 50_u64..800);
    (sizes, times, how).prop_map(|((message, header, payload, inter_header, inter_payload), times, how)| {
        let (delay, pack, unpack) = times;
        let (load, inter, age, poisson, more, gbps) = how;
        let mut spec = IntranodeSpec {
            inter: Some(inter),
            load,
            message: Bytes(message),
            header: Bytes(header),
            payload: Bytes(payload),
            inter_header: Bytes(inter_header),
            inter_payload: Bytes(payload + inter_payload),
            link: Some(Rate::from_gbps(gbps)),
            link_delay: SimTime::from_ps(delay),
            pack: SimTime::from_ps(pack),
            unpack: SimTime::from_ps(unpack),
            arbiter: if age { Arbiter::Age } else { Arbiter::RoundRobin },
            crossings: if more % 2 == 0 { Crossings::Several } else { Crossings::One },
            arrivals: if poisson { Arrivals::Poisson } else { Arrivals::Even },
            duration: SimTime::from_ns(3_000),
            warm_up: SimTime::from_ns(500),
            destinations: Destinations::ALL[(more % 5) as usize],
            ..IntranodeSpec::default()
        };
        if spec.destinations == Destinations::Hotspot {
            (spec.inter, spec.hotspot) =
                (Some(inter.max(0.1)), Some(HotspotSpec { share: load, host: 1, gpu: None }));
        }
        match more % 7 {
            0 | 1 => {
                let to = 1.0 - spec.inter_share();
                let link = Some(Rate::from_gbps(gbps / 3 + 1));
                spec.units = Some(UnitsSpec { count: 2, link, to, from: load, place: UnitPlace::Cpu });
            }
            _ => {}
        }
        if more % 3 == 0 {
            let units = &mut spec.units;
            if let Some(units) = units.as_mut().filter(|_| age) {
                units.place = UnitPlace::Endpoint;
            }
            let (topology, root_latency) = (PcieTopology::RootComplex, SimTime::from_ps(delay));
            let root_rate = Some(Rate::from_gbps(gbps));
            spec.pcie = Some(PcieSpec { topology, root_latency, root_rate, ..PcieSpec::default() });
            spec.inter_payload = Bytes(128 + inter_payload);
            spec.link = None;
        }
        spec.buffer = Bytes(spec.least_buffer(3) + more);
        spec
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn nothing_is_lost_and_nothing_stands_still(spec in specs(), gpus in 1_u32..4, stages in 2_u32..=3, seed: u64) {
        let fabric = fabric(4, stages, gpus);
        let log = drained(&fabric, &spec, seed, 1);
        prop_assert_eq!(log.messages, log.accepted);
        prop_assert_eq!(log.left_bytes, 0);
        // All that was made after the beginning arrives, and each class gets its own.
        prop_assert!(spec.units.is_some() || log.units == Default::default());
        prop_assert!(log.refused_bytes.iter().zip(&log.offered_bytes).all(|(refused, offered)| refused <= offered));
        let two = drained(&fabric, &spec, seed, 2);
        prop_assert_eq!(log, two);
    }

    #[test]
    fn nobody_receives_more_than_links_carry(mut spec in specs(), gpus in 1_u32..4) {
        spec.load = 1.0;
        prop_assume!(spec.pcie.is_none());
        spec.units = None;
        let fabric = fabric(4, 2, gpus);
        let log = run(&fabric, &spec, 1);
        let hosts = fabric.hosts().len() as u64;
        let span = log.span_ps as f64 * 1e-12;
        // A packet more at the beginning, which was under way then.
        let packet = (spec.header.0 + spec.payload.0) as f64;
        let most = (spec.link.unwrap().bytes_per_s() * span + packet) * hosts as f64;
        prop_assert!((log.intra_bytes + log.inter_bytes) as f64 <= most * f64::from(gpus) * 1.0001);
        // All that comes from other hosts comes over one link of the host's switch.
        prop_assert!(log.inter_bytes as f64 <= most * 1.0001 + packet * hosts as f64);
        let packet = (spec.inter_header.0 + spec.inter_payload.0) as f64;
        let nics = (Rate::from_gbps(400).bytes_per_s() * span + packet) * hosts as f64;
        prop_assert!(log.network_bytes as f64 <= nics * 1.0001);
    }
}

/// One message between two hosts of a leaf, ps.
fn alone(spec: IntranodeSpec) -> IntranodeLog {
    let pair = PairSpec { measure: Measure::Latency, messages: 3, ..PairSpec::default() };
    let spec = IntranodeSpec { pair: Some(spec.pair.unwrap_or(pair)), ..spec };
    let log = run(&fabric(4, 2, 1), &spec, 1);
    assert_eq!(log.messages, u64::from(spec.pair.unwrap().messages));
    log
}

#[test]
fn one_packet_takes_what_its_bytes_take() {
    let spec = IntranodeSpec { message: Bytes(100), unpack: SimTime::from_ns(7), ..short() };
    // 120 B at 64 B/ns twice, 164 B at 50 B/ns, two cables of 250 ns, and the conversion.
    let expected = 2 * 1_875 + 3_280 + 2 * 250_000 + 7_000;
    assert_eq!(alone(spec).latencies[1].longest, expected);
    // No packet is converted that is the same on both sides.
    let same = IntranodeSpec { header: Bytes(64), payload: Bytes(4032), ..spec };
    assert_eq!(alone(same).latencies[1].longest, 2 * 2_563 + 3_280 + 500_000);
}

#[test]
fn packets_of_a_message_follow_each_other() {
    // 31 packets of 128 B and one of 64 B in one packet between hosts.
    let spec = IntranodeSpec { message: Bytes(4032), ..short() };
    let inside = 31 * 2_313 + 1_313;
    let log = alone(spec);
    assert!(log.latencies[1].longest.abs_diff(2 * inside + 81_920 + 500_000) <= 64);
    // Twice as much are three packets between hosts: NICs do not cut a packet of the host, and 31 of them fit. The first
    // two follow each other on the wire; the one packet of the third waits until the second is split.
    let log = alone(IntranodeSpec { message: Bytes(2 * 4032), ..short() });
    let expected = 31 * 2_313 + 2 * (3_968 + 64) * 20 + 500_000 + 32 * 2_313;
    assert_eq!(log.latencies[1].longest, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn parts_of_a_latency_add_up_to_the_time_until_the_message_is_there(spec in specs(), overhead in 0_u64..3_000_000) {
        let overhead = SimTime::from_ps(overhead);
        let pair = PairSpec { measure: Measure::Latency, messages: 1, overhead, ..PairSpec::default() };
        let (destinations, hotspot, units) = (Destinations::Uniform, None, None);
        let spec = IntranodeSpec { pair: Some(pair), load: 1.0, inter: None, destinations, hotspot, units, ..spec };
        let log = run(&fabric(4, 2, 2), &spec, 1);
        // It is made at time zero, so the clock of the run says how long it took.
        let latencies = log.latencies[1];
        prop_assert_eq!((latencies.count, log.messages), (1, 1));
        prop_assert_eq!(latencies.sums.iter().sum::<u128>(), u128::from(log.last_ps));
        prop_assert!(latencies.sums.iter().all(|&part| part <= u128::from(log.last_ps)), "{:?}", latencies.sums);
    }
}

#[test]
fn links_of_hosts_delay_what_crosses_them() {
    let none = IntranodeSpec { message: Bytes(100), unpack: SimTime::from_ns(7), ..short() };
    let delayed = IntranodeSpec { link_delay: SimTime::from_ns(5), ..none };
    // From the GPU to its switch, to the NIC, and the same at the other host.
    let latency = |spec| alone(spec).latencies[1];
    assert_eq!(latency(delayed).longest, latency(none).longest + 4 * 5_000);
    assert_eq!(latency(delayed).sums[0], 0);
}

#[test]
fn credits_wait_for_no_switch() {
    // A host under each of two leaves, and four packets fit a buffer.
    let host = HostSpec { gpus: Some(1), nvlink: Some(Rate::from_gbps(3_200)), ..HostSpec::default() };
    let switch_latency = SimTime::from_ns(400);
    let fabric = Rlft { ports: 2, stages: 2, host, switch_latency, ..Rlft::default() }.build().unwrap();
    let pair = PairSpec { messages: 101, ..PairSpec::default() };
    let spec = IntranodeSpec {
        header: Bytes(64),
        payload: Bytes(4032),
        buffer: Bytes(4 * 4096),
        pair: Some(pair),
        ..short()
    };
    // Four of them leave in the time in which one comes to the switch, crosses it and its credit comes back.
    let turn = 250_000 + 400_000 + 81_920 + 250_000;
    let log = run(&fabric, &spec, 1);
    assert!(log.span_ps.abs_diff(25 * turn) < 400_000, "{} {}", log.span_ps, 25 * turn);
}

#[test]
fn threads_change_nothing_on_the_shortest_cables() {
    let delay = |ps: u64| {
        let host = HostSpec { gpus: Some(2), nvlink: Some(Rate::from_gbps(512)), ..HostSpec::default() };
        let delay = SimTime::from_ps(ps);
        Rlft { ports: 4, stages: 2, host, delay, ..Rlft::default() }.build().unwrap()
    };
    let spec = IntranodeSpec { duration: SimTime::from_ns(4_000), warm_up: SimTime::from_ns(500), ..short() };
    assert_eq!(run(&delay(1), &spec, 1), run(&delay(1), &spec, 2));
    for threads in [1, 2] {
        let refused = IntranodeRun::new(&delay(0), &spec, 1, threads).unwrap_err();
        assert_eq!(refused.key, "fabric.delay");
        assert!(refused.message.contains("has a delay of 0 ns"), "{refused:?}");
    }
}

#[test]
fn a_pair_has_the_rate_of_its_slowest_part() {
    let pair = |gap| PairSpec { messages: 400, gap, ..PairSpec::default() };
    let rate = |spec: IntranodeSpec| {
        let log = alone(spec);
        (log.messages - 1) as f64 * spec.message.0 as f64 / (log.span_ps as f64 * 1e-3)
    };
    // PCIe of generation 3 carries 128 B in 152 B and a quarter of 8 B, at 15.754 B/ns.
    let pcie = IntranodeSpec { message: Bytes(4032), pcie: Some(PcieSpec::default()), ..short() };
    let slow = IntranodeSpec { pair: Some(pair(SimTime::ZERO)), ..pcie };
    let expected = 15.754 * 4032.0 / (31.0 * 154.0 + 64.0 + 26.0);
    assert!((rate(slow) / expected - 1.0).abs() < 0.005, "{} {expected}", rate(slow));
    // Messages 1 us apart.
    let paced = IntranodeSpec { pair: Some(pair(SimTime::from_ns(1_000))), ..pcie };
    assert!((rate(paced) / 4.032 - 1.0).abs() < 0.001, "{}", rate(paced));
}

#[test]
fn a_host_by_itself_loses_nothing_at_full_load() {
    let spec = IntranodeSpec { pattern: Pattern::C5, ..short() };
    let log = run(&fabric(4, 2, 8), &spec, 1);
    let offered = 8.0 * 8.0 * 64e9 * log.span_ps as f64 * 1e-12;
    let share = log.intra_bytes as f64 / offered;
    assert!(share > 0.95, "{share}");
    assert_eq!(log.inter_bytes, 0);
}

/// One GPU a host, all of whose messages leave it in packets that nobody converts, over links as fast as the network's.
fn outward(destinations: Destinations, load: f64) -> IntranodeSpec {
    IntranodeSpec {
        destinations,
        inter: Some(1.0),
        load,
        header: Bytes(64),
        payload: Bytes(4032),
        link: Some(Rate::from_gbps(400)),
        duration: SimTime::from_ns(120_000),
        warm_up: SimTime::from_ns(40_000),
        ..IntranodeSpec::default()
    }
}

fn carried(log: &IntranodeLog) -> f64 {
    (log.intra_bytes + log.inter_bytes) as f64 / log.offered_bytes.iter().sum::<u64>() as f64
}

#[test]
fn shifts_of_hosts_fill_no_link_twice_and_other_targets_do() {
    let fabric = fabric(4, 2, 1);
    let carried = |spec: &IntranodeSpec| carried(&run(&fabric, spec, 1));
    // D-mod-K (Zahavi 2012) gives every shift of hosts links of its own.
    for shift in [1, 3, 5] {
        let spec = IntranodeSpec { shift: Some(shift), ..outward(Destinations::Permutation, 0.98) };
        let share = carried(&spec);
        assert!(share > 0.99, "shift {shift}: {share}");
    }
    assert!(carried(&outward(Destinations::Neighbor, 0.98)) > 0.99);
    // A lot has two of the two hosts of a leaf on one uplink.
    let share = carried(&outward(Destinations::Permutation, 0.98));
    assert!(share < 0.95, "by lot: {share}");
}

#[test]
fn a_hot_spot_saturates_at_its_capacity_over_what_all_send_there() {
    let fabric = fabric(4, 2, 1);
    let hosts = fabric.hosts().len() as f64;
    for share in [0.3, 0.6, 1.0] {
        // A sender has this part of its messages for it: the share, and what falls to it of the rest.
        let part = share + (1.0 - share) / (hosts - 1.0);
        let knee = 1.0 / (part * (hosts - 1.0));
        let at = |load: f64| {
            let hotspot = Some(HotspotSpec { share, host: 3, gpu: None });
            run(&fabric, &IntranodeSpec { hotspot, ..outward(Destinations::Hotspot, load) }, 1)
        };
        let below = carried(&at(0.9 * knee));
        assert!(below > 0.97, "share {share}: {below} below {knee}");
        // Beyond it all senders get what it takes, as each has the others' messages behind those for it; it sends freely.
        let load = 1.5 * knee;
        let log = at(load);
        let taken = log.inter_bytes as f64 * 8e3 / log.span_ps as f64;
        let expected = 400.0 * ((hosts - 1.0) * knee + load);
        assert!((taken / expected - 1.0).abs() < 0.04, "share {share}: {taken} Gbps, {expected} expected");
    }
}

#[test]
fn units_have_what_their_own_links_carry() {
    let fabric = fabric(4, 2, 4);
    let with = |units: UnitsSpec| {
        let spec = IntranodeSpec {
            pattern: Pattern::C5,
            load: 0.5,
            units: Some(units),
            duration: SimTime::from_ns(160_000),
            warm_up: SimTime::from_ns(100_000),
            ..IntranodeSpec::default()
        };
        run(&fabric, &spec, 1)
    };
    let gbps = |bytes: u64, log: &IntranodeLog| bytes as f64 * 8e3 / log.span_ps as f64 / 8.0;
    // Four GPUs offer 256 Gbps each, a quarter of it for two units of 64 Gbps: 256 where 128 fit.
    let link = Some(Rate::from_gbps(64));
    let slow = with(UnitsSpec { count: 2, link, to: 0.25, ..UnitsSpec::default() });
    assert!((gbps(slow.units.bytes[0], &slow) / 128.0 - 1.0).abs() < 0.01, "{slow:?}");
    assert!((gbps(slow.units.offered_bytes[0], &slow) / 256.0 - 1.0).abs() < 0.05, "{slow:?}");
    // What GPUs have for each other waits behind it: three times as much arrives, and not all of it.
    assert!((gbps(slow.intra_bytes, &slow) / 384.0 - 1.0).abs() < 0.05, "{slow:?}");
    // Links that carry it lose nothing.
    let fast =
        with(UnitsSpec { count: 2, link: Some(Rate::from_gbps(200)), to: 0.25, ..UnitsSpec::default() });
    assert!(fast.units.bytes[0] as f64 > 0.98 * fast.units.offered_bytes[0] as f64, "{fast:?}");
    assert_eq!(fast.units.bytes[1] + fast.units.offered_bytes[1], 0);
    // Units that send 80 % of 64 Gbps at half of the load, to GPUs that take all of it.
    let from = with(UnitsSpec { count: 3, link, from: 0.8, ..UnitsSpec::default() });
    assert!((gbps(from.units.bytes[1], &from) / (3.0 * 0.4 * 64.0) - 1.0).abs() < 0.02, "{from:?}");
    // What GPUs have for each other is counted apart.
    assert!((gbps(from.intra_bytes, &from) / 1024.0 - 1.0).abs() < 0.02, "{from:?}");
    // A message of 4,032 B leaves a link of 64 Gbps in 32 packets, 4,672 B, of which the last is cut through.
    let latency = from.units.latencies[1].sums;
    let least = u128::from(from.units.latencies[1].count) * (4_672 * 125);
    let whole: u128 = latency.iter().sum();
    assert!(whole >= least && whole < least * 5 / 4, "{whole} {least}");
}

#[test]
fn a_root_complex_has_every_packet_go_to_the_cpu_and_back() {
    let pcie = PcieSpec { root_latency: SimTime::from_ns(70), ..PcieSpec::default() };
    let spec = |pcie: PcieSpec| IntranodeSpec { message: Bytes(100), pcie: Some(pcie), ..short() };
    let latency = |pcie: PcieSpec| alone(spec(pcie)).latencies[1].longest;
    let switch = latency(pcie);
    // 124 B at 15.754 B/ns, and a quarter of an ACK of 8 B.
    let packet = 7_998;
    let root = PcieSpec { topology: PcieTopology::RootComplex, ..pcie };
    // In each of both hosts the packet is stored at the CPU, and passes the root complex twice.
    assert!(latency(root).abs_diff(switch + 2 * (packet + 2 * 70_000)) <= 2, "{} {switch}", latency(root));
    // At half of the rate it takes twice as long to the CPU; at twice it is there when its last byte has come.
    let rate = |gbps: f64| PcieSpec { root_rate: Some(Rate::from_bits_per_s((gbps * 1e9) as u64)), ..root };
    let half = latency(rate(126.030_769 / 2.0));
    assert!(half.abs_diff(latency(root) + 2 * packet) <= 4, "{half}");
    let twice = latency(rate(2.0 * 126.030_769));
    assert!(twice.abs_diff(latency(root)) <= 4, "{twice}");
    // A message of many packets takes the time of one more at each CPU: they follow each other.
    let long =
        |pcie: PcieSpec| alone(IntranodeSpec { message: Bytes(4032), ..spec(pcie) }).latencies[1].longest;
    let full = 9_775;
    assert!(
        long(root).abs_diff(long(pcie) + 2 * (full + 2 * 70_000)) <= 200,
        "{} {}",
        long(root),
        long(pcie)
    );
}

#[test]
fn a_root_complex_carries_what_goes_to_the_cpu_for_all_together() {
    let fabric = fabric(4, 2, 4);
    let inside = |pcie: PcieSpec| {
        let spec = IntranodeSpec {
            pattern: Pattern::C5,
            pcie: Some(pcie),
            duration: SimTime::from_ns(80_000),
            warm_up: SimTime::from_ns(40_000),
            ..IntranodeSpec::default()
        };
        let log = run(&fabric, &spec, 1);
        log.intra_bytes as f64 / 8.0 / (log.span_ps as f64 * 1e-3)
    };
    // Eight hosts of four GPUs. TLPs of 152 B and a quarter of an ACK each, one of 88 B at the end of a message.
    let link = |gbps: f64| gbps / 8.0 * (31.0 * 152.0 + 88.0) / (31.0 * 154.0 + 90.0);
    let switch = inside(PcieSpec::default());
    assert!(switch > 0.97 * 4.0 * link(126.03), "{switch}");
    let root = PcieSpec { topology: PcieTopology::RootComplex, ..PcieSpec::default() };
    for gbps in [126.03, 200.0, 300.0] {
        let rate = Some(Rate::from_bits_per_s((gbps * 1e9) as u64));
        let carried = inside(PcieSpec { root_rate: rate, ..root });
        assert!((carried / link(gbps) - 1.0).abs() < 0.01, "{gbps} Gbps: {carried} B/ns");
    }
    assert!((inside(root) / link(126.03) - 1.0).abs() < 0.01, "{}", inside(root));
}

#[test]
fn the_cpu_itself_is_one_pass_away() {
    let fabric = fabric(4, 2, 1);
    let latency = |place: UnitPlace, topology: PcieTopology| {
        let pcie = PcieSpec { topology, root_latency: SimTime::from_ns(70), ..PcieSpec::default() };
        let spec = IntranodeSpec {
            pattern: Pattern::C5,
            load: 0.001,
            message: Bytes(100),
            pcie: Some(pcie),
            units: Some(UnitsSpec { to: 1.0, place, ..UnitsSpec::default() }),
            duration: SimTime::from_ns(60_000),
            warm_up: SimTime::ZERO,
            ..IntranodeSpec::default()
        };
        run(&fabric, &spec, 1).units.latencies[0].longest
    };
    let switch = latency(UnitPlace::Endpoint, PcieTopology::Switch);
    assert_eq!(latency(UnitPlace::Cpu, PcieTopology::Switch), switch);
    let root = PcieTopology::RootComplex;
    assert_eq!(latency(UnitPlace::Cpu, root), switch + 70_000);
    assert!(latency(UnitPlace::Endpoint, root).abs_diff(switch + 7_998 + 2 * 70_000) <= 1);
}

#[test]
fn targets_that_are_not_there_are_said() {
    let fabric = fabric(4, 2, 1);
    let error = |spec: IntranodeSpec| IntranodeRun::new(&fabric, &spec, 1, 1).unwrap_err();
    let hot = |hotspot: HotspotSpec| {
        error(IntranodeSpec { hotspot: Some(hotspot), ..outward(Destinations::Hotspot, 0.5) })
    };
    let host = hot(HotspotSpec { share: 0.5, host: 8, gpu: None });
    assert_eq!((host.key.as_str(), host.hint.as_str()), ("intranode.hotspot.host", "write 0 to 7"));
    let gpu = hot(HotspotSpec { share: 0.5, host: 7, gpu: Some(1) });
    assert_eq!((gpu.key.as_str(), gpu.hint.as_str()), ("intranode.hotspot.gpu", "write 0 to 0"));
    let shift = error(IntranodeSpec { shift: Some(8), ..outward(Destinations::Permutation, 0.5) });
    assert_eq!((shift.key.as_str(), shift.hint.as_str()), ("intranode.shift", "write 1 to 7"));
}

#[test]
fn what_cannot_be_is_said() {
    let fabric = fabric(4, 2, 8);
    let error = |spec: IntranodeSpec| IntranodeRun::new(&fabric, &spec, 1, 1).unwrap_err();
    let small = error(IntranodeSpec { buffer: Bytes(4_096), ..short() });
    assert!(small.hint.contains("write at least"), "{small:?}");
    let late = error(IntranodeSpec { warm_up: SimTime::from_ns(30_000), ..short() });
    assert!(late.message.contains("warm-up"), "{late:?}");
}
