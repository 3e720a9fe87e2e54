//! What holds the rate laws: closed forms of DCQCN, what peers measured, marks as drawn, credits as granted.
use railtwin_engine::packet::{
    Buffer, ClampTarget, CongestionControl, Credit, Dcqcn, DcqcnLaw, DcqcnPreset, Ecn, MarkAt, Priority,
    Trouble, Troubled,
};
use railtwin_engine::{Case, RunLog};
use railtwin_testkit::cases::pairs;
use railtwin_testkit::closed_forms::on_wire;
use railtwin_testkit::fabrics::{into_host, leaf_spine, nic};
use railtwin_testkit::works::incast;
use railtwin_units::{Bytes, Rate, SimTime};

use crate::kit::{packets, run};

fn dcqcn(mut case: Case, control: Dcqcn, ecn: Ecn) -> Case {
    case.packets.keys.congestion_control = CongestionControl::Dcqcn(control);
    case.packets.keys.priority = vec![Priority::Acknowledgements];
    case.packets.tiers.iter_mut().for_each(|tier| tier.ecn = Some(ecn));
    case
}

const fn preset(preset: DcqcnPreset) -> Dcqcn {
    Dcqcn {
        preset,
        gain: None,
        alpha_timer: None,
        alpha_update: None,
        cut_interval: None,
        clamp_target: None,
        increase_timer: None,
        byte_counter: None,
        recovery_rounds: None,
        additive: None,
        hyper: None,
        minimum: None,
        window: None,
    }
}

fn ms(log: &RunLog) -> f64 {
    log.end.seconds() * 1e3
}

/// Share of marked packets at the fixed point of DCQCN's fluid model (Zhu et al. 2015, section 5.1, equations 5 to 9
/// with every derivative zero) for queue pairs of `rate` packets a second each.
fn fixed_point(law: &DcqcnLaw, packet: f64, rate: f64) -> f64 {
    let additive = law.additive.bytes_per_s() / packet;
    let (bytes, timer) = (law.byte_counter.0 as f64 / packet, law.increase_timer.seconds() * rate);
    let (cut, alpha) = (50e-6 * rate, law.alpha_timer.seconds() * rate);
    let recovery = f64::from(law.recovery_rounds);
    let balance = |p: f64| {
        let log = (-p).ln_1p();
        // What a second brings: notifications of a queue pair, and ends of both clocks without one.
        let notified = -(cut * log).exp_m1();
        let (by_bytes, by_time) = (p / (-bytes * log).exp_m1(), p / (-timer * log).exp_m1());
        let increase = additive
            * rate
            * ((recovery * bytes * log).exp() * by_bytes + (recovery * timer * log).exp() * by_time);
        // R_T - R_C at which the target stands still.
        let gap = increase * 50e-6 / notified;
        let falls = rate * -(alpha * log).exp_m1() / (2.0 * 50e-6) * notified;
        gap / 2.0 * rate * (by_bytes + by_time) - falls
    };
    let (mut low, mut high) = (1e-9_f64, 0.9_f64);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if balance(middle) > 0.0 { low = middle } else { high = middle }
    }
    low
}

/// DCQCN's queue stands where the fluid model's fixed point is (Zhu et al. 2015, section 5.2: 40 Gbps, marks from 5 to
/// 200 kB, at most 1 %), and grows with the number of senders as that does.
#[test]
fn queues_stand_at_the_fixed_point_of_the_fluid_model() {
    let ecn = Ecn { min: Bytes(5_000), max: Bytes(200_000), probability: 0.01, at: MarkAt::Dequeue };
    let fabric = leaf_spine(1, 24, 1, (40, 40), 1_000);
    let link = into_host(&fabric, 0).index();
    let mut found = Vec::new();
    for senders in [2_u32, 3, 4, 16] {
        // The mean over what the longer of two runs has beyond the shorter one.
        let of = |bytes: u64| {
            let case = pairs(fabric.clone(), &incast(1..=senders), bytes / u64::from(senders));
            let log = run(&dcqcn(case, preset(DcqcnPreset::Published), ecn));
            (packets(&log).links.queue_byte_seconds[link], log.end.seconds())
        };
        let (short, long) = (of(500_000_000), of(2_000_000_000));
        let queue = (long.0 - short.0) / (long.1 - short.1);
        let packet = 4_178.0;
        let share = fixed_point(&DcqcnLaw::PUBLISHED, packet, 5e9 / packet / f64::from(senders));
        // Beyond 1 % every packet is marked: the queue stands at that threshold.
        let expected = (5_000.0 + share / 0.01 * 195_000.0).min(200_000.0);
        println!("{senders} senders: {queue:.0} B, fluid {expected:.0} B (p = {share:.5})");
        found.push((queue, expected));
        // Cuts come in steps of a CNP interval, which the fluid has not: the queue swings, and is above it.
        assert!((0.9..1.3).contains(&(queue / expected)), "{queue} {expected}");
    }
    // Three senders to two, and four: 1.63 and 2.32 times in the fluid.
    let growth = |row: usize| found[row].0 / found[0].0;
    assert!((1.4..1.8).contains(&growth(1)) && (1.75..2.5).contains(&growth(2)), "{found:?}");
}

