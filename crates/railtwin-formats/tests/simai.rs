//! SimAI workload text: facts of real files, what is tolerated, what is refused, round trips.

use proptest::prelude::*;
use railtwin_formats::{
    CollectiveKind, Group, Phase, SimaiCollective, SimaiLayer, SimaiPolicy, SimaiWorkload,
};

const ANALYTICAL: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/simai/simai_workload_analytical.txt"));
const MICRO: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/simai/simai_micro_all_reduce.txt"));

fn parse(text: &str) -> SimaiWorkload {
    SimaiWorkload::parse("t.txt", text.as_bytes()).expect("the text is readable")
}

fn refusal(text: &str) -> String {
    SimaiWorkload::parse("t.txt", text.as_bytes()).expect_err("the text is wrong").to_string()
}

#[test]
fn facts_of_the_9216_gpu_workload() {
    let workload = SimaiWorkload::parse("analytical.txt", ANALYTICAL).expect("a real file");
    assert_eq!(workload.policy, SimaiPolicy::HybridTransformerFwdInBckwd);
    assert_eq!(workload.layers.len(), 1789);
    assert_eq!((workload.tp, workload.ep, workload.pp), (2, 16, 12));
    assert_eq!((workload.vpp, workload.ga), (8, 24));
    assert_eq!(workload.all_gpus, Some(9216));
    assert_eq!(workload.pp_comm_bytes, 50_331_648);
    assert!(workload.checkpoints.is_empty() && workload.checkpoint_initiates.is_empty());

    let sum = |pick: fn(&SimaiLayer) -> Phase| -> u64 {
        workload.layers.iter().map(|layer| pick(layer).compute_ns).sum()
    };
    assert_eq!(sum(|layer| layer.forward), 2_235_901_806);
    assert_eq!(sum(|layer| layer.input_gradient), 1_914_495_229);
    assert_eq!(sum(|layer| layer.weight_gradient), 392_398_442);

    // Weight-gradient columns without suffix mean data parallel; bytes go beyond 32 bits.
    let first = &workload.layers[1];
    assert_eq!((first.name.as_str(), first.line), ("grad_param_comm", 4));
    assert_eq!(
        first.weight_gradient,
        Phase {
            compute_ns: 1,
            collective: Some(SimaiCollective { kind: CollectiveKind::ReduceScatter, group: Group::Dp }),
            bytes: 5_615_517_696,
        }
    );
    let of_group = |group| {
        let phases = workload
            .layers
            .iter()
            .flat_map(|layer| [layer.forward, layer.input_gradient, layer.weight_gradient]);
        phases.filter(|phase| phase.collective.is_some_and(|it| it.group == group)).count()
    };
    assert_eq!(of_group(Group::Ep), 768);
    assert_eq!(of_group(Group::DpEp), 2);
    assert_eq!(of_group(Group::Dp), 2);
    // Rows of ALLGATHER, ALLREDUCE, ALLTOALL, REDUCESCATTER, counted with awk in the file.
    assert_eq!(of_group(Group::Tp), 192 * 2 + 408 * 2 + 31 + 384 * 2 + 1 + 384 * 2);
}

#[test]
fn the_real_file_warns_once_per_kind_about_empty_collectives() {
    let workload = SimaiWorkload::parse("analytical.txt", ANALYTICAL).expect("a real file");
    for warning in &workload.warnings {
        assert!(warning.contains("carry 0 bytes"), "unexpected: {warning}");
    }
    assert!(!workload.warnings.is_empty());
    assert!(workload.warnings.len() <= CollectiveKind::ALL.len());
}

#[test]
fn the_micro_file_has_blanks_at_line_ends_and_no_pp_comm() {
    let workload = SimaiWorkload::parse("micro.txt", MICRO).expect("a real file");
    let bytes: Vec<u64> = workload.layers.iter().map(|layer| layer.forward.bytes).collect();
    assert_eq!(bytes, [16_777_216, 67_108_864]);
    assert_eq!((workload.tp, workload.pp_comm_bytes), (8, 0));
    assert_eq!(workload.warnings, [""; 0]);
}

