//! Tests of the port solver: what linearity says against what the switch does.

use proptest::prelude::*;

use super::*;
use crate::fields::Fields;
use crate::five_tuple::FiveTuple;
use crate::hash::HashFunction;

const KEY: HashKey = HashKey {
    tuple: FiveTuple::roce(0x0a0b_0c0d, 0x0a1b_2c3d, 0x1234),
    target_qp: 0x4_5678,
    ingress_port: 17,
};

fn specs() -> impl Iterator<Item = HashSpec> {
    let fields = [Fields::FIVE_TUPLE, Fields::FIVE_TUPLE_AND_QP | Fields::INGRESS_PORT];
    HashFunction::ALL.into_iter().flat_map(move |function| {
        [(0, 0), (7, 0), (0xDEAD_BEEF, 11)].into_iter().flat_map(move |(seed, offset)| {
            fields.into_iter().map(move |fields| HashSpec { function, fields, seed, offset })
        })
    })
}

/// Ports by member as the switch itself sorts them.
fn searched(spec: &HashSpec, members: usize) -> Vec<Vec<u16>> {
    let mut by_bucket = vec![Vec::new(); members];
    for port in FIRST_PORT..=LAST_PORT {
        by_bucket[spec.bucket(&KEY.with_source_port(port), members)].push(port);
    }
    by_bucket
}

#[test]
fn solver_agrees_with_search_everywhere() {
    for spec in specs() {
        let solver = PortSolver::new(&spec, &KEY);
        for members in [1, 2, 3, 8, 16, 60, 64, 128, 4096] {
            let expected = searched(&spec, members);
            let table = ports_by_bucket(&spec, &KEY, members);
            assert_eq!(table.members(), members);
            for (bucket, ports) in expected.iter().enumerate() {
                assert_eq!(table.ports(bucket), ports, "{spec:?} {members} {bucket}");
                let lowest = ports.first().copied();
                assert_eq!(solver.solve(members, bucket), lowest, "{spec:?} {members} {bucket}");
            }
            assert_eq!(table.ports(members), [0u16; 0]);
            assert_eq!(solver.solve(members, members), None);
        }
    }
}

#[test]
fn solver_knows_the_hash_at_every_port() {
    for spec in specs() {
        let solver = PortSolver::new(&spec, &KEY);
        for port in FIRST_PORT..=LAST_PORT {
            assert_eq!(solver.hash(port), spec.hash(&KEY.with_source_port(port)));
        }
    }
}

#[test]
fn crc32_ports_reach_all_members_evenly() {
    let table = ports_by_bucket(&HashSpec::new(HashFunction::Crc32), &KEY, 64);
    for bucket in 0..64 {
        assert_eq!(table.ports(bucket).len(), PORT_COUNT / 64);
    }
}

#[test]
fn a_switch_that_ignores_the_port_cannot_be_steered() {
    let fields = Fields::SOURCE_IP | Fields::TARGET_IP;
    let spec = HashSpec::new(HashFunction::Crc32).with_fields(fields);
    let solver = PortSolver::new(&spec, &KEY);
    let fixed = spec.bucket(&KEY, 8);
    assert_eq!(solver.solve(8, fixed), Some(FIRST_PORT));
    assert_eq!(solver.solve(8, fixed ^ 1), None);
}

#[test]
fn equal_tiers_refuse_different_members() {
    let solver = PortSolver::new(&HashSpec::new(HashFunction::Crc32), &KEY);
    let demand = |bucket| Wanted { solver: &solver, members: 8, bucket };
    assert!(solve_joint(&[demand(3), demand(3)]).is_some());
    assert_eq!(solve_joint(&[demand(3), demand(4)]), None);
}

proptest! {
    /// Leaf, spine and core at once: the answer is the one that search over all ports finds.
    #[test]
    fn joint_solution_agrees_with_search(
        functions in prop::collection::vec(prop::sample::select(&HashFunction::ALL[..]), 3),
        seeds: [u32; 3],
        members in prop::sample::select(vec![[8, 8, 4], [16, 2, 32], [60, 8, 1], [7, 5, 3]]),
        choice: [usize; 3],
    ) {
        let specs = [0, 1, 2].map(|tier| HashSpec::new(functions[tier]).with_seed(seeds[tier]));
        let solvers = specs.map(|spec| PortSolver::new(&spec, &KEY));
        let buckets = [0, 1, 2].map(|tier| choice[tier] % members[tier]);
        let wanted = [0, 1, 2].map(|tier| Wanted {
            solver: &solvers[tier],
            members: members[tier],
            bucket: buckets[tier],
        });
        let found = (FIRST_PORT..=LAST_PORT).find(|&port| {
            let key = KEY.with_source_port(port);
            (0..3).all(|tier| specs[tier].bucket(&key, members[tier]) == buckets[tier])
        });
        prop_assert_eq!(solve_joint(&wanted), found);
    }
}
