//! Figures of what packets left behind: completion times, losses, pauses, queues.
use railtwin_engine::packet_log::Spread;
use railtwin_engine::{Case, PacketLog, RunLog};
use railtwin_fabric::{Fabric, LinkId};
use railtwin_store::Figure;
use railtwin_units::SimTime;
use railtwin_workload::OperationId;

use crate::figures::declared::{Declared, Named, packets as declared};
use crate::figures::quantile;
use crate::links::{ENDS, Hop, links_by_hop};
use crate::nic_ports::links_into;
use crate::packet_tables::at;
use crate::stops;

/// Which replicate all of these figures are of.
const CHOSEN: &str = "replicate with the median step time";

/// Flow completion times of transfers that ended, seconds, ascending.
pub fn completion_times(packets: &PacketLog) -> Vec<f64> {
    let ended = packets.flows.iter().filter(|flow| flow.end != SimTime::NEVER);
    let mut times: Vec<f64> = ended.map(|flow| flow.end.since(flow.start).seconds()).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Figures being collected.
#[derive(Default)]
struct Figures(Vec<Figure>);

impl Figures {
    fn push(&mut self, of: impl Into<Named>, value: f64, note: &str) {
        self.push_or(of, Ok(value), note);
    }

    fn push_or(&mut self, of: impl Into<Named>, value: Result<f64, String>, note: &str) {
        let note = if note.is_empty() { CHOSEN.to_owned() } else { format!("{note}; {CHOSEN}") };
        self.0.push(of.into().given(value, &note));
    }
}

/// Seconds of the run, of which other figures are a share; or why it has no end. None of a run that takes no time.
type Length = Option<Result<f64, String>>;

fn length(case: &Case, log: &RunLog) -> Length {
    match stops::of_run(case, log) {
        Some(reason) => Some(Err(reason)),
        None => Some(log.end.seconds()).filter(|&seconds| seconds > 0.0).map(Ok),
    }
}

/// Figures of the chosen replicate's packets; none where the engine moved no packets.
pub fn figures(case: &Case, log: &RunLog) -> Vec<Figure> {
    let Some(packets) = &log.packets else { return Vec::new() };
    let mut figures = Figures::default();
    flow_figures(case, log, packets, &mut figures);
    counts(case, packets, &mut figures);
    let length = length(case, log);
    pauses(case, log, packets, &length, &mut figures);
    queues(case, packets, &mut figures);
    nic_port_queues(case, log, packets, &length, &mut figures);
    if let (Some((cnps, ports)), Some(seconds)) = (cnps_at_nics(case, log, packets), length) {
        let note = "over NIC ports that sent anything";
        let value = seconds.map(|seconds| cnps / ports / seconds);
        figures.push_or(declared::CNPS_PER_NIC_PORT, value, note);
    }
    let note = "from sending a data packet until its acknowledgement is there";
    spread(&ROUND_TRIP, &packets.round_trip, note, &mut figures);
    bandwidth_delay(case, packets, &mut figures);
    let note = "time that a message waited at its sender for clearance";
    spread(&CLEARANCE_WAIT, &packets.clearance_wait, note, &mut figures);
    figures.0
}

/// Transfers that began and never ended, without those of jobs whose processes were ended: these were cut off as asked.
pub fn unfinished(case: &Case, log: &RunLog, packets: &PacketLog) -> usize {
    let jobs = 0..case.work.jobs.len();
    let asked: Vec<bool> = jobs.map(|row| stops::Stop::was_asked_for(case, row, log)).collect();
    let left = packets.flows.iter().filter(|flow| flow.end == SimTime::NEVER);
    left.filter(|flow| !asked[case.work.job_of(OperationId(flow.operation))]).count()
}

fn flow_figures(case: &Case, log: &RunLog, packets: &PacketLog, figures: &mut Figures) {
    let times = completion_times(packets);
    let unfinished = unfinished(case, log, packets);
    // The times of those that ended say nothing of those that did not, which are the longest.
    let of = |value: Option<f64>| match (unfinished, value) {
        (0, Some(value)) => Ok(value),
        (0, None) if packets.flows.is_empty() => Err("there are no transfers".to_owned()),
        (0, None) => Err("no transfer ended before its job did".to_owned()),
        _ => Err(format!("{unfinished} of {} transfers did not end", packets.flows.len())),
    };
    let mean = (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64);
    let note = "flow completion time: from the first message handed to the NIC until the last byte arrived";
    for (declared, value) in [
        (declared::FCT_MEAN, mean),
        (declared::FCT_P50, quantile(&times, 0.5)),
        (declared::FCT_P99, quantile(&times, 0.99)),
        (declared::FCT_MAX, times.last().copied()),
    ] {
        figures.push_or(declared, of(value), note);
    }
    let note =
        "transfers that began and whose last byte never arrived, without those of jobs that ended as asked";
    figures.push(declared::PACKET_FLOWS_UNFINISHED, unfinished as f64, note);
}

fn counts(case: &Case, packets: &PacketLog, figures: &mut Figures) {
    let counts = &packets.counts;
    let all = [
        (declared::PACKET_HOPS, counts.packet_hops, "packets that crossed a link, each counted on each"),
        (declared::PACKETS_SENT, counts.data, "data packets sent by NICs, those sent again included"),
        (declared::PACKETS_SENT_AGAIN, counts.sent_again, "data packets"),
        (declared::PACKETS_DROPPED, counts.dropped, "for want of room"),
        (declared::PACKETS_LOST, counts.lost, "to dead cables, lossy links and for want of a route"),
        (declared::PACKETS_MARKED, counts.marked, "data packets marked at least once"),
        (declared::PACKETS_TRIMMED, counts.trimmed, "data packets that lost their payload in a switch"),
        (
            declared::OUT_OF_SEQUENCE,
            counts.out_of_sequence,
            "data packets that arrived with a gap before them",
        ),
        (declared::ACK_TIMEOUTS, counts.ack_timeouts, "local ACK timeouts"),
        (declared::PROBES, counts.probes, "data packets, where receivers take them out of order"),
        (declared::CNPS, counts.cnps, "congestion notification packets"),
        (declared::PAUSE_FRAMES, counts.pause_frames, "renewals included"),
        (declared::PAUSE_RENEWALS, counts.pause_renewals, "of the pause frames"),
        (declared::RESUME_FRAMES, counts.resume_frames, "pause frames of no time"),
    ];
    for (of, value, note) in all {
        figures.push(of, value as f64, note);
    }
    let note = "of the queue pair with most; 0 where receivers take packets in order alone";
    let span = counts.reorder_packets_max.saturating_mul(case.packets.keys.full());
    figures.push(declared::REORDER_BYTES_MAX, span as f64, note);
    let held = SimTime::from_ps(counts.reorder_held_ps).seconds();
    figures.push(declared::REORDER_HELD_TIME, held, "sum over queue pairs");
}

/// Pause frames by who sent them to whom: against the direction of the link that they stop.
fn pauses(case: &Case, log: &RunLog, packets: &PacketLog, length: &Length, figures: &mut Figures) {
    for ((source, target), links) in links_by_hop(&case.fabric) {
        let name = format!("{}_to_{}", ENDS[usize::from(target)], ENDS[usize::from(source)]);
        let frames: u64 = links.iter().map(|&link| u64::from(at(&packets.links.pause_frames, link))).sum();
        let note = "sender to receiver of the frame";
        figures.push(declared::PAUSE_FRAMES_HOP.of(&name), frames as f64, note);
        let Some(length) = length else { continue };
        let share = length.clone().map(|_| paused(log, packets, &links));
        let note = "of the run, by sender and receiver of the pause frames;";
        let (max, mean) = (share.clone().map(|share| share.max), share.map(|share| share.mean));
        figures.push_or(declared::PAUSED_SHARE_MAX.of(&name), max, &format!("{note} worst link"));
        let note = format!("{note} mean over links that carried anything");
        figures.push_or(declared::PAUSED_SHARE_MEAN.of(&name), mean, &note);
    }
}

/// Part of the run for which links stood still by pauses, 0..1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PausedShare {
    /// Of the worst link.
    pub max: f64,
    /// Mean over links that carried anything or were paused; 0 where none did.
    pub mean: f64,
}

