//! Plans of Chakra traces: the 32 real files, semantics, refusals, generated traces.
#![allow(clippy::disallowed_methods, reason = "tests read the crate's data files")]

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use railtwin_formats::{
    AttributeValue, ChakraAttribute, ChakraNode, ChakraTrace, NodeKind, parse_chakra_groups, plan_of_chakra,
};
use railtwin_units::SimTime;
use railtwin_workload::{Algorithm, Axis, Collective, OperationId, Plan, Work};

type Groups = BTreeMap<u32, Vec<u32>>;

fn micro(collective: &str) -> Vec<ChakraTrace> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/chakra_astra_micro");
    let file = |rank| folder.join(format!("{collective}_8npus_1MB_{collective}.{rank}.et"));
    let bytes = |rank| std::fs::read(file(rank)).expect("the file is part of the crate's test data");
    (0..8).map(|rank| ChakraTrace::decode("a.et", &bytes(rank)).expect("a real file")).collect()
}

fn node(id: u64, kind: NodeKind, after: &[u64]) -> ChakraNode {
    ChakraNode { id, kind, data_deps: after.to_vec(), ..ChakraNode::default() }
}

fn with(mut node: ChakraNode, name: &str, value: u64) -> ChakraNode {
    let value = Some(AttributeValue::Uint(value));
    node.attributes.push(ChakraAttribute { name: name.to_owned(), doc: String::new(), value });
    node
}

fn over(mut node: ChakraNode, communicator: &str) -> ChakraNode {
    let value = Some(AttributeValue::Text(communicator.to_owned()));
    node.attributes.push(ChakraAttribute { name: "pg_name".to_owned(), doc: String::new(), value });
    node
}

fn compute(id: u64, micros: u64, after: &[u64]) -> ChakraNode {
    ChakraNode { duration_micros: micros, ..node(id, NodeKind::Compute, after) }
}

fn all_reduce(id: u64, bytes: u64, after: &[u64]) -> ChakraNode {
    with(node(id, NodeKind::Collective, after), "comm_size", bytes)
}

fn send(id: u64, target: u64, tag: u64, bytes: u64, after: &[u64]) -> ChakraNode {
    let node = with(node(id, NodeKind::Send, after), "comm_dst", target);
    with(with(node, "comm_tag", tag), "comm_size", bytes)
}

fn receive(id: u64, source: u64, tag: u64, bytes: u64, after: &[u64]) -> ChakraNode {
    let node = with(node(id, NodeKind::Receive, after), "comm_src", source);
    with(with(node, "comm_tag", tag), "comm_size", bytes)
}

fn traces<const N: usize>(ranks: [Vec<ChakraNode>; N]) -> Vec<ChakraTrace> {
    ranks.into_iter().map(|nodes| ChakraTrace { nodes, ..ChakraTrace::default() }).collect()
}

fn plan(traces: &[ChakraTrace]) -> Plan {
    plan_of_chakra("t", traces, &Groups::new()).expect("consistent traces")
}

fn refusal(traces: &[ChakraTrace], groups: &Groups) -> String {
    plan_of_chakra("t", traces, groups).expect_err("wrong").to_string()
}

fn after(plan: &Plan, operation: usize) -> Vec<usize> {
    let list = plan.dependencies_of(OperationId::from_index(operation));
    list.iter().map(|id| id.index()).collect()
}

#[test]
fn the_micro_traces_are_one_operation_over_eight_ranks() {
    const MIB: u64 = 1 << 20;
    for (name, collective, algorithm, expected) in [
        ("all_reduce", Collective::AllReduce, Algorithm::Ring, MIB),
        // Each of the 8 ranks brings 1 MiB; the plan counts the whole result.
        ("all_gather", Collective::AllGather, Algorithm::Ring, 8 * MIB),
        ("reduce_scatter", Collective::ReduceScatter, Algorithm::Ring, MIB),
        ("all_to_all", Collective::AllToAll, Algorithm::Direct, MIB),
    ] {
        let plan = plan(&micro(name));
        assert_eq!((plan.ranks, plan.lanes.len(), plan.operations.len()), (8, 8, 1));
        assert_eq!(plan.lanes[7], "rank 7");
        let pattern = &plan.patterns[0];
        assert_eq!((pattern.collective, pattern.algorithm), (collective, algorithm));
        assert_eq!(pattern.communicators, [(0..8).collect::<Vec<u32>>()]);
        let Work::Communicate { bytes, .. } = plan.operations[0].work else {
            panic!("{name} is no communication");
        };
        assert_eq!(bytes, expected, "{name}");
        assert_eq!(plan.names, [format!("{name}_8npus_1MB")]);
        assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    }
}