#[test]
fn odd_but_readable_files_are_read_with_warnings() {
    let workload = parse(
        "\u{feff}HYBRID_TRANSFORMER_FWD_IN_BCKWD\tpp:2 pp_comm: 25165824.0 mode: 1 ga 4 ga: 6 \
         checkpoints: 2 0 7\r\n\r\n 9 \r\n a\t-1 1 NONE 5 1 NONE 0 1 ALLGATHER_EP 0 1 \r\n\r\n",
    );
    assert_eq!((workload.pp, workload.ga, workload.tp), (2, 6, 1));
    assert_eq!(workload.pp_comm_bytes, 25_165_824);
    assert_eq!(workload.checkpoints, [0, 7]);
    assert_eq!(workload.layers[0].line, 4);
    let all = workload.warnings.join("\n");
    for part in [
        "unknown header key \"mode\"",
        "\"ga\" is given twice",
        "promises 9 layers, the file has 1",
        "1 ALLGATHER collectives carry 0 bytes",
        "1 phases state bytes but no collective",
        "1 indices in checkpoints lie beyond the 1 layers",
    ] {
        assert!(all.contains(part), "{part} not in {all}");
    }
}

#[test]
fn customized_workloads_have_a_policy_per_layer() {
    let workload = parse("HYBRID_CUSTOMIZED\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1 DATA\n");
    assert_eq!(workload.layers[0].custom_policy, Some(SimaiPolicy::Data));
}

#[test]
fn errors_name_line_column_value_and_remedy() {
    let layer = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1";
    let with = |header: &str, line: &str| refusal(&format!("{header}\n1\n{line}\n"));
    assert_eq!(
        with("MICRO", &layer.replacen("NONE 0", "NONE 12x", 1)),
        "t.txt:3: column 5 (forward bytes): \"12x\" is not a whole number of bytes; write an integer such as 50331648"
    );
    for (message, parts) in [
        (refusal(""), vec!["t.txt: the file is empty", "policy name"]),
        (refusal("MICRO\n"), vec!["ends after the header", "second line"]),
        (refusal("MICRO\nx\n"), vec!["t.txt:2: number of layers: \"x\""]),
        (with("MIKRO pp: 2", layer), vec!["t.txt:1: policy: \"MIKRO\"", "HYBRID_DLRM_ENHANCED"]),
        // A line of which nothing is known may be of anybody's file.
        (with("MIKRO", layer), vec!["t.txt:1: policy: is not a known policy"]),
        (with("MICRO pp:", layer), vec!["t.txt:1: pp: has no value"]),
        (with("MICRO pp: 0", layer), vec!["\"0\" is not a size"]),
        (with("MICRO ep: 4294967296", layer), vec!["ep: \"4294967296\" is too large"]),
        (with("MICRO checkpoints: 3 1 pp: 2", layer), vec!["promises 3 layer indices, 1 follow"]),
        (with("MICRO", &format!("{layer} DATA")), vec!["t.txt:3:", "has 13 columns", "has 12"]),
        (with("HYBRID_CUSTOMIZED", layer), vec!["has 12 columns", "13"]),
        (
            with("MICRO", &layer.replace("1 NONE 0 1 NONE 0 1 NONE", "1 NONE 0 1 NONE 0 1 ALLTOAL_EP")),
            vec!["column 10 (weight gradient collective): \"ALLTOAL_EP\"", "ALLTOALL", "_DP_EP"],
        ),
        (with("MICRO", &layer.replace("-1", "?")), vec!["column 2 (dependency)"]),
        (
            with("MICRO", &layer.replacen("1 NONE 0", "-5 NONE 0", 1)),
            vec!["column 3 (forward compute time): \"-5\""],
        ),
    ] {
        assert!(!message.contains('\n'), "{message}");
        for part in parts {
            assert!(message.contains(part), "{part} not in {message}");
        }
    }
}

#[test]
fn what_the_format_cannot_express_is_refused() {
    let good = parse("MICRO\n1\na -1 1 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n");
    let refused = |change: fn(&mut SimaiWorkload)| {
        let mut workload = good.clone();
        change(&mut workload);
        workload.to_text().expect_err("not expressible").to_string()
    };
    assert!(refused(|it| it.layers[0].name = "a b".into()).contains("layer 0: name: \"a b\""));
    assert!(refused(|it| it.pp = 0).contains("pp: \"0\""));
    assert!(refused(|it| it.all_gpus = Some(0)).contains("all_gpus"));
    assert!(refused(|it| it.layers[0].custom_policy = Some(SimaiPolicy::Data)).contains("custom_policy"));
    assert!(refused(|it| it.policy = SimaiPolicy::HybridCustomized).contains("every layer"));
    let message = refused(|it| {
        it.layers[0].forward.collective =
            Some(SimaiCollective { kind: CollectiveKind::AllReduce, group: Group::Dp });
    });
    assert!(message.contains("forward collective: \"ALLREDUCE over Dp\""), "{message}");
}

