//! Faults in time: what links carried and could carry at each time, delay that faults add, and what stalls waited for;
//! by closed forms and recomputed from tables, in both engines.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::Path;

use base64::Engine as _;
use railtwin::{Question, Run};
use railtwin_fabric::LinkId;
use railtwin_records::ColumnData;
use railtwin_units::SimTime;

fn run(text: &str) -> Run {
    let question = Question::of_text("in-time.toml", text, Path::new("."));
    Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ())
}

/// The headline and its evidence lines.
fn told(run: &Run) -> String {
    std::iter::once(&run.info.headline).chain(&run.info.evidence).cloned().collect::<Vec<_>>().join(" ")
}

/// Two hosts under a leaf each, one uplink, 50 GB/s everywhere and no headers: `bytes` from one to the other.
fn pair(engine: &str, bytes: &str, rest: &str) -> Run {
    run(&format!(
        "schema = 1\nname = \"pair\"\nengine = \"{engine}\"\n{rest}\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\n\
         hosts_per_leaf = 1\nuplinks = 1\nhost = {{ model = \"plain\" }}\n[packet]\nheader = \"0 B\"\n\
         window = \"1 MB\"\n\
         [[job]]\nname = \"train\"\nhosts = 2\ncollective = {{ kind = \"send-receive\", bytes = \"{bytes}\" }}\n"
    ))
}

fn value(run: &Run, name: &str) -> f64 {
    run.figure(name).unwrap_or_else(|| panic!("{name} is missing: {}", run.info.headline))
}

fn close(ours: f64, expected: f64, tolerance: f64) {
    assert!((ours - expected).abs() <= tolerance * expected.abs().max(1e-300), "{ours} is not {expected}");
}

/// A column of `link_bins`, a row of bins for each link.
fn bins(run: &Run, column: &str) -> Vec<Vec<u8>> {
    let payload = run.payload().unwrap();
    let bins = &payload["link_bins"];
    let data = bins[column]["data"].as_str().unwrap_or_else(|| panic!("no {column}: {bins}"));
    let all = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
    all.chunks(bins["bins"].as_u64().unwrap() as usize).map(<[u8]>::to_vec).collect()
}

/// The only way goes down after 100 ms of a transfer of 400 ms, for longer than a window lasts, and the queue pair waits
/// for its timeout of 4.3 s; with packets all is a thousand times shorter.
#[test]
fn nothing_moves_while_queue_pairs_stall() {
    let fault = |at: &str, until: &str, timeout: u32| {
        format!(
            "transport = {{ timeout = {timeout} }}\n[[fault]]\nat = \"{at}\"\nuntil = \"{until}\"\n\
             cable = \"leaf-0:uplink-0\"\nkind = \"down\"\n"
        )
    };
    let flow = pair("flow", "20 GB", &fault("100 ms", "250 ms", 20));
    let packet = pair("packet", "20 MB", &fault("100 us", "1100 us", 10));
    for run in [&flow, &packet] {
        let log = &run.simulation.as_ref().unwrap().log;
        let stall = value(run, "stall_time");
        let share = stall / log.end.seconds();
        assert!(share > 0.9, "{share}");
        // 100 before the fault, 300 after the stall, of all.
        let end = log.end.seconds();
        let [from, until] = [0.25 * (end - stall), 0.25 * (end - stall) + stall].map(|at| at / end * 60.0);
        for carried in bins(run, "carried") {
            let still = from.ceil() as usize + 1..until.floor() as usize - 1;
            assert!(still.len() > 40 && carried[still].iter().all(|&part| part == 0), "{carried:?}");
            assert!(carried[0] > 0 && carried[59] == 255, "{carried:?}");
        }
        // The way was full whenever anything moved.
        close(value(run, "utilization_in_flight_leaf_to_spine"), 1.0, 0.03);
        assert!(told(run).contains("are the limit"), "{}", told(run));
        // Bus bandwidth is what nccl-tests says, and stands beside that of the time in which data moved.
        // Packets stall from the last answer on: what is in flight then, up to a window, still moves.
        let window = if log.packets.is_some() { 1e6 / 50e9 / (end - stall) } else { 1e-6 };
        close(value(run, "busbw_mean") * end, value(run, "busbw_moving") * (end - stall), window);
        assert!(told(run).contains("without stalls"), "{}", told(run));
    }
    // 5 GB before the fault and 15 GB at the end: in bins of 78.2 ms.
    let width = value(&flow, "step_time") / 60.0;
    for carried in bins(&flow, "carried") {
        let unit = 255.0 / (50e9 * width);
        close(f64::from(carried[0]), 50e9 * width * unit, 0.01);
        // The bin in which the path dies holds part of what moved in it; the sum holds all.
        assert!(carried[1] > 0 && f64::from(carried[1]) <= (5e9 - 50e9 * width) * unit * 1.02, "{carried:?}");
        let sum: f64 = carried.iter().map(|&part| f64::from(part) / unit).sum();
        close(sum, 20e9, 0.01);
    }
}

