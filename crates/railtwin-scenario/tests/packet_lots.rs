//! Any value of the keys of packets that the text accepts.
use proptest::option::of;
use proptest::prelude::*;
use railtwin_scenario::{
    AdmissionSpec, CongestionControlSpec, CreditSpec, DcqcnSpec, EcnSpec, HpccSpec, NicLimitsSpec,
    PacketSpec, PriorityClass, SwitchModelName, SwitchSpec, SwitchesSpec, Towards, TrimmedSpec, TroubleKind,
    TroubleSpec,
};
use railtwin_units::{Bytes, SimTime};

use crate::property::{rate, text, time};

/// From a full packet, whatever its payload and header are, to the largest.
fn size() -> impl Strategy<Value = Bytes> {
    (10_000u64..1 << 40).prop_map(Bytes)
}

fn span() -> impl Strategy<Value = SimTime> {
    (1u64..1 << 50).prop_map(SimTime::from_ps)
}

fn share() -> impl Strategy<Value = f64> {
    0.001f64..=1.0
}

fn congestion_control() -> impl Strategy<Value = CongestionControlSpec> {
    let dcqcn = (share(), span(), span(), 1u64..1 << 40, 1u32..1000, rate(), rate(), rate()).prop_map(
        |(gain, alpha_timer, increase_timer, bytes, recovery_rounds, additive, hyper, minimum)| {
            let byte_counter = Bytes(bytes);
            let spec = DcqcnSpec {
                gain,
                alpha_timer,
                increase_timer,
                byte_counter,
                recovery_rounds,
                additive,
                hyper,
                minimum,
            };
            CongestionControlSpec::Dcqcn(spec)
        },
    );
    let hpcc = (share(), 0u32..1000, rate()).prop_map(|(target, stages, additive)| {
        CongestionControlSpec::Hpcc(HpccSpec { target, stages, additive })
    });
    let trimmed = (0.001f64..=1000.0, 0.001f64..=1e6, share()).prop_map(|(window, additive, decrease)| {
        CongestionControlSpec::Trimmed(TrimmedSpec { window, additive, decrease })
    });
    prop_oneof![Just(CongestionControlSpec::None), dcqcn, hpcc, trimmed]
}

fn packet() -> impl Strategy<Value = PacketSpec> {
    use PriorityClass::{Acknowledgements, ClearToSend};
    let wire = (64u64..=9000, 0u64..=1000, 1u64..=1000, 1u32..=65_536, size());
    let times = (time(), span(), share(), of(span()));
    let priority = prop::sample::subsequence(vec![ClearToSend, Acknowledgements], 0..=2);
    let admission = (1u32..=4096, size(), rate()).prop_map(|(channels, buffer, copy)| AdmissionSpec {
        channels,
        buffer,
        copy,
    });
    let nic = (size(), span())
        .prop_map(|(receive_buffer, cnp_interval)| NicLimitsSpec { receive_buffer, cnp_interval });
    (wire, times, priority, congestion_control(), of(admission), nic).prop_map(
        |(wire, times, priority, congestion_control, admission, nic)| {
            let (payload, header, control, acknowledge_every, window) = wire;
            let (flowlet, watchdog, buffer_alarm, samples) = times;
            PacketSpec {
                payload: Bytes(payload),
                header: Bytes(header),
                control: Bytes(control),
                acknowledge_every,
                window,
                flowlet,
                watchdog,
                buffer_alarm,
                samples,
                priority,
                congestion_control,
                admission,
                nic,
            }
        },
    )
}

fn switch() -> impl Strategy<Value = SwitchSpec> {
    use SwitchModelName::{Carved, Deep, Leaf, Shared};
    let model = of(prop::sample::select(vec![Shared, Carved, Leaf, Deep]));
    let buffer = (of((1u64 << 30..1 << 40).prop_map(Bytes)), of(0u64..1 << 20), of(0.001f64..=1024.0));
    let pause = (any::<Option<bool>>(), of(1u64..1 << 20), of(0u64..1 << 20), of(time()));
    let ecn = (0u64..1 << 39, 1u64..1 << 39, share()).prop_map(|(min, more, probability)| EcnSpec {
        min: Bytes(min),
        max: Bytes(min + more),
        probability,
    });
    let credit = (time(), 0u64..1 << 40, 1u32..=1024).prop_map(|(latency, initial, ramp)| CreditSpec {
        latency,
        initial: Bytes(initial),
        ramp,
    });
    (model, buffer, pause, of(ecn), of(size()), of(credit), any::<Option<bool>>()).prop_map(
        |(model, (buffer, reserved, alpha), pause, ecn, trim, credit, cut_through)| {
            let (pfc, headroom, resume_offset, response) = pause;
            // What the text refuses is left away: keys of a shared buffer and of pause frames where there are none.
            let shared = matches!(model, Some(Shared | Leaf));
            let pauses = pfc != Some(false);
            SwitchSpec {
                model,
                buffer,
                reserved: reserved.filter(|_| shared).map(Bytes),
                alpha: alpha.filter(|_| shared),
                pfc,
                headroom: headroom.filter(|_| pauses).map(Bytes),
                resume_offset: resume_offset.filter(|_| pauses).map(Bytes),
                response: response.filter(|_| pauses),
                ecn,
                trim,
                credit,
                cut_through,
            }
        },
    )
}

fn trouble() -> impl Strategy<Value = TroubleSpec> {
    let towards = prop::sample::select(vec![Towards::Host, Towards::Network]);
    let kind = (0usize..5, text(), towards, share()).prop_map(|(which, name, towards, share)| match which {
        0 => TroubleKind::Loss { cable: name, towards, share },
        1 => TroubleKind::LoseAcknowledgement { cable: name, towards },
        2 => TroubleKind::SlowReceiver { nic: name, share },
        3 => TroubleKind::PauseStorm { port: name },
        _ => TroubleKind::SmallBuffer { switch: name, share },
    });
    (kind, 0u64..1 << 50, of(1u64..1 << 50)).prop_map(|(kind, from, more)| TroubleSpec {
        kind,
        from: SimTime::from_ps(from),
        until: more.map(|more| SimTime::from_ps(from + more)),
    })
}

/// `[packet]`, `[switch]` and `[[trouble]]`, at times all as they are by default.
pub(crate) fn packets() -> impl Strategy<Value = (PacketSpec, SwitchesSpec, Vec<TroubleSpec>)> {
    let switches = (switch(), switch(), switch());
    let written = (packet(), switches, prop::collection::vec(trouble(), 0..3));
    let written = written.prop_map(|(mut packet, (mut leaf, spine, core), troubles)| {
        // What congestion control goes by is there.
        match packet.congestion_control {
            CongestionControlSpec::Dcqcn(_) if leaf.ecn.is_none() => {
                leaf.ecn = Some(EcnSpec { min: Bytes(0), max: Bytes(1), probability: 1.0 });
            }
            CongestionControlSpec::Trimmed(_) => leaf.trim = leaf.trim.or(Some(Bytes(100_000))),
            _ => {}
        }
        packet.priority.sort_by_key(|class| *class as u8);
        (packet, SwitchesSpec { leaf, spine, core }, troubles)
    });
    prop_oneof![1 => Just(Default::default()), 3 => written]
}
