//! The keys of `[packet]` and `[switch]`, which only the packet engine reads.
use crate::packet_spec::{CongestionControlSpec, PriorityClass};
use crate::switch_spec::SwitchModelName;
use railtwin_units::keys::{Key, Kind, Table, Variant, key};

const SIZE: Kind = Kind::Size { zero: false };
const SIZE_OR_ZERO: Kind = Kind::Size { zero: true };
const RATE: Kind = Kind::Rate { zero: false };
const SHARE: Kind = Kind::Share(0.0, 1.0);

pub(crate) static PACKET: Table = Table {
    title: "[packet]",
    keys: &[
        key("payload", SIZE, "Payload of a full packet, 64 B to 9000 B; default 4096 B."),
        key(
            "header",
            SIZE_OR_ZERO,
            "Bytes on the wire beside the payload of each data packet; default 82 B.",
        ),
        key("control", SIZE, "Bytes on the wire of a packet without payload; default 86 B."),
        key("acknowledge_every", Kind::Whole(1, 65_536), "Packets for one acknowledgement; default 1."),
        key(
            "window",
            SIZE,
            "Most bytes of a queue pair in flight; default 4 MiB, the buffer of an NCCL channel.",
        ),
        key(
            "flowlet",
            Kind::Time,
            "Idle time after which a leaf may move a queue pair, for the balancer flowlet; default 256 us.",
        ),
        key("watchdog", Kind::Time, "Pause without break after which a port is reported; default 200 ms."),
        key("buffer_alarm", SHARE, "Share of a switch's buffer from which it is reported; default 0.8."),
        key("samples", Kind::Time, "Width of the samples of queues and pauses; default no samples."),
        key(
            "priority",
            Kind::List(&PRIORITY),
            "Packets without payload that go before data; default none of them.",
        ),
        key(
            "congestion_control",
            Kind::ChoiceOrValue(
                &CongestionControlSpec::NAMES,
                &CONGESTION_CONTROL,
                "{ kind = \"dcqcn\", gain = 0.004 }",
            ),
            "Who slows a sender down before switches pause it; default none.",
        ),
        key(
            "admission",
            Kind::ChoiceOrValue(
                &["none"],
                &ADMISSION,
                "{ channels = 2, buffer = \"512 KiB\", copy = \"400 Gbps\" }",
            ),
            "Receiver-driven admission: a message waits for a cleared buffer; default none.",
        ),
        key("nic", Kind::Section(&NIC), "A NIC's own limits."),
    ],
    ..Table::EMPTY
};

static PRIORITY: Kind = Kind::Choice(&PriorityClass::NAMES);

static CONGESTION_CONTROL: Table = Table {
    title: "`congestion_control`",
    keys: &[key("kind", Kind::Choice(&CongestionControlSpec::NAMES), "Who slows senders down.").required()],
    variants: &[&[
        Variant { key: "kind", value: Some("none"), keys: &[] },
        Variant { key: "kind", value: Some("dcqcn"), keys: DCQCN },
        Variant { key: "kind", value: Some("hpcc"), keys: HPCC },
        Variant { key: "kind", value: Some("trimmed"), keys: TRIMMED },
    ]],
    ..Table::EMPTY
};

const DCQCN: &[Key] = &[
    key("gain", SHARE, "Gain of the estimate alpha; default 1/256."),
    key("alpha_timer", Kind::Time, "Time without a CNP after which alpha decays; default 55 us."),
    key("increase_timer", Kind::Time, "Time between increases of the rate; default 55 us."),
    key("byte_counter", SIZE, "Bytes between increases of the rate; default 10 MB."),
    key("recovery_rounds", Kind::Whole(1, 1000), "Rounds of fast recovery; default 5."),
    key("additive", RATE, "Step of additive increase; default 40 Mbps."),
    key("hyper", RATE, "Step of hyper increase; default 400 Mbps."),
    key("minimum", RATE, "The least rate; default 40 Mbps."),
];

const HPCC: &[Key] = &[
    key("target", SHARE, "Utilization aimed at; default 0.95."),
    key(
        "stages",
        Kind::Whole(0, 1000),
        "Rounds of additive increase before the next multiplicative one; default 5.",
    ),
    key("additive", RATE, "Step of additive increase; default 50 Mbps."),
];

const TRIMMED: &[Key] = &[
    key("window", Kind::Share(0.0, 1000.0), "First window in bandwidth-delay products; default 1.25."),
    key("additive", Kind::Share(0.0, 1e6), "Increase for each round trip, in packets; default 1."),
    key("decrease", SHARE, "Share of a marked packet by which the window shrinks; default 0.5."),
];