/// At a queue that windows hold still every packet is marked with the same probability: so many are, of each flow, as
/// that says. Rates do not fall here, as the least is that of the line.
#[test]
fn marks_are_as_many_as_drawn_of_every_flow() {
    let fabric = leaf_spine(1, 12, 1, (100, 100), 1_000);
    let link = into_host(&fabric, 0).index();
    let control = Dcqcn { minimum: Some(Rate::from_gbps(100)), ..preset(DcqcnPreset::Published) };
    for at in [MarkAt::Dequeue, MarkAt::Enqueue] {
        let ecn = Ecn { min: Bytes(0), max: Bytes(10_000_000), probability: 1.0, at };
        let mut case = dcqcn(pairs(fabric.clone(), &incast(1..=8), 40_000_000), control, ecn);
        case.packets.keys.window = Some(Bytes(131_072));
        case.packets.keys.nic.cnp_interval = Some(SimTime::from_ps(1));
        let log = run(&case);
        let queue = packets(&log).links.queue_byte_seconds[link] / log.end.seconds();
        let (sent, share) = (packets(&log).counts.data as f64 / 8.0, queue / 10e6);
        let marked: Vec<u32> = packets(&log).links.cnps.iter().copied().filter(|&cnps| cnps > 0).collect();
        assert_eq!(marked.len(), 8);
        let (expected, spread) = (sent * share, sent * share * (1.0 - share));
        let chi = marked.iter().map(|&marks| (f64::from(marks) - expected).powi(2) / spread).sum::<f64>();
        println!("{at:?} {marked:?}, expected {expected:.0}: chi-square {chi:.1} of 8");
        // One of a thousand is beyond 26.1.
        assert!(chi < 26.1, "{chi}");
    }
}

/// Eight senders of 8 MB into 400 Gbps. A target that only falls after an increase leads back to the rate of the line
/// within some timers; one that falls with each cut is left far below, and the link is empty most of the time.
#[test]
fn the_rule_of_the_target_decides_an_incast() {
    let fabric = leaf_spine(1, 12, 1, (400, 400), 500);
    let case = pairs(fabric, &incast(1..=8), 8_000_000);
    let ecn = Ecn { min: Bytes(100_000), max: Bytes(400_000), probability: 0.2, at: MarkAt::Dequeue };
    let floor = (8 * on_wire(8_000_000)) as f64 / 50e9 * 1e3;
    let alone = ms(&run(&case));
    assert!((1.0..1.01).contains(&(alone / floor)), "{alone} {floor}");
    let with = |clamp, at| {
        let law = Dcqcn { clamp_target: Some(clamp), ..preset(DcqcnPreset::Published) };
        ms(&run(&dcqcn(case.clone(), law, Ecn { at, ..ecn })))
    };
    for at in [MarkAt::Dequeue, MarkAt::Enqueue] {
        let (kept, fallen) = (with(ClampTarget::AfterIncrease, at), with(ClampTarget::Always, at));
        let nic = ms(&run(&dcqcn(case.clone(), preset(DcqcnPreset::Connectx), Ecn { at, ..ecn })));
        println!(
            "{at:?}: after-increase {kept:.3} ms, always {fallen:.3}, connectx {nic:.3}, pauses {alone:.3}"
        );
        assert!((1.0..1.2).contains(&(kept / alone)) && fallen > 6.0 * alone, "{kept} {fallen}");
        assert!((1.0..2.0).contains(&(nic / alone)), "{nic}");
    }
}