#[test]
fn a_collective_waits_for_the_dependencies_of_all_ranks() {
    let rank = |micros| vec![compute(0, micros, &[]), all_reduce(1, 64, &[0]), compute(2, 5, &[1])];
    let plan = plan(&traces([rank(10), rank(20)]));
    let work = |index: usize| plan.operations[index].work;
    let find = |wanted| (0..plan.operations.len()).find(|&index| work(index) == wanted).expect("is there");
    let (ten, twenty) =
        (find(Work::Compute(SimTime::from_ns(10_000))), find(Work::Compute(SimTime::from_ns(20_000))));
    assert_eq!((plan.operations[ten].lane, plan.operations[twenty].lane), (0, 1));
    let joint = plan.operations.iter().position(|it| it.axis == Axis::Other).expect("one collective");
    assert_eq!(after(&plan, joint), [ten.min(twenty), ten.max(twenty)]);
    let last: Vec<usize> = (0..5).filter(|&index| after(&plan, index) == [joint]).collect();
    assert_eq!((plan.operations.len(), last.len()), (5, 2));
    assert_eq!(plan.compute_of_lane(1), SimTime::from_ns(25_000));
}

#[test]
fn collectives_are_matched_by_order_within_their_communicator() {
    let groups: Groups = parse_chakra_groups("g", br#"{"1": [2, 0], "2": [1, 2]}"#).expect("well formed");
    let traces = traces([
        // Ids need not agree between ranks; rank 0 lists its nodes backwards.
        vec![over(all_reduce(9, 200, &[8]), "1"), over(all_reduce(8, 100, &[]), "1")],
        vec![over(all_reduce(0, 7, &[]), "2"), pass_through(1)],
        vec![
            over(all_reduce(0, 100, &[]), "1"),
            over(all_reduce(1, 7, &[0]), "2"),
            over(all_reduce(2, 200, &[1]), "1"),
        ],
    ]);
    let plan = plan_of_chakra("t", &traces, &groups).expect("consistent");
    let mut seen: Vec<(Vec<u32>, u64, u32)> = Vec::new();
    for operation in &plan.operations {
        if let Work::Communicate { pattern, bytes } = operation.work {
            seen.push((plan.patterns[pattern.index()].communicators[0].clone(), bytes, operation.lane));
        }
    }
    assert_eq!(seen, [(vec![2, 0], 100, 2), (vec![1, 2], 7, 1), (vec![2, 0], 200, 2)]);
    assert_eq!(plan.patterns.len(), 2);
}

/// A node that only passes dependencies on.
fn pass_through(id: u64) -> ChakraNode {
    node(id, NodeKind::Metadata, &[])
}

#[test]
fn sends_and_receives_pair_by_tag_and_order() {
    let plan = plan(&traces([
        vec![send(0, 1, 5, 10, &[]), send(1, 1, 6, 20, &[]), send(2, 1, 5, 30, &[])],
        // comm_src 0 may be left out, as may a size of the receiver.
        vec![
            receive(0, 0, 6, 20, &[]),
            with(node(1, NodeKind::Receive, &[0]), "comm_tag", 5),
            receive(2, 0, 5, 30, &[1]),
        ],
    ]));
    assert_eq!((plan.operations.len(), plan.patterns.len()), (3, 1));
    assert_eq!(plan.patterns[0].collective, Collective::SendReceive);
    assert_eq!(plan.patterns[0].communicators, [vec![0, 1]]);
    let bytes = |index: usize| match plan.operations[index].work {
        Work::Communicate { bytes, .. } => bytes,
        Work::Compute(_) => 0,
    };
    // The receiver's order rules: tag 6, then the two of tag 5.
    assert_eq!([bytes(0), bytes(1), bytes(2)], [20, 10, 30]);
    assert_eq!([after(&plan, 0), after(&plan, 1), after(&plan, 2)], [vec![], vec![0], vec![1]]);
}

#[test]
fn metadata_passes_dependencies_on_and_oddities_are_noted() {
    let launch = ChakraNode { duration_micros: 3, ..node(6, NodeKind::Collective, &[5]) };
    let plan = plan(&traces([vec![
        compute(0, 1, &[]),
        node(1, NodeKind::Metadata, &[0]),
        compute(2, 1, &[1, 99]),
        node(3, NodeKind::MemoryLoad, &[2]),
        node(4, NodeKind::Other(8), &[3]),
        with(with(node(5, NodeKind::Collective, &[4]), "comm_type", 9), "comm_size", 4),
        with(launch, "is_cpu_op", 1),
        all_reduce(7, 0, &[6]),
    ]]));
    assert_eq!(plan.operations.len(), 7);
    for index in 1..7 {
        assert_eq!(after(&plan, index), [index - 1]);
    }
    assert_eq!(plan.operations[2].work, Work::Compute(SimTime::ZERO));
    assert_eq!(plan.operations[5].work, Work::Compute(SimTime::from_ns(3_000)));
    let notes = plan.notes.join("\n");
    for part in
        ["1 dependencies", "1 memory", "1 nodes of kinds", "1 CPU nodes", "1 barriers", "1 collectives"]
    {
        assert!(notes.contains(part), "{part} not in {notes}");
    }
}

#[test]
fn refusals_name_rank_node_and_value() {
    let none = Groups::new();
    let groups: Groups = BTreeMap::from([(1, vec![0])]);
    let kind = |id, number| with(all_reduce(id, 8, &[]), "comm_type", number);
    let one = |nodes| traces([nodes]);
    for (message, part) in [
        (refusal(&[], &none), "t: has no traces"),
        (
            refusal(&traces([vec![all_reduce(4, 8, &[])], vec![all_reduce(6, 9, &[])]]), &none),
            "comm_size of node 6 of rank 1: \"9\" is the size of number 0 of communicator all here, but 8 at node 4 of rank 0",
        ),
        (
            refusal(&traces([vec![kind(1, 2)], vec![kind(2, 7)]]), &none),
            "comm_type of node 2 of rank 1: \"reduce-scatter\" is number 0 of communicator all here, but all-gather at node 1",
        ),
        (
            refusal(&traces([vec![all_reduce(3, 8, &[])], vec![]]), &none),
            "collective of node 3 of rank 0: \"\" is number 0 of communicator all, of which rank 1 issues only 0",
        ),
        (refusal(&one(vec![kind(1, 1)]), &none), "comm_type of node 1 of rank 0: \"1\" is no collective"),
        (
            refusal(&one(vec![over(all_reduce(1, 8, &[]), "3")]), &none),
            "pg_name of node 1 of rank 0: \"3\" is no communicator; give",
        ),
        (refusal(&one(vec![over(all_reduce(1, 8, &[]), "3")]), &groups), "the communicators are 1"),
        (
            refusal(&traces([vec![], vec![over(all_reduce(1, 8, &[]), "1")]]), &groups),
            "pg_name of node 1 of rank 1: \"1\" does not have this rank; its ranks are [0]",
        ),
        (
            refusal(&one(vec![]), &BTreeMap::from([(0, vec![0, 7])])),
            "rank of communicator 0: \"7\" has no trace",
        ),
        (refusal(&one(vec![]), &BTreeMap::from([(0, vec![0, 0])])), "\"0\" is listed twice"),
        (
            refusal(&one(vec![compute(1, 0, &[2]), compute(2, 0, &[1])]), &none),
            "of rank 0: \"1, 2\" wait for each other",
        ),
        (
            refusal(&one(vec![compute(1, 0, &[]), compute(1, 0, &[])]), &none),
            "id of node 1 of rank 0: names a second",
        ),
        (refusal(&one(vec![compute(1, u64::MAX, &[])]), &none), "duration_micros of node 1 of rank 0"),
        (
            refusal(&one(vec![send(1, 4, 0, 8, &[])]), &none),
            "comm_dst of node 1 of rank 0: \"4\" has no trace",
        ),
        (
            refusal(&traces([vec![with(send(1, 1, 0, 8, &[]), "comm_src", 1)], vec![]]), &none),
            "comm_src of node 1 of rank 0: \"1\" is another rank; write 0",
        ),
        (
            refusal(&traces([vec![send(1, 1, 3, 8, &[])], vec![receive(1, 0, 4, 8, &[])]]), &none),
            "message of node 1 of rank 0: \"0 to 1 tag 3\" has no receive on rank 1",
        ),
        (
            refusal(&traces([vec![send(1, 1, 3, 8, &[])], vec![receive(2, 0, 3, 9, &[])]]), &none),
            "comm_size of node 2 of rank 1: \"9\" is the size here, but 8 at the other end",
        ),
        (
            refusal(
                &traces([
                    vec![send(1, 1, 0, 8, &[]), receive(2, 1, 0, 8, &[1])],
                    vec![send(1, 0, 0, 8, &[]), receive(2, 0, 0, 8, &[1])],
                ]),
                &none,
            ),
            "wait for each other in a circle through several ranks",
        ),
    ] {
        assert!(message.contains(part), "{part}\nnot in\n{message}");
        assert!(!message.contains('\n'));
    }
    let huge = traces([vec![with(all_reduce(1, u64::MAX / 2, &[]), "comm_type", 2)], vec![], vec![]]);
    assert!(refusal(&huge, &none).contains("comm_size of node 1 of rank 0"));
}

/// A step of a generated job: every rank's node depends on earlier nodes of its own.
#[derive(Clone, Debug)]
enum Event {
    Compute {
        rank: u32,
        micros: u64,
    },
    /// Communicator row (0 = all), kind, bytes.
    Collective {
        row: usize,
        kind: u64,
        bytes: u64,
    },
    Message {
        source: u32,
        target: u32,
        tag: u64,
        bytes: u64,
    },
}

#[derive(Clone, Debug)]
struct Job {
    ranks: u32,
    groups: Groups,
    events: Vec<Event>,
    traces: Vec<ChakraTrace>,
}

fn job() -> impl Strategy<Value = Job> {
    (1..6_u32).prop_flat_map(|ranks| {
        let group =
            prop::sample::subsequence((0..ranks).collect::<Vec<_>>(), 1..=ranks as usize).prop_shuffle();
        let groups = prop::collection::vec(group, 0..4);
        let event = prop_oneof![
            (0..ranks, 0..1000_u64).prop_map(|(rank, micros)| Event::Compute { rank, micros }),
            (0..4_usize, prop::sample::select(vec![0_u64, 2, 5, 6, 7, 8]), 1..1_000_000_u64)
                .prop_map(|(row, kind, bytes)| Event::Collective { row, kind, bytes }),
            (0..ranks, 0..ranks, 0..2_u64, 1..1000_u64)
                .prop_map(|(source, target, tag, bytes)| Event::Message { source, target, tag, bytes }),
        ];
        let picks = prop::collection::vec(any::<prop::sample::Index>(), 64);
        (groups, prop::collection::vec(event, 0..25), picks, any::<bool>()).prop_map(
            move |(groups, mut events, picks, reversed)| {
                let groups: Groups = groups.into_iter().enumerate().map(|(i, g)| (i as u32 + 1, g)).collect();
                events.retain(
                    |event| !matches!(event, Event::Message { source, target, .. } if source == target),
                );
                for event in &mut events {
                    if let Event::Collective { row, .. } = event {
                        *row %= groups.len() + 1;
                    }
                }
                let traces = write(ranks, &groups, &events, &picks, reversed);
                Job { ranks, groups, events, traces }
            },
        )
    })
}

/// Each rank's trace of the events: ids grow in order of issue, dependencies are random earlier nodes.
fn write(
    ranks: u32,
    groups: &Groups,
    events: &[Event],
    picks: &[prop::sample::Index],
    reversed: bool,
) -> Vec<ChakraTrace> {
    let mut traces = vec![ChakraTrace::default(); ranks as usize];
    let mut picks = picks.iter().cycle();
    let mut push = |rank: u32, mut node: ChakraNode| {
        let nodes = &mut traces[rank as usize].nodes;
        node.id = 3 * nodes.len() as u64 + u64::from(rank);
        if !nodes.is_empty() {
            let mut pick = || picks.next().expect("cycles").index(nodes.len());
            node.data_deps = vec![nodes[pick()].id];
            node.ctrl_deps = vec![nodes[pick()].id, nodes[pick()].id];
        }
        nodes.push(node);
    };
    for event in events {
        match *event {
            Event::Compute { rank, micros } => push(rank, compute(0, micros, &[])),
            Event::Collective { row, kind, bytes } => {
                let members = groups.get(&(row as u32)).cloned().unwrap_or_else(|| (0..ranks).collect());
                for rank in members {
                    let node = with(all_reduce(0, bytes, &[]), "comm_type", kind);
                    push(rank, if row == 0 { node } else { over(node, &row.to_string()) });
                }
            }
            Event::Message { source, target, tag, bytes } => {
                push(source, send(0, target.into(), tag, bytes, &[]));
                push(target, receive(0, source.into(), tag, bytes, &[]));
            }
        }
    }
    if reversed {
        traces.iter_mut().for_each(|trace| trace.nodes.reverse());
    }
    traces
}

fn check_graph(plan: &Plan) -> Result<(), TestCaseError> {
    prop_assert_eq!(plan.dependency_start.len(), plan.operations.len() + 1);
    for index in 0..plan.operations.len() {
        prop_assert!(after(plan, index).iter().all(|&earlier| earlier < index));
        prop_assert!((plan.operations[index].lane as usize) < plan.lanes.len());
    }
    Ok(())
}

proptest! {
    #[test]
    fn consistent_traces_give_one_operation_for_each_event(job in job()) {
        let plan = plan_of_chakra("t", &job.traces, &job.groups).expect("consistent by construction");
        check_graph(&plan)?;
        prop_assert_eq!(plan.operations.len(), job.events.len());
        prop_assert!(plan.notes.is_empty());
        let mut expected: Vec<(u64, u64)> = Vec::new();
        let mut micros = vec![0; job.ranks as usize];
        for event in &job.events {
            match event {
                Event::Compute { rank, micros: time } => micros[*rank as usize] += time,
                Event::Collective { row, kind, bytes } => {
                    let ranks = job.groups.get(&(*row as u32)).map_or(job.ranks as usize, Vec::len) as u64;
                    expected.push((ranks, bytes * if *kind == 2 { ranks } else { 1 }));
                }
                Event::Message { bytes, .. } => expected.push((2, *bytes)),
            }
        }
        let mut found: Vec<(u64, u64)> = Vec::new();
        for operation in &plan.operations {
            if let Work::Communicate { pattern, bytes } = operation.work {
                let ranks = &plan.patterns[pattern.index()].communicators[0];
                prop_assert_eq!(ranks[0], operation.lane);
                found.push((ranks.len() as u64, bytes));
            }
        }
        expected.sort_unstable();
        found.sort_unstable();
        prop_assert_eq!(found, expected);
        for (lane, micros) in micros.into_iter().enumerate() {
            prop_assert_eq!(plan.compute_of_lane(lane as u32), SimTime::from_ns(micros * 1000));
        }
    }

    #[test]
    fn mutated_traces_never_panic(
        mut job in job(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..9_u8, 0..12_u64), 1..6),
        drop_groups: bool,
    ) {
        for (rank, at, edit, value) in edits {
            let count = job.traces.len();
            let nodes = &mut job.traces[rank.index(count)].nodes;
            if nodes.is_empty() {
                continue;
            }
            let at = at.index(nodes.len());
            let node = &mut nodes[at];
            match edit {
                0 => node.kind = NodeKind::from_number(value as i32),
                1 => node.id = value,
                2 => node.data_deps.push(value),
                3 => node.duration_micros = u64::MAX - value,
                4 => { nodes.remove(at); }
                5 => node.attributes.clear(),
                6 => *node = with(node.clone(), ["comm_dst", "comm_src", "comm_tag"][value as usize % 3], value),
                7 => node.attributes.iter_mut().for_each(|it| it.value = Some(AttributeValue::Uint(value))),
                _ => node.attributes.iter_mut().for_each(|it| it.value = Some(AttributeValue::Int(i64::MIN))),
            }
        }
        if drop_groups {
            job.groups.pop_last();
        }
        match plan_of_chakra("t", &job.traces, &job.groups) {
            Ok(plan) => check_graph(&plan)?,
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }
}
