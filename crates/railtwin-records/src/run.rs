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
        row: "one axis of one job, mean over its lanes in the chosen replicate",
        columns: &[
            ("job", "text", "job name"),
            ("axis", "text", "compute, tp, pp, dp, ep, dp_ep, idle"),
            (
                "exposed_ps",
                "u64",
                "time that belongs to this axis alone: nothing before it in the order compute, tp, ep, dp, dp_ep, other, pp ran",
            ),
            ("busy_ps", "u64", "time in which any operation of the axis ran"),
            ("bytes", "u64", "bytes handed to the axis' collectives"),
        ],
    },
    TableDoc {
        name: "operations",
        row: "one operation of one lane",
        columns: &[
            ("job", "text", "job name"),
            ("lane", "text", "rank class, such as a pipeline stage"),
            ("axis", "text", "compute, tp, pp, dp, ep, dp_ep"),
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
            ("bytes", "u64", "bytes carried"),
            ("utilization", "f64", "bytes over what the link could have carried in the run, 0..1"),
            ("flows", "u32", "queue pairs whose path crosses it"),
        ],
    },
    TableDoc {
        name: "incidents",
        row: "one fault or repair that acted, or what a job noticed of it",
        columns: &[
            ("at_ps", "u64", "when"),
            ("cable", "text", "cable that it happened to; empty for what happened to a job"),
            ("job", "text", "job that it happened to; empty for what happened to a cable"),
            (
                "device",
                "text",
                "switch whose buffer filled, or NIC or switch that a pause kept from sending on the cable; else empty",
            ),
            (
                "kind",
                "text",
                "down or up of a cable; of a job stalled (a queue pair lost packets), resumed (none waits), halted (one died); \
                 of a link paused (for longer than the watchdog allows); \
                 of a switch filled (more of its buffer than the alarm allows)",
            ),
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
            ("paused_ps", "u64", "time for which pauses held the link"),
            ("queue_bytes_max", "u64", "most bytes that waited for the link"),
            ("queue_bytes_mean", "f64", "bytes that waited for the link, mean over the run"),
            ("dropped", "u32", "packets for the link that were dropped for want of room"),
            ("cnps", "u32", "CNPs for queue pairs that send by this link, where it leaves a NIC"),
        ],
    },
];

/// The documentation of a table by name.
pub fn table_doc(name: &str) -> Option<&'static TableDoc> {
    TABLES.iter().find(|table| table.name == name)
}