/// Half of the rate from 10 ms on, of a cable or of all of a NIC: 1 GB takes 30 ms, and what is slow is at its limit.
#[test]
fn what_is_slow_is_at_the_limit_of_its_time() {
    let (uplink, nic) = ("leaf_to_spine", "nic_to_leaf");
    for (subject, place, other) in
        [("cable = \"leaf-0:uplink-0\"", uplink, nic), ("nic = \"host-0/nic-0\"", nic, uplink)]
    {
        for split in ["static", "dynamic"] {
            let rest = format!(
                "routing = {{ split = \"{split}\" }}\n[[fault]]\nat = \"10 ms\"\n{subject}\nkind = \"slow\"\n\
                 capacity = 0.5\n"
            );
            let run = pair("flow", "1 GB", &rest);
            close(value(&run, "step_time"), 30.0033e-3, 1e-6);
            close(value(&run, &format!("utilization_in_flight_{place}")), 1.0, 1e-3);
            // What is not slow carries 50 GB/s and then 25, of 50 all the time.
            close(value(&run, &format!("utilization_in_flight_{other}")), 2.0 / 3.0, 1e-3);
            assert!(told(&run).contains("are the limit at 100"), "{}", told(&run));
            close(value(&run, "worst_link_utilization"), 1.0, 1e-3);
            let log = &run.simulation.as_ref().unwrap().log;
            let links = run.tables().into_iter().find(|table| table.name == "links").unwrap();
            let Some(ColumnData::F64(used)) = links.column("utilization") else { panic!("no utilization") };
            let most = used.iter().copied().fold(0.0, f64::max);
            let could = 50e9 * 10e-3 + 25e9 * (log.end.seconds() - 10e-3);
            close(most, 1e9 / could, 1e-9);
            // Bins before the fault hold twice what those after it do, everywhere.
            for carried in bins(&run, "carried") {
                assert!(carried[..19].iter().all(|&part| part == 255), "{carried:?}");
                assert!(carried[21..59].iter().all(|&part| (126..=129).contains(&part)), "{carried:?}");
            }
            let halves = bins(&run, "capacity").iter().filter(|share| share[40] == 128).count();
            assert_eq!(halves, 2, "both ways of one cable");
        }
    }
}

/// 1 MB takes 20 us, and a leaf adds 80 us to each packet.
#[test]
fn delay_that_faults_add_has_its_share_of_the_time() {
    let run = pair(
        "flow",
        "1 MB",
        "[[fault]]\nat = \"0 s\"\nleaf = \"leaf-0\"\nkind = \"latency\"\ndelay = \"80 us\"\n",
    );
    let step = value(&run, "step_time");
    close(step, 20e-6 + 3.3e-6 + 80e-6, 1e-6);
    close(value(&run, "fault_delay_max"), 80e-6, 1e-9);
    close(value(&run, "fault_delay_share_in_flight"), 80e-6 / step, 1e-6);
    close(value(&run, "latency_share_in_flight"), 83.3e-6 / step, 1e-6);
    let headline = told(&run);
    assert!(headline.contains("Latency is the limit: hops take 80.6 %"), "{headline}");
    assert!(headline.contains("Faults add up to 80.00 us of delay to an operation, 77.4 %"), "{headline}");
    // A delay that comes after the operation adds nothing to it.
    let late = "[[fault]]\nat = \"1 s\"\nleaf = \"leaf-0\"\nkind = \"latency\"\ndelay = \"80 us\"\n";
    let late = pair("flow", "1 MB", late);
    assert_eq!(late.figure("fault_delay_max"), None);
    close(value(&late, "latency_share_in_flight"), 3.3 / 23.3, 1e-3);
}

