//! For tests: a run whose packets are made up, by rules that a test can repeat.
use railtwin_engine::PacketLog;
use railtwin_engine::packet_log::{LinkPackets, PacketCounts, PacketFlow, QueueSample, Spread};
use railtwin_fabric::DeviceKind;
use railtwin_units::SimTime;

use crate::links::{network_links, tier};
use crate::{Question, Run};

/// How much there is of everything.
#[derive(Debug)]
pub(crate) struct Given {
    /// Samples of each link.
    pub(crate) samples: u32,
    /// Transfers, the last of which never ends.
    pub(crate) flows: u32,
    /// Whether the log has no packets at all.
    pub(crate) none: bool,
}

impl Default for Given {
    fn default() -> Self {
        Self { samples: 10, flows: 101, none: false }
    }
}

/// Four hosts at two leaves of two spines, three all-to-alls. Link `l` has a queue of `1000 (l % 7) (s + 1)` bytes in
/// sample `s`; leaves that send to NICs stand still for `l % 5` tenths of it, by `l % 5` frames. Transfer `i` takes
/// `10 + i` microseconds.
pub(crate) fn run_with(given: &Given) -> Run {
    let text = "schema = 1\nname = \"packets\"\n[run]\nsteps = 3\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\n\
                hosts_per_leaf = 2\nuplinks = 2\nhost = { model = \"plain\" }\n\
                [[job]]\nname = \"a\"\nhosts = 4\ncollective = { kind = \"all-to-all\", bytes = \"1 GB\" }\n";
    let question = Question::of_text("packets.toml", text, std::path::Path::new("."));
    let point = question.points().expect("a scenario").remove(0);
    let mut run = Run::of(question.resolve(&point.scenario).expect("a case"), &|| ());
    let case = &run.resolved.case;
    let log = &mut run.simulation.as_mut().expect("it has a job").log;
    let sample = SimTime::from_ps(log.end.ps().div_ceil(u64::from(given.samples)));
    let count = case.fabric.link_count();
    let mut links = LinkPackets {
        late_bytes: vec![0; count],
        pause_frames: vec![0; count],
        pause_renewals: vec![0; count],
        resume_frames: vec![0; count],
        paused_ps: vec![0; count],
        queue_bytes_max: vec![0; count],
        queue_byte_seconds: vec![0.0; count],
        dropped: vec![0; count],
        cnps: vec![0; count],
    };
    let mut samples = Vec::new();
    for index in 0..given.samples {
        for link in network_links(&case.fabric) {
            let to_nic = tier(&case.fabric, case.fabric.target(link)) == 0;
            let bytes_max = 1_000 * u64::from(link.0 % 7) * u64::from(index + 1);
            let paused_ps = if to_nic { sample.ps() / 10 * u64::from(link.0 % 5) } else { 0 };
            if bytes_max + paused_ps == 0 {
                continue;
            }
            samples.push(QueueSample { index, link: link.0, bytes_max, paused_ps });
            let at = link.index();
            links.pause_frames[at] = if to_nic { link.0 % 5 } else { 0 };
            links.paused_ps[at] += paused_ps;
            links.queue_bytes_max[at] = links.queue_bytes_max[at].max(bytes_max);
            links.queue_byte_seconds[at] += bytes_max as f64 / 2.0 * sample.seconds();
        }
    }
    let nics: Vec<_> = case.fabric.devices().filter(|&d| case.fabric.kind(d) == DeviceKind::Nic).collect();
    let nic = |i: u32| nics[i as usize % nics.len()];
    let flows = (0..given.flows).map(|i| PacketFlow {
        operation: i % 3,
        pattern: 0,
        source: nic(i),
        target: nic(i + 1),
        bytes: 1_000_000,
        start: SimTime::from_ns(500),
        end: if i + 1 == given.flows {
            SimTime::NEVER
        } else {
            SimTime::from_ns(10_500 + 1_000 * u64::from(i))
        },
    });
    let packets = PacketLog {
        counts: PacketCounts {
            packet_hops: 4_000,
            data: 1_000,
            dropped: 7,
            pause_frames: 9,
            ..Default::default()
        },
        links,
        buffer_bytes_max: (1..=case.fabric.switches().len() as u64).map(|row| row * 1_000).collect(),
        flows: flows.collect(),
        samples,
        sample,
        round_trip: Spread { count: 5, mean: 4e-6, min: 1e-6, p50: 3e-6, p90: 6e-6, p99: 8e-6, max: 9e-6 },
        clearance_wait: Spread::default(),
        records: None,
    };
    log.packets = (!given.none).then(|| Box::new(packets));
    run
}