#[test]
fn the_real_files_survive_a_round_trip() {
    for bytes in [ANALYTICAL, MICRO] {
        let workload = SimaiWorkload::parse("a", bytes).expect("a real file");
        let text = workload.to_text().expect("read from a file");
        assert_eq!(SimaiWorkload::parse("a", text.as_bytes()), Ok(workload));
    }
}

fn phase(implicit: Group) -> impl Strategy<Value = Phase> {
    let group = prop::sample::select(vec![implicit, Group::Ep, Group::DpEp]);
    let kind = prop::sample::select(CollectiveKind::ALL);
    let collective =
        prop::option::of((kind, group).prop_map(|(kind, group)| SimaiCollective { kind, group }));
    (any::<u64>(), collective, any::<u64>()).prop_map(|(compute_ns, collective, bytes)| Phase {
        compute_ns,
        collective,
        bytes,
    })
}

fn layer() -> impl Strategy<Value = SimaiLayer> {
    let name = "[^\\s]{1,12}".prop_filter("one word", |name| !name.contains(char::is_whitespace));
    (
        name,
        any::<i64>(),
        phase(Group::Tp),
        phase(Group::Tp),
        phase(Group::Dp),
        any::<u64>(),
        prop::sample::select(SimaiPolicy::ALL),
    )
        .prop_map(|(name, dependency, forward, input_gradient, weight_gradient, update_ns, custom)| {
            SimaiLayer {
                name,
                line: 0,
                dependency,
                forward,
                input_gradient,
                weight_gradient,
                update_ns,
                custom_policy: Some(custom),
            }
        })
}

fn workload() -> impl Strategy<Value = SimaiWorkload> {
    let size = || 1..=u32::MAX;
    let indices = || prop::collection::vec(any::<u32>(), 0..4);
    (
        prop::sample::select(SimaiPolicy::ALL),
        (size(), size(), size(), size(), size(), prop::option::of(size())),
        (indices(), indices(), any::<u64>(), prop::option::of(any::<u32>())),
        prop::collection::vec(layer(), 0..6),
    )
        .prop_map(|(policy, sizes, lists, mut layers)| {
            for (line, layer) in (3..).zip(&mut layers) {
                layer.line = line;
                if policy != SimaiPolicy::HybridCustomized {
                    layer.custom_policy = None;
                }
            }
            let (tp, ep, pp, vpp, ga, all_gpus) = sizes;
            let (checkpoints, checkpoint_initiates, pp_comm_bytes, dlrm_last_bottom_layer) = lists;
            SimaiWorkload {
                policy,
                tp,
                ep,
                pp,
                vpp,
                ga,
                all_gpus,
                checkpoints,
                checkpoint_initiates,
                pp_comm_bytes,
                dlrm_last_bottom_layer,
                layers,
                warnings: Vec::new(),
            }
        })
}

proptest! {
    #[test]
    fn parse_of_to_text_is_the_workload(expected in workload()) {
        let text = expected.to_text().expect("made to be expressible");
        let mut read = SimaiWorkload::parse("a", text.as_bytes()).expect("just written");
        read.warnings.clear();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = SimaiWorkload::parse("a", &bytes);
    }

    #[test]
    fn arbitrary_words_never_panic(
        words in prop::collection::vec(
            prop_oneof![
                prop::sample::select(vec![
                    "HYBRID_CUSTOMIZED", "MICRO", "pp:", "pp_comm", "checkpoints:", "NONE",
                    "ALLREDUCE_EP", "_DP_EP", "\n", "\r\n", "-1", "18446744073709551616", "4294967295", "1.", ":",
                ]).prop_map(str::to_owned),
                "\\PC{0,5}",
            ],
            0..60,
        )
    ) {
        if let Err(error) = SimaiWorkload::parse("a", words.join(" ").as_bytes()) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn mutated_files_never_panic(
        edits in prop::collection::vec((0..MICRO.len(), any::<u8>()), 1..8),
        keep in 0..=MICRO.len(),
    ) {
        let mut bytes = MICRO.to_vec();
        for (place, byte) in edits {
            bytes[place] = byte;
        }
        bytes.truncate(keep);
        let _ = SimaiWorkload::parse("a", &bytes);
    }
}