/// ns-3's star of 16 senders of 2 MB at 100 Gbps: the longest ends after 2.683 ms in ns-3's RDMA simulator with the
/// settings that it ships (windows of a round trip that shrink with the rate, timer 900 us, marks from 400 to 1,600 kB,
/// a CNP for each marked packet, 1,000 B of payload in 1,048 B). That is what the link takes for the bytes: windows that
/// shrink stop the cuts before the link is empty. Without them the same law leaves it empty for most of the time.
#[test]
fn a_star_of_sixteen_ends_as_in_ns_3() {
    let fabric = leaf_spine(1, 20, 1, (100, 100), 1_000);
    let control = Dcqcn {
        gain: Some(1.0 / 256.0),
        increase_timer: Some(SimTime::from_ns(900_000)),
        additive: Some(Rate::from_bits_per_s(50_000_000)),
        hyper: Some(Rate::from_bits_per_s(100_000_000)),
        minimum: Some(Rate::from_bits_per_s(100_000_000)),
        // 4 us and what two hops take for a packet.
        window: Some(Bytes(53_000)),
        ..preset(DcqcnPreset::Connectx)
    };
    let ecn = Ecn { min: Bytes(400_000), max: Bytes(1_600_000), probability: 0.2, at: MarkAt::Dequeue };
    let mut case = dcqcn(pairs(fabric, &incast(1..=16), 2_000_000), control, ecn);
    (case.packets.keys.payload, case.packets.keys.header) = (Bytes(1_000), Bytes(48));
    case.packets.keys.nic.cnp_interval = Some(SimTime::from_ps(1));
    let log = run(&case);
    println!("{:.3} ms, {:?}", ms(&log), packets(&log).counts);
    assert!(packets(&log).counts.cnps > 100);
    assert!((ms(&log) / 2.683 - 1.0).abs() < 0.005, "{}", ms(&log));
    case.packets.keys.congestion_control = CongestionControl::Dcqcn(Dcqcn { window: None, ..control });
    let free = ms(&run(&case));
    println!("without windows {free:.3} ms");
    assert!(free > 2.0 * 2.683, "{free}");
}

fn credit(case: &mut Case, credit: Credit) {
    case.packets.tiers.iter_mut().for_each(|tier| tier.credit = Some(credit));
}

/// A queue pair under a window that shrinks below the packets that its receiver answers at once does not wait for the
/// local ACK timer.
#[test]
fn a_shrunken_window_still_gets_answers() {
    let fabric = leaf_spine(1, 12, 1, (100, 100), 1_000);
    let control = Dcqcn { window: Some(Bytes(26_000)), ..preset(DcqcnPreset::Connectx) };
    let ecn = Ecn { min: Bytes(5_000), max: Bytes(20_000), probability: 1.0, at: MarkAt::Dequeue };
    let mut case = dcqcn(pairs(fabric, &incast(1..=4), 1_000_000), control, ecn);
    case.packets.keys.acknowledge_every = 4;
    let log = run(&case);
    println!("{:.3} ms {:?}", ms(&log), packets(&log).counts);
    assert!(packets(&log).counts.cnps > 0);
    assert_eq!(packets(&log).counts.ack_timeouts, 0);
}

/// Under credits the egress queue is short, and what waits is in virtual output queues: marks by those are there where
/// marks by the egress are not.
#[test]
fn marks_go_by_virtual_output_queues_where_packets_wait_there() {
    let fabric = leaf_spine(1, 12, 1, (100, 100), 1_000);
    let marked = |at| {
        let ecn = Ecn { min: Bytes(80_000), max: Bytes(200_000), probability: 1.0, at };
        let mut case =
            dcqcn(pairs(fabric.clone(), &incast(1..=8), 2_000_000), preset(DcqcnPreset::Connectx), ecn);
        credit(&mut case, Credit { latency: SimTime::from_ns(5_000), initial: Bytes(0), ramp: 2 });
        packets(&run(&case)).counts.marked
    };
    assert_eq!(marked(MarkAt::Dequeue), 0);
    assert!(marked(MarkAt::Voq) > 100);
}