static ADMISSION: Table = Table {
    title: "`admission`",
    keys: &[
        key("channels", Kind::Whole(1, 4096), "Buffers of a connection.").required(),
        key("buffer", SIZE, "Bytes of each buffer: messages are no longer.").required(),
        key("copy", RATE, "Rate at which the receiver copies a buffer out.").required(),
    ],
    ..Table::EMPTY
};

static NIC: Table = Table {
    title: "[packet.nic]",
    keys: &[
        key("receive_buffer", SIZE, "Bytes that wait for PCIe before the NIC pauses its leaf; default 1 MB."),
        key("cnp_interval", Kind::Time, "Time between two CNPs for one queue pair; default 50 us."),
    ],
    ..Table::EMPTY
};

pub(crate) static SWITCHES: Table = Table {
    title: "[switch]",
    keys: &[
        key("leaf", Kind::Section(&SWITCH), "Leaves; default model leaf."),
        key("spine", Kind::Section(&SWITCH), "Spines; default model leaf, on the preset ai-zone deep."),
        key("core", Kind::Section(&SWITCH), "Cores; default model leaf."),
    ],
    ..Table::EMPTY
};

static SWITCH: Table = Table {
    title: "a tier of [switch]",
    keys: &[
        key(
            "model",
            Kind::Choice(&SwitchModelName::NAMES),
            "What the other keys change: a buffer shared by all ports or carved per port, or a model by name.",
        ),
        key("buffer", SIZE, "The shared pool, or the buffer of each ingress port; leaf 64 MB, deep 16 MB."),
        key("reserved", SIZE_OR_ZERO, "Of a shared pool, what each ingress port has for itself; 10 kB."),
        key(
            "alpha",
            Kind::Share(0.0, 1024.0),
            "Share of the free pool that one ingress port may take; 0.125.",
        ),
        key("pfc", Kind::Bool, "Whether it sends pause frames; default true."),
        key("headroom", SIZE, "Bytes that arrive while a pause travels; default by delay, rate, response."),
        key(
            "resume_offset",
            SIZE_OR_ZERO,
            "Bytes below the threshold at which a paused neighbor may go on; default 20 kB.",
        ),
        key(
            "response",
            Kind::Time,
            "From the arrival of a pause frame until the neighbor stops; default 500 ns.",
        ),
        key(
            "ecn",
            Kind::ChoiceOrValue(&["none"], &ECN, "{ min = \"100 kB\", max = \"400 kB\", probability = 0.2 }"),
            "Marking by the length of the egress queue; default none.",
        ),
        key("trim", SIZE, "Egress queue beyond which packets lose their payload; default never."),
        key(
            "credit",
            Kind::ChoiceOrValue(&["none"], &CREDIT, "{ latency = \"5 us\", initial = \"64 KiB\", ramp = 2 }"),
            "Virtual output queues with credits; default none.",
        ),
        key("cut_through", Kind::Bool, "Whether packets leave while they still arrive; default false."),
    ],
    ..Table::EMPTY
};

static ECN: Table = Table {
    title: "`ecn`",
    keys: &[
        key("min", SIZE_OR_ZERO, "Queue up to which nothing is marked.").required(),
        key("max", SIZE, "Queue from which everything is marked.").required(),
        key("probability", SHARE, "Probability just below `max`.").required(),
    ],
    ..Table::EMPTY
};

static CREDIT: Table = Table {
    title: "`credit`",
    keys: &[
        key("latency", Kind::Time, "From a request of an ingress port until its grant is there.").required(),
        key("initial", SIZE_OR_ZERO, "Bytes that a queue is granted without asking.").required(),
        key("ramp", Kind::Whole(1, 1024), "Factor by which grants grow from round to round.").required(),
    ],
    ..Table::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_keys() {
        let Kind::Choice(names) = CONGESTION_CONTROL.keys[0].kind else { panic!("its kind is a choice") };
        let of: Vec<_> = CONGESTION_CONTROL.variants().filter_map(|variant| variant.value).collect();
        assert_eq!(of, names);
    }

    #[test]
    fn what_the_keys_call_default_is_the_default() {
        use railtwin_engine::packet::{PacketCase, SwitchModel};
        let case = PacketCase::default();
        assert_eq!((case.wire.payload, case.wire.header, case.wire.control), (4096, 82, 86));
        assert_eq!((case.acknowledge_every, case.buffer_alarm), (1, 0.8));
        assert_eq!((case.flowlet.ps(), case.watchdog.ps()), (256_000_000, 200_000_000_000));
        assert_eq!((case.nic.receive_buffer, case.nic.cnp_interval.ps()), (1_000_000, 50_000_000));
        let pfc = SwitchModel::LEAF.pfc.expect("leaves pause");
        assert_eq!((pfc.headroom, pfc.resume_offset, pfc.response.ps()), (None, 20_000, 500_000));
    }
}