/// A NIC's only cable is down for 2 ms; LACP takes 2 ms more and ARP 1 ms; the queue pair tries each 4.194304 ms.
#[test]
fn what_a_stall_waited_for_sums_to_it() {
    let rest = "transport = { timeout = 10 }\n\
                reaction = { detection = \"10 us\", lacp = \"2 ms\", arp = \"1 ms\" }\n\
                [[fault]]\nat = \"100 us\"\ncable = \"host-0/nic-0:port-0\"\nkind = \"flap\"\nlength = \"2 ms\"\n";
    for engine in ["flow", "packet"] {
        let run = pair(engine, "20 MB", rest);
        let (stall, timeout) = (value(&run, "stall_time"), 4.096e-6 * 1024.0);
        // The second try is the first over a path that carries.
        close(stall, 2.0 * timeout, 1e-2);
        close(value(&run, "stalled_repair"), 2e-3, 1e-2);
        close(value(&run, "stalled_lacp"), 2e-3, 1e-6);
        close(value(&run, "stalled_arp"), 1e-3, 1e-6);
        close(value(&run, "stalled_retransmission"), stall - 5e-3, 1e-2);
        let causes = run.info.figures.iter().filter(|figure| figure.name.starts_with("stalled_"));
        close(causes.filter_map(|figure| figure.value).sum(), stall, 1e-9);
    }
}

/// Two queue pairs on an uplink each, one of which dies: its port sees it after 10 us, switches follow after 50 us more.
#[test]
fn a_stall_that_another_path_ends_waited_for_the_reaction() {
    for engine in ["flow", "packet"] {
        let run = run(&format!(
            "schema = 1\nname = \"two\"\nengine = \"{engine}\"\n\
             routing = {{ balancer = \"disjoint\", queue_pairs = 2 }}\n\
             reaction = {{ detection = \"10 us\", ecmp_regroup = \"50 us\", withdrawal = \"20 us\", \
             convergence = \"30 us\" }}\ntransport = {{ timeout = 10 }}\n[fabric]\npreset = \"leaf-spine\"\n\
             leaves = 2\nhosts_per_leaf = 1\nuplinks = 2\nhost = {{ model = \"plain\" }}\n[[job]]\nhosts = 2\n\
             collective = {{ kind = \"send-receive\", bytes = \"20 MB\" }}\n[[fault]]\nat = \"100 us\"\n\
             cable = \"leaf-0:uplink-1\"\nkind = \"down\"\n"
        ));
        let stall = value(&run, "stall_time");
        let causes = run.info.figures.iter().filter(|figure| figure.name.starts_with("stalled_"));
        close(causes.filter_map(|figure| figure.value).sum(), stall, 1e-9);
        if engine == "flow" {
            close(stall, 60e-6, 1e-9);
            close(value(&run, "stalled_detection"), 10e-6, 1e-9);
            close(value(&run, "stalled_rerouting"), 50e-6, 1e-9);
        }
    }
}

/// Bytes of tables and bins agree with what links could carry, whatever breaks.
#[test]
fn no_link_is_used_beyond_what_it_could_carry() {
    let rest = "transport = { timeout = 10 }\n\
                [[fault]]\nat = \"50 us\"\ncable = \"leaf-1:uplink-0\"\nkind = \"slow\"\ncapacity = 0.25\n\
                until = \"300 us\"\n[[fault]]\nat = \"200 us\"\ncable = \"leaf-0:uplink-0\"\nkind = \"flap\"\n\
                length = \"30 us\"\nflaps = 3\nperiod = \"90 us\"\n";
    let run = pair("flow", "20 MB", rest);
    let log = &run.simulation.as_ref().unwrap().log;
    let capacities = railtwin::capacity::Capacities::of(&run.resolved.case, 0, log);
    for (link, &bytes) in log.link_bytes.iter().enumerate() {
        let could = capacities.bytes(&run.resolved.case, LinkId(link as u32), (SimTime::ZERO, log.counted()));
        assert!(bytes <= could * (1.0 + 1e-9), "{link}: {bytes} of {could}");
    }
}