/// What goes first crosses to an egress that is paused, though data there waits for credits.
#[test]
fn what_goes_first_is_not_held_by_credits_of_data() {
    // Host 0 sends to host 1 while host 1's NIC pauses its leaf for a long time; acknowledgements of what host 1 sends
    // to host 0 go the other way, and those of host 2 to it go through the paused egress.
    let fabric = leaf_spine(1, 6, 1, (100, 100), 1_000);
    let mut case = pairs(fabric.clone(), &[(2, 1), (3, 1), (1, 4)], 2_000_000);
    case.packets.keys.priority = vec![Priority::Acknowledgements];
    credit(&mut case, Credit { latency: SimTime::from_ns(5_000), initial: Bytes(0), ramp: 2 });
    let free = ms(&run(&case));
    case.packets.troubles.push(Troubled {
        trouble: Trouble::PauseStorm { link: into_host(&fabric, 1) },
        from: SimTime::from_ns(20_000),
        until: SimTime::from_ns(20_000_000),
    });
    let log = run(&case);
    // What host 1 sends is acknowledged through its paused port: it ends as if nothing was paused.
    let sent = packets(&log).flows.iter().find(|flow| flow.source == nic(&fabric, 1)).expect("it sends");
    println!("{:.3} ms of {free:.3}, all {:.3} ms", sent.end.seconds() * 1e3, ms(&log));
    assert!(sent.end.seconds() * 1e3 < 1.2 * free, "{sent:?}");
    assert!(ms(&log) > 20.0);
}

/// What waits at an egress is at most the credits that may be outstanding, however many ingress ports send.
#[test]
fn credits_bound_the_queue_of_an_egress() {
    let fabric = leaf_spine(1, 40, 1, (100, 100), 1_000);
    let link = into_host(&fabric, 0).index();
    let latency = SimTime::from_ns(5_000);
    for senders in [2, 8, 32] {
        let mut case = pairs(fabric.clone(), &incast(1..=senders), 8_000_000);
        let free = packets(&run(&case)).links.queue_bytes_max[link];
        credit(&mut case, Credit { latency, initial: Bytes(0), ramp: 2 });
        let log = run(&case);
        let queue = packets(&log).links.queue_bytes_max[link];
        let bound = (12.5e9 * latency.seconds() * 1.02) as u64 + 3 * 4_178;
        let floor = f64::from(senders) * on_wire(8_000_000) as f64 / 12.5e9 * 1e3;
        println!("{senders}: {queue} B of {bound} B, without {free} B, {:.3} ms, floor {floor:.3}", ms(&log));
        assert!(queue <= bound, "{queue} > {bound}");
        assert!((1.0..1.02).contains(&(ms(&log) / floor)), "{} {floor}", ms(&log));
    }
}

/// A parking lot: a host that two neighbors send to, and two hosts of another leaf over one uplink. Each of the three
/// ingress ports gets a third of its egress, however many senders are behind it.
#[test]
fn credits_are_fair_among_ingresses() {
    let fabric = leaf_spine(2, 6, 1, (100, 100), 1_000);
    let sends = [(1, 0), (2, 0), (6, 0), (7, 0)];
    let mut case = pairs(fabric, &sends, 8_000_000);
    credit(&mut case, Credit { latency: SimTime::from_ns(5_000), initial: Bytes(0), ramp: 2 });
    let log = run(&case);
    let alone = on_wire(8_000_000) as f64 / 12.5e9 * 1e3;
    let shares: Vec<f64> = packets(&log).flows.iter().map(|flow| flow.end.seconds() * 1e3 / alone).collect();
    println!("{shares:?}");
    // The neighbors have all of theirs after three times their time alone; the uplink then has the egress for itself.
    for (share, expected) in shares.iter().zip([3.0, 3.0, 4.0, 4.0]) {
        assert!((share / expected - 1.0).abs() < 0.02, "{shares:?}");
    }
}

/// Without pause frames a queue holds at most its dynamic threshold, however many ports fill it.
#[test]
fn a_lossy_queue_is_bounded_by_its_threshold() {
    let fabric = leaf_spine(1, 40, 1, (400, 400), 500);
    let link = into_host(&fabric, 0).index();
    for senders in [2_u32, 8, 32] {
        let mut case = pairs(fabric.clone(), &incast(1..=senders), 40_000_000 / u64::from(senders));
        case.packets.keys.window = None;
        let buffer = Buffer::Shared { bytes: 64_000_000, reserved: 0, alpha: 0.125 };
        case.packets.tiers.iter_mut().for_each(|tier| (tier.pfc, tier.buffer) = (None, buffer));
        let log = run(&case);
        let queue = packets(&log).links.queue_bytes_max[link] as f64;
        println!("{senders}: {queue} B {:?}", packets(&log).counts);
        assert!((queue / (64e6 / 9.0) - 1.0).abs() < 0.01, "{queue}");
    }
}