/// How long pauses held `links`, as part of the run.
pub fn paused(log: &RunLog, packets: &PacketLog, links: &[LinkId]) -> PausedShare {
    let run = log.counted().ps().max(1) as f64;
    let share = |link: LinkId| at(&packets.links.paused_ps, link) as f64 / run;
    let used = links.iter().filter(|&&link| at(&log.link_bytes, link) > 0.0 || share(link) > 0.0);
    let shares: Vec<f64> = used.map(|&link| share(link)).collect();
    PausedShare {
        max: shares.iter().copied().fold(0.0, f64::max),
        mean: shares.iter().sum::<f64>() / shares.len().max(1) as f64,
    }
}

/// Where a queue stands and which way it leads; none for NICs, whose queues are in the memory of their hosts.
fn queue_place(fabric_hop: Hop) -> Option<String> {
    let (source, target) = fabric_hop;
    let way = if target > source { "up" } else { "down" };
    (source > 0).then(|| format!("{}_{way}", ENDS[usize::from(source)]))
}

fn queues(case: &Case, packets: &PacketLog, figures: &mut Figures) {
    for (hop, links) in links_by_hop(&case.fabric) {
        let Some(place) = queue_place(hop) else { continue };
        let most = links.iter().map(|&link| at(&packets.links.queue_bytes_max, link)).max().unwrap_or(0);
        figures.push(
            declared::QUEUE_BYTES_MAX.of(&place),
            most as f64,
            "most bytes that waited for one link",
        );
    }
    for (tier, name) in (0_u8..).zip(ENDS).skip(1) {
        let buffers = buffers(&case.fabric, packets, tier);
        let Some(most) = buffers.iter().copied().max() else { continue };
        let mean = buffers.iter().sum::<u64>() as f64 / buffers.len() as f64;
        let note = "most bytes in the buffer of a switch";
        figures.push(declared::BUFFER_BYTES_MAX.of(name), most as f64, &format!("{note}, fullest one"));
        let note = format!("{note}, mean over switches of the tier");
        figures.push(declared::BUFFER_BYTES_MEAN.of(name), mean, &note);
    }
}

