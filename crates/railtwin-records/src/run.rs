//! The tables of a run folder: names and columns, with units and meaning.

/// A column as documented: name, type, meaning.
pub type ColumnDoc = (&'static str, &'static str, &'static str);

/// A table as documented.
#[derive(Clone, Copy, Debug)]
pub struct TableDoc {
    /// Name and file stem.
    pub name: &'static str,
    /// What one row is.
    pub row: &'static str,
    /// Its columns in order.
    pub columns: &'static [ColumnDoc],
}

/// All tables that a run writes.
pub const TABLES: &[TableDoc] = &[
    TableDoc {
        name: "steps",
        row: "one training step of one job in one replicate",
        columns: &[
            ("replicate", "u32", "which draw of the hash seeds"),
            ("job", "text", "job name"),
            ("step", "u32", "index of the step"),
            ("start_ps", "u64", "start of its first operation"),
            ("duration_ps", "u64", "from the start to the end of its last operation"),
        ],
    },
    TableDoc {
        name: "exposed",
        row: "one axis of one job: of a step, mean over its lanes and its steps that ended in the chosen replicate; no row \
              where none ended",
        columns: &[
            ("job", "text", "job name"),
            ("axis", "text", "compute, tp, pp, dp, ep, dp_ep, other, storage, idle"),
            (
                "exposed_ps",
                "u64",
                "time of a step that belongs to this axis alone: nothing before it in the order compute, tp, ep, dp, dp_ep, \
                 other, pp, storage ran; all axes and idle together are the step time",
            ),
            ("busy_ps", "u64", "time of a step in which any operation of the axis ran"),
            ("bytes", "u64", "bytes handed to the axis' collectives in a step"),
        ],
    },
    TableDoc {
        name: "operations",
        row: "one operation of one lane",
        columns: &[
            ("job", "text", "job name"),
            ("lane", "text", "rank class, such as a pipeline stage"),
            ("axis", "text", "compute, tp, pp, dp, ep, dp_ep, other, storage"),
            ("kind", "text", "compute, all-reduce, all-gather, reduce-scatter, all-to-all, send-receive"),
            ("name", "text", "name in the workload"),
            ("start_ps", "u64", "start"),
            ("end_ps", "u64", "end"),
            ("bytes", "u64", "bytes of the operation"),
        ],
    },
    TableDoc {
        name: "flows",
        row: "one queue pair's path of one collective pattern",
        columns: &[
            ("pattern", "u32", "which communication pattern"),
            ("bundle", "u32", "which bundle of the pattern moves it"),
            ("source", "text", "source NIC"),
            ("target", "text", "target NIC"),
            ("source_port", "u32", "UDP source port"),
            ("queue_pair", "u32", "index of the queue pair in its connection"),
            ("landed_port", "u32", "port of the target NIC that the flow landed on"),
            ("bytes", "u64", "bytes carried over the run"),
        ],
    },
    TableDoc {
        name: "links",
        row: "one link of the network (NIC to NIC), in id order",
        columns: &[
            ("link", "u32", "link id"),
            ("source", "text", "device that the link leaves"),
            ("target", "text", "device that it enters"),
            ("class", "text", "access, leaf-spine, spine-core"),
            ("up", "u32", "1 = away from the hosts"),
            ("capacity_bits_per_s", "u64", "capacity"),
            (
                "bytes",
                "u64",
                "bytes carried until the last operation ended, or until the run stood still where one never did",
            ),
            ("utilization", "f64", "bytes over what the link could have carried in that time, 0..1"),
            ("flows", "u32", "queue pairs whose path crosses it"),
        ],
    },
    TableDoc {
        name: "incidents",
        row: "one event on the run's clock, in order of time: a fault or repair that acted, what a job noticed of it, begin \
              and end of an injected fault, or a finding",
        columns: &[
            ("at_ps", "u64", "when"),
            ("cable", "text", "cable that it happened to; empty for what happened to something else"),
            (
                "job",
                "text",
                "job that it happened to, or that of the rank; empty for what happened to something else",
            ),
            (
                "device",
                "text",
                "switch whose buffer filled, or NIC or switch that a pause kept from sending on the cable; \
                 of a fault or finding its host, switch, NIC or GPU; else empty",
            ),
            (
                "kind",
                "text",
                "down or up of a cable; of a job stalled (a queue pair lost packets), resumed (none waits), halted (one died); \
                 of a link paused (for longer than the watchdog allows); \
                 of a switch filled (more of its buffer than the alarm allows); \
                 fault or fault-end: a row of faults begins or ends; finding: a row of findings",
            ),
            (
                "from_ps",
                "u64",
                "begin of the span that it is about: of a fault, or of the interval in which the cause of a finding began; \
                 else at_ps",
            ),
            ("until_ps", "u64", "end of that span; 2^64-1 for a fault that stays"),
            (
                "component_kind",
                "text",
                "kind of the component: as in faults and suspects; empty for a job's incident",
            ),
            (
                "component",
                "text",
                "the component: of a finding its likeliest suspect; empty where there is none",
            ),
            (
                "fault",
                "text",
                "kind of the fault, or the kinds that a finding considers with spaces between; empty for incidents",
            ),
            ("observed", "u32", "1 = at_ps lies within the observed time: the engine's run and telemetry"),
        ],
    },
    TableDoc {
        name: "actions",
        row: "one decision of a controller that took effect, or was to; with `[cluster]` of queue, placement and sharing, too",
        columns: &[
            ("decided_ps", "u64", "when it was decided"),
            ("effective_ps", "u64", "when it takes effect; the largest number where it never does"),
            ("controller", "text", "who decided"),
            (
                "action",
                "text",
                "path, weight, priority, read, probe, entry-add, entry-replace, entry-remove, isolate, swap, restart, place",
            ),
            ("reason", "text", "why"),
            ("job", "text", "job that it concerns; empty where it is none's"),
            (
                "subject",
                "text",
                "what it acts on: a queue pair, an ingress port and prefix of a leaf, a host, GPUs or transfers of the job",
            ),
            ("before", "text", "what it was; empty where nothing was"),
            ("after", "text", "what it is then; empty where nothing is"),
            (
                "moved",
                "u32",
                "queue pairs, entries, ranks or transfers that it moved, or is to; 0 where it never takes effect",
            ),
        ],
    },
    TableDoc {
        name: "standstills",
        row: "one time that the job stood still in the life that `[steering]` shows; times are real ones, 2^64-1 where the \
              life ended before",
        columns: &[
            ("job", "text", "job name"),
            ("cause", "text", "what it is booked as: ecc-nvlink, cuda, ccl-timeout, ack-timeout, unknown"),
            (
                "kind",
                "text",
                "kind of the fault; empty where a host went that no fault of the job had stopped",
            ),
            ("subject", "text", "part that failed, or host that went"),
            ("source", "text", "process and rate that drew it; empty without a fault"),
            (
                "found_by",
                "text",
                "detectors; watchdog: people after it; start: it failed before the first step; controller: a job that ran \
                 was stopped",
            ),
            ("checkpoint_ps", "u64", "when the last checkpoint was whole"),
            ("failed_ps", "u64", "when the job stood still"),
            ("detected_ps", "u64", "when somebody knew"),
            ("isolated_ps", "u64", "when the culprit was out, or what was no host was mended"),
            ("replaced_ps", "u64", "when every place was taken, so that processes started"),
            ("restarted_ps", "u64", "when steps ran again, or the next fault showed before the first"),
        ],
    },
    TableDoc {
        name: "lives",
        row: "one life of the job that `[steering]` ran; shares are of its time and sum to 1 but for rounding",
        columns: &[
            ("seed", "u64", "seed of its draws"),
            ("shown", "u32", "1 = the life that the other tables are of, whose downtime is the median"),
            ("post_checkpoint", "f64", "share of work since the last checkpoint that is done again"),
            ("detection", "f64", "share until somebody knew"),
            ("diagnosis", "f64", "share until the culprit was out"),
            ("reinitialisation", "f64", "share until steps ran again"),
            ("waiting", "f64", "share until a spare was there"),
            ("checkpointing", "f64", "share of saving checkpoints"),
            ("slow_steps", "f64", "share that steps took longer under faults"),
            ("productive", "f64", "share of all other steps"),
            ("crashes", "u32", "faults that stopped the job"),
            ("steps", "u64", "steps that no crash took back"),
        ],
    },
    TableDoc {
        name: "throughput",
        row: "one job in one bucket of time; there where `[run] throughput` asks for it",
        columns: &[
            ("job", "text", "job name"),
            (
                "time_s",
                "f64",
                "start of the bucket; buckets follow each other from 0 on and are equally wide",
            ),
            ("bytes", "u64", "bytes that arrived at NICs for the job within the bucket"),
            ("steps_ended", "u32", "steps of the job that ended within the bucket"),
        ],
    },
    TableDoc {
        name: "jobs",
        row: "one job of weeks of them, in the order in which they came; with `[cluster]`",
        columns: &[
            ("name", "text", "job name"),
            ("class", "text", "class of its model"),
            ("gpus", "u32", "GPUs"),
            ("submitted_s", "f64", "seconds from the begin"),
            ("started_s", "f64", "the same; NaN where it did not start"),
            ("ended_s", "f64", "the same; NaN where it did not end"),
            ("steps", "f64", "steps that ended"),
            ("step_alone_s", "f64", "seconds of a step alone; 0 where it did not start"),
            ("communication_s", "f64", "seconds of communication of a step alone"),
            (
                "slowdown",
                "f64",
                "times that it ran of what it would have run alone; NaN where it did not end",
            ),
            ("contended_s", "f64", "seconds in which it shared a link that could not serve all at once"),
            ("shared_a_link", "u32", "1 = another's traffic crossed a link of its"),
            (
                "held",
                "text",
                "GPUs that it had, counted over all hosts, as first-last of each run with spaces between",
            ),
        ],
    },
    TableDoc {
        name: "hours",
        row: "one hour of weeks of jobs; with `[cluster]`",
        columns: &[
            ("hour", "u32", "hour, counted from 0; the last may be cut off by the end"),
            ("occupancy", "f64", "share of all GPUs that jobs held"),
            ("gpu_utilization", "f64", "share of the held GPUs' time in which they computed; NaN without"),
            ("waiting", "f64", "jobs in the queue, mean"),
            ("contending", "f64", "jobs that contended, mean"),
            (
                "gpu_intensity",
                "f64",
                "GPU-seconds of computation for each second of communication that links carried; NaN without",
            ),
            (
                "inference_link_share",
                "f64",
                "share of the fullest link that inference takes in this hour of the day; NaN where nobody serves",
            ),
        ],
    },
    TableDoc {
        name: "contended",
        row: "two jobs that contended, those first that did longest, 2,000 at most; with `[cluster]`",
        columns: &[
            ("job", "u32", "row in jobs"),
            ("other", "u32", "row in jobs"),
            ("seconds", "f64", "for how long"),
        ],
    },
    TableDoc {
        name: "queues",
        row: "one network link in one sample of the chosen replicate, where anything waited or a pause held it; \
              packet engine only, where samples are asked for",
        columns: &[
            (
                "time_s",
                "f64",
                "start of the sample; samples follow each other from 0 on and are equally wide",
            ),
            ("link", "u32", "link id, as in links"),
            ("source", "text", "device that the link leaves: where the bytes wait"),
            ("target", "text", "device that it enters: who sent the pauses"),
            ("queue_bytes_max", "u64", "most bytes that waited for the link within the sample"),
            ("paused_share", "f64", "part of the sample for which pauses held the link, 0..1"),
        ],
    },
    TableDoc {
        name: "packet_flows",
        row: "one transfer over one edge of one operation in the chosen replicate, all its messages together, \
              that came to its end; packet engine only",
        columns: &[
            ("operation", "u32", "operation, by its number over the whole case"),
            ("pattern", "u32", "which communication pattern, as in flows"),
            ("source", "text", "NIC that sent"),
            ("target", "text", "NIC that received"),
            ("bytes", "u64", "bytes of the transfer"),
            ("start_ps", "u64", "when its first message was handed to the NIC"),
            ("end_ps", "u64", "when its last byte arrived"),
            ("fct_ps", "u64", "flow completion time: from start to end"),
        ],
    },
    TableDoc {
        name: "link_packets",
        row: "one network link in the chosen replicate, in id order as in links; packet engine only",
        columns: &[
            ("link", "u32", "link id, as in links"),
            ("source", "text", "device that the link leaves: who was told to stop"),
            ("target", "text", "device that it enters: who sent the pause frames"),
            ("pause_frames", "u32", "pause frames that told the source to stop, renewals included"),
            ("pause_renewals", "u32", "of these, those that renewed a pause before it ran out"),
            ("resume_frames", "u32", "pause frames of no time, which let the source go on"),
            ("paused_ps", "u64", "time for which pauses held the link"),
            ("queue_bytes_max", "u64", "most bytes that waited for the link"),
            ("queue_bytes_mean", "f64", "bytes that waited for the link, mean over the run"),
            ("dropped", "u32", "packets for the link that were dropped for want of room"),
            ("cnps", "u32", "CNPs for queue pairs that send by this link, where it leaves a NIC"),
        ],
    },
    TableDoc {
        name: "ranks",
        row: "one rank that telemetry is of; there where telemetry is asked for",
        columns: &[
            ("job", "text", "job name"),
            ("rank", "u32", "number in its job"),
            ("host", "text", "host that it runs on"),
            ("gpu", "u32", "its GPU in the host"),
            ("nic", "u32", "backend NIC of that GPU in the host"),
        ],
    },
    TableDoc {
        name: "communicators",
        row: "one rank of one communicator, in its order",
        columns: &[
            ("communicator", "u32", "communicator, counted from 0"),
            ("job", "text", "job name"),
            ("name", "text", "its name or hash"),
            ("axis", "text", "tp, pp, dp, ep, dp_ep, other"),
            ("rank_row", "u32", "row in ranks"),
        ],
    },
    TableDoc {
        name: "rank_operations",
        row: "one rank's share of one operation of one communicator",
        columns: &[
            ("communicator", "u32", "as in communicators"),
            ("rank_row", "u32", "row in ranks"),
            ("sequence", "u32", "number of the operation in its communicator"),
            ("kind", "text", "all-reduce, all-gather, reduce-scatter, all-to-all, send-receive, …"),
            ("algorithm", "text", "ring, tree, …; empty where it is not told"),
            ("data_type", "text", "float32, …; empty where it is not told"),
            ("bytes", "u64", "bytes as nccl-tests counts them"),
            ("enter_ns", "u64", "when the rank entered, on the clock of its host"),
            ("end_ns", "u64", "when it left; 2^64-1 while it is within"),
            ("source", "text", "engine, live, or the format that it was imported from"),
        ],
    },
    TableDoc {
        name: "queue_pairs",
        row: "one queue pair between two NICs",
        columns: &[
            ("source_rank_row", "u32", "sending rank, row in ranks"),
            ("target_rank_row", "u32", "receiving rank, row in ranks"),
            ("source_nic", "text", "sending NIC"),
            ("target_nic", "text", "receiving NIC"),
            ("nic_port", "u32", "port of the sending NIC"),
            ("queue_pair", "u32", "number of the queue pair at the source"),
            ("source_port", "u32", "UDP source port; 0 where it is not told"),
            (
                "links",
                "text",
                "link ids from NIC to NIC with spaces between; empty where the path is not known",
            ),
        ],
    },
    TableDoc {
        name: "messages",
        row: "what one queue pair sent in one operation, over a run of stages of its algorithm",
        columns: &[
            ("communicator", "u32", "as in communicators"),
            ("sequence", "u32", "number of the operation"),
            ("channel", "u32", "channel of the algorithm"),
            ("queue_pair_row", "u32", "row in queue_pairs"),
            ("stage", "u32", "first stage of the algorithm that the row covers"),
            ("stages", "u32", "number of stages that it covers"),
            ("messages", "u32", "messages"),
            ("bytes", "u64", "bytes"),
            ("network_ns", "u64", "time from post to completion"),
            ("data_wait_ns", "u64", "time in which the sender had nothing to send: upstream is late"),
            ("credit_wait_ns", "u64", "time in which the receiver had no buffer: downstream is late"),
            ("receive_wait_ns", "u64", "time in which the receiver had a buffer and nothing came"),
            (
                "first_wait_stage",
                "u32",
                "first stage at which the receiver waited for longer than a stage takes; stage + stages where it never did",
            ),
            ("source", "text", "engine, live, or the format that it was imported from"),
        ],
    },
    TableDoc {
        name: "counters",
        row: "one reading of one counter",
        columns: &[
            ("time_ns", "u64", "when it was read"),
            ("component_kind", "text", "nic, cable, link, switch, gpu, host, rank, storage"),
            ("component", "text", "what has the counter"),
            ("device", "u32", "its device in the fabric; 2^32-1 where it is not known"),
            ("link", "u32", "link that leaves the counted port; 2^32-1 where it is not known"),
            (
                "counter",
                "text",
                "which: out_of_sequence, ack_timeouts, link_downs, link_up, receive_errors, drops, …",
            ),
            ("value", "f64", "its value: a total, or for gauges what it is"),
            ("source", "text", "engine, live, or the format that it was imported from"),
        ],
    },
    TableDoc {
        name: "probes",
        row: "one round of probes from one NIC to another, or one probe of a controller's survey in the run",
        columns: &[
            ("time_ns", "u64", "when it ended"),
            ("queue_pair_row", "u32", "row in queue_pairs: who probed whom over which path"),
            (
                "loaded",
                "u32",
                "1 = the cluster was at work; of a survey in a run, a link there or back carried more than half of what it can",
            ),
            ("sent", "u32", "probes sent"),
            ("lost", "u32", "probes that were not answered"),
            (
                "delay_ns",
                "u64",
                "median time one way, of a survey in a run half of that there and back; 0 when all were lost",
            ),
            ("bits_per_s", "f64", "rate of a bandwidth probe; 0 where only delay was probed"),
            ("source", "text", "engine, live, or the format that it was imported from"),
        ],
    },
    TableDoc {
        name: "neighbors",
        row: "one port and the one that it hears at the far end of its cable (LLDP); there where counters are asked for",
        columns: &[
            ("port", "text", "the port nearer to the hosts, such as host-3/nic-1:port-0"),
            ("neighbor", "text", "device at the far end, as it calls itself"),
            ("neighbor_port", "text", "its port, as it calls it"),
            ("source", "text", "where the records come from, as in rank_operations"),
        ],
    },
    TableDoc {
        name: "observation",
        row: "a moment at which all that had been told was taken in; the first is the beginning, the last the end of observation",
        columns: &[
            ("until_ns", "u64", "when, on the clock of the controller"),
            ("rank_operations", "u64", "rows of that table known by then; 2^64-1 once it takes no more"),
            ("messages", "u64", "rows of that table known by then; 2^64-1 once it takes no more"),
            ("counters", "u64", "rows of that table known by then; 2^64-1 once it takes no more"),
            ("probes", "u64", "rows of that table known by then; 2^64-1 once it takes no more"),
            ("source", "text", "engine, live, or the format that it was imported from"),
        ],
    },
    TableDoc {
        name: "findings",
        row: "one thing that diagnosis found",
        columns: &[
            ("at_ns", "u64", "when it was found"),
            (
                "since_from_ns",
                "u64",
                "it began at this time at the earliest: the begin of the last normal window; 0 where records show none",
            ),
            (
                "since_until_ns",
                "u64",
                "it began by this time: the end of the first window that was not normal",
            ),
            ("syndrome", "text", "communication-slow, non-communication-hang, collision, …"),
            ("faults", "text", "faults that would look like this, the likeliest first, with spaces between"),
            ("confidence", "f64", "that the fault is within the suspects, 0..1"),
            (
                "severity",
                "f64",
                "how far records deviate: share of the time of a message, operation or step beyond what is usual; \
                 1 for what stands still",
            ),
            (
                "time_lost_s",
                "f64",
                "seconds that steps took longer than those before it; NaN where steps before or after are not known",
            ),
            (
                "time_lost_share",
                "f64",
                "the cost: share of the job's time since it began that is lost against the state before; NaN likewise",
            ),
            ("advice", "text", "what would tell the suspects apart, or what is missing"),
        ],
    },
    TableDoc {
        name: "suspects",
        row: "one suspect of one finding",
        columns: &[
            ("finding", "u32", "row in findings"),
            ("component_kind", "text", "rank, gpu, host, nic, cable, link, switch, connection, storage, job"),
            ("component", "text", "which"),
            ("share", "f64", "how likely, 0..1; those of a finding sum to 1 at most"),
        ],
    },
    TableDoc {
        name: "evidence",
        row: "one line of evidence of one finding",
        columns: &[
            ("finding", "u32", "row in findings"),
            ("table", "text", "where the value comes from"),
            ("what", "text", "what was measured"),
            ("value", "f64", "what it was"),
            ("expected", "f64", "what it should be"),
            ("unit", "text", "unit of both"),
        ],
    },
    TableDoc {
        name: "proposals",
        row: "one action that a finding asks for; nothing is applied",
        columns: &[
            ("finding", "u32", "row in findings"),
            ("kind", "text", "probe, isolate, drain, report"),
            ("component_kind", "text", "kind of what it is done to"),
            ("component", "text", "what it is done to"),
            ("reason", "text", "why"),
        ],
    },
    TableDoc {
        name: "faults",
        row: "one fault that the scenario injects: the truth that findings are held against",
        columns: &[
            ("from_ns", "u64", "when it begins"),
            ("until_ns", "u64", "when it ends; 2^64-1 where it does not"),
            ("kind", "text", "down, flap, slow, lossy, latency, slow-gpu, hang, …"),
            ("component_kind", "text", "kind of what it is"),
            ("component", "text", "which"),
            (
                "severity",
                "f64",
                "capacity left, loss, times slower, seconds of delay; 0 where the kind has none",
            ),
            (
                "source",
                "text",
                "scenario where it is written there, else the process and the rate it was drawn from",
            ),
        ],
    },
];

/// The documentation of a table by name.
pub fn table_doc(name: &str) -> Option<&'static TableDoc> {
    TABLES.iter().find(|table| table.name == name)
}
