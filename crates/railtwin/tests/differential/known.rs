//! Differences between the engines that are known, each with its reason.
use crate::differential::trial::Fault;
use crate::differential::{Facts, is_near};

/// A difference that is known.
pub struct Known {
    /// What it is called.
    pub name: &'static str,
    /// Why flows and packets differ, in physics.
    pub reason: &'static str,
    /// A trial that shows it.
    pub case: u64,
    /// Whether a trial can show it in a figure of a job.
    pub holds: fn(&Facts, usize, &str) -> bool,
}

/// Bytes of a message of a collective library.
const MESSAGE: u64 = 512 << 10;
/// Share of a timeout from which a wait is one for the timer.
const NEARLY: f64 = 0.9;

/// All that are known; a disagreement is the first that holds.
pub const KNOWN: &[Known] = &[
    Known {
        name: "timer shorter than the queue",
        reason: "ACK timers run out in queues without any fault; flows have no queues",
        case: 67,
        holds: |facts, _, _| {
            facts.whole_packets.timeouts > 0.0 || facts.whole_packets.jobs.iter().any(|job| job.halted)
        },
    },
    Known {
        name: "sprayed queue pair",
        reason: "packets send again what was lost, over other paths; in flows the whole queue pair waits for its lost path",
        case: 10,
        holds: |facts, _, _| facts.trial.balancer == "spray" && facts.breaks(),
    },
    Known {
        name: "resume after a timeout",
        reason: "`resume` other than `nak` has flows wait for the timer; packets go on when a packet that follows is refused",
        case: 35,
        holds: |facts, job, _| {
            let waits = facts.flows.iter().any(|flows| flows.jobs[job].stall >= NEARLY * facts.trial.timeout);
            facts.trial.resume != "nak" && facts.breaks() && waits
        },
    },
    Known {
        name: "last packets lost",
        reason: "where all that was under way is lost, only the next message or the timer tells; flows go on when the path does",
        case: 36,
        holds: |facts, job, what| {
            let packets = facts.packets.jobs[job];
            let is_longer = facts.flows.iter().all(|flows| flows.jobs[job].stall < packets.stall);
            facts.breaks() && what != "step_time" && (packets.halted || is_longer)
        },
    },
    Known {
        name: "steps that overlap",
        reason: "a step is told from its first host's start to its last host's end; hosts that wait for nobody run ahead, in packets only",
        case: 19,
        holds: |facts, job, what| {
            let paces = facts.flows.iter().map(|flows| flows.jobs[job].pace);
            let slack = facts.trial.store_and_forward(job);
            what == "step_time" && is_near(facts.packets.jobs[job].pace, paces, slack)
        },
    },
    Known {
        name: "latency of a tree",
        reason: "flows pay every stage of a tree at its longest hop, packets its longest way: hops inside hosts are shorter",
        case: 20,
        holds: |facts, job, what| {
            let drawn = &facts.trial.jobs[job];
            let is_less = facts.whole_packets.jobs[job].pace < facts.whole.jobs[job].pace;
            what == "step_time" && facts.trial.has_gpus && drawn.kind == "all-reduce" && is_less
        },
    },
    Known {
        name: "queue beside another job",
        reason: "who comes first to a queue goes first, in packets; flows share a link at once and evenly",
        case: 84,
        holds: |facts, _, what| what == "step_time" && facts.trial.jobs.len() > 1,
    },
    Known {
        name: "fewer messages than queue pairs",
        reason: "a message is on one queue pair, and stages of few messages leave some idle; flows use all queue pairs evenly",
        case: 293,
        holds: |facts, job, what| {
            let drawn = &facts.trial.jobs[job];
            let of_stage = drawn.bytes / drawn.hosts;
            let messages = of_stage.div_ceil(MESSAGE);
            let is_more = facts.packets.jobs[job].pace > facts.whole.jobs[job].pace;
            what == "step_time" && messages < 2 * facts.trial.queue_pairs && is_more
        },
    },
    Known {
        name: "slow receiver",
        reason: "packets fill the buffer of a slow NIC before they pause its leaf and all behind it, and a hop of a ring that \
                 has room has run ahead by then; flows slow the whole ring at once",
        case: 229,
        holds: |facts, _, _| facts.trial.faults.iter().any(|fault| fault.kind == "slow"),
    },
    Known {
        name: "own port that is dark",
        reason: "a NIC holds packets back while its own port is dark, and sends them when it has light; flows lose them",
        case: 224,
        holds: |facts, job, what| {
            let is_port = |fault: &Fault| fault.kind != "slow" && !fault.place.contains("uplink");
            facts.waits_less(job, what) && facts.trial.faults.iter().any(is_port)
        },
    },
    Known {
        name: "packets sent again",
        reason: "after a loss a queue pair sends again all that was under way, which flows do not count",
        case: 6158,
        holds: |facts, _, what| facts.breaks() && what == "step_time" && facts.packets.sent_again > 0.0,
    },
];