/// Queues at the leaves' ports down to the ports of one NIC, in the mean over the run (HPN section 6.1, figure 14).
fn nic_port_queues(case: &Case, log: &RunLog, packets: &PacketLog, length: &Length, figures: &mut Figures) {
    let nics = links_into(case, log);
    let Some(length) = length.as_ref().filter(|_| !nics.is_empty()) else { return };
    let seconds = length.as_ref().copied().unwrap_or(f64::NAN);
    let waiting = &packets.links.queue_byte_seconds;
    let mean = |link: &LinkId| waiting.get(link.index()).copied().unwrap_or(0.0) / seconds;
    let over =
        |of: &dyn Fn(&[LinkId]) -> f64| nics.iter().map(|nic| of(nic)).sum::<f64>() / nics.len() as f64;
    let longest = |nic: &[LinkId]| nic.iter().map(mean).fold(0.0, f64::max);
    let note = "bytes that wait at leaves for a port of a NIC, mean over the run";
    let mut push = |of: Declared, value: f64, words: &str| {
        figures.push_or(of, length.clone().map(|_| value), &format!("{note}; {words}"));
    };
    let of_all = over(&|nic| nic.iter().map(mean).sum::<f64>() / nic.len() as f64);
    push(declared::NIC_PORT_QUEUE_MEAN, of_all, "mean over all ports");
    push(declared::NIC_PORT_QUEUE_LONGEST, over(&longest), "the port of each NIC with most, mean over NICs");
    let shortest = over(&|nic| nic.iter().map(mean).fold(f64::INFINITY, f64::min));
    push(declared::NIC_PORT_QUEUE_SHORTEST, shortest, "the port of each NIC with least, mean over NICs");
    let worst = nics.iter().map(|nic| longest(nic)).fold(0.0, f64::max);
    push(declared::NIC_PORT_QUEUE_WORST, worst, "the port with most of all");
}

/// Most bytes in the buffer of each switch of a tier.
fn buffers(fabric: &Fabric, packets: &PacketLog, tier: u8) -> Vec<u64> {
    let switches = fabric.switches().iter().zip(&packets.buffer_bytes_max);
    switches.filter(|((_, place), _)| place.tier == tier).map(|(_, &bytes)| bytes).collect()
}

/// CNPs for queue pairs by the NIC ports that they send by, and the number of those ports that sent anything.
fn cnps_at_nics(case: &Case, log: &RunLog, packets: &PacketLog) -> Option<(f64, f64)> {
    let hops = links_by_hop(&case.fabric);
    let links = hops.get(&(0, 1))?;
    let used = links.iter().filter(|&&link| at(&log.link_bytes, link) > 0.0).count();
    let cnps: u64 = links.iter().map(|&link| u64::from(at(&packets.links.cnps, link))).sum();
    (used > 0).then_some((cnps as f64, used as f64))
}

/// What the fastest NIC port has to have in flight to be busy all the time, in bytes and in messages.
fn bandwidth_delay(case: &Case, packets: &PacketLog, figures: &mut Figures) {
    let hops = links_by_hop(&case.fabric);
    let Some(links) = hops.get(&(0, 1)).filter(|_| packets.round_trip.count > 0) else { return };
    let rate = links.iter().map(|&link| case.fabric.capacity(link).bits_per_s()).max().unwrap_or(0);
    let product = packets.round_trip.min * rate as f64 / 8.0;
    let note = "least round trip times the rate of the fastest NIC port";
    figures.push(declared::BANDWIDTH_DELAY_BYTES, product, note);
    let largest = case.packets.largest_message(case.routing.message);
    let message =
        case.packets.keys.admission.map_or(largest, |admission| largest.min(admission.buffer.0)).max(1);
    let note = "largest messages in the bandwidth-delay product";
    figures.push(declared::BANDWIDTH_DELAY_MESSAGES, product / message as f64, note);
}

/// A figure of a spread, and what of it it is.
type Part = (Declared, fn(&Spread) -> f64);

const ROUND_TRIP: [Part; 4] = [
    (declared::ROUND_TRIP_MIN, |spread| spread.min),
    (declared::ROUND_TRIP_P50, |spread| spread.p50),
    (declared::ROUND_TRIP_P90, |spread| spread.p90),
    (declared::ROUND_TRIP_P99, |spread| spread.p99),
];
const CLEARANCE_WAIT: [Part; 3] = [
    (declared::CLEARANCE_WAIT_P50, |spread| spread.p50),
    (declared::CLEARANCE_WAIT_P90, |spread| spread.p90),
    (declared::CLEARANCE_WAIT_MEAN, |spread| spread.mean),
];

fn spread(parts: &[Part], spread: &Spread, note: &str, figures: &mut Figures) {
    if spread.count == 0 {
        return;
    }
    for (declared, of) in parts {
        figures.push(*declared, of(spread), note);
    }
}

#[cfg(test)]
mod tests {
    use super::figures;
    use crate::figures::is_of_run;
    use crate::packet_sample::{Given, run_with};

    #[test]
    fn figures_tell_who_paused_whom_and_are_of_the_run() {
        let run = run_with(&Given::default());
        let (case, log) = (&run.resolved.case, &run.simulation.as_ref().unwrap().log);
        let all = figures(case, log);
        assert!(all.iter().all(|figure| is_of_run(&figure.name)), "{all:?}");
        let value = |name: &str| all.iter().find(|figure| figure.name == name).unwrap().value.unwrap();
        // Links from a leaf to a NIC stand still when the NIC says so.
        let packets = log.packets.as_ref().unwrap();
        let frames: u32 = packets.links.pause_frames.iter().sum();
        assert!(frames > 0);
        assert_eq!(value("pause_frames_nic_to_leaf"), f64::from(frames));
        assert_eq!(value("pause_frames_leaf_to_nic"), 0.0);
        assert_eq!(value("pause_frames_spine_to_leaf"), 0.0);
        assert_eq!(value("pause_frames"), 9.0);
        assert!((value("paused_share_nic_to_leaf_max") - 0.4).abs() < 1e-6);
        assert!((0.0..0.4).contains(&value("paused_share_nic_to_leaf_mean")));
        assert_eq!(value("packet_flows_unfinished"), 1.0);
        // 100 transfers of 10 to 109 microseconds, and one that never ended and is longer than all of them.
        let fct = all.iter().find(|figure| figure.name == "fct_max").unwrap();
        assert_eq!((fct.value, fct.reason.as_str()), (None, "1 of 101 transfers did not end"));
        assert_eq!(value("round_trip_p99"), 8e-6);
        assert_eq!((value("leaf_buffer_bytes_max"), value("leaf_buffer_bytes_mean")), (2_000.0, 1_500.0));
        assert_eq!(value("spine_buffer_bytes_max"), 4_000.0);
        assert!(value("queue_bytes_max_leaf_down") >= 10_000.0);
        assert!(!all.iter().any(|figure| figure.name.starts_with("clearance_wait")), "nobody waited");
        let mut names: Vec<&str> = all.iter().map(|figure| figure.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }
}
