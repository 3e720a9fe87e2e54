//! The ways between leaves, made when first asked for and kept until the tables change.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, Fabric, LinkId, NONE};
use railtwin_routing::Routing;

use super::dag::{PathDag, Tables};

/// Ways from one leaf to one set of leaves.
#[derive(Clone, Debug)]
struct Pair {
    leaf: u32,
    set: u32,
    /// A NIC that these leaves announced when the ways were made.
    nic: DeviceId,
    dag: Option<PathDag>,
}

/// All pairs asked for so far. A pair keeps its number whatever happens to the tables.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalogue {
    pub(super) tables: Tables,
    /// Sets of leaves by content.
    sets: BTreeMap<Box<[u32]>, u32>,
    /// Set of each target of the tables at hand, [`NONE`] until asked for.
    set_of_target: Vec<u32>,
    /// Pair by row of the source leaf and set.
    numbers: Vec<Vec<u32>>,
    pairs: Vec<Pair>,
}

impl Catalogue {
    pub(super) fn new(fabric: &Fabric) -> Self {
        Self { numbers: vec![Vec::new(); fabric.switches().len()], ..Self::default() }
    }

    /// Number of pairs made so far.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The pair of a leaf and a NIC with its ways made; none if no leaf announces the NIC.
    #[inline]
    pub(super) fn pair(&mut self, routing: &Routing<'_>, leaf: u32, nic: DeviceId) -> Option<u32> {
        let set = self.set_of(routing, nic)?;
        let of_leaf = &mut self.numbers[leaf as usize];
        if of_leaf.len() <= set as usize {
            of_leaf.resize(set as usize + 1, NONE);
        }
        if of_leaf[set as usize] == NONE {
            of_leaf[set as usize] = self.pairs.len() as u32;
            self.pairs.push(Pair { leaf, set, nic, dag: None });
        }
        let number = of_leaf[set as usize];
        let pair = &mut self.pairs[number as usize];
        if pair.dag.is_none() {
            pair.nic = nic;
            pair.dag = Some(PathDag::build(routing, leaf, nic, &mut self.tables));
        }
        Some(number)
    }

    /// The ways of a pair that [`Self::pair`] has just named.
    #[inline]
    pub(super) fn dag(&self, pair: u32) -> &PathDag {
        self.pairs[pair as usize].dag.as_ref().expect("a pair is named with its ways made")
    }

    fn set_of(&mut self, routing: &Routing<'_>, nic: DeviceId) -> Option<u32> {
        let target = routing.forwarding.target_of(nic)?;
        if self.set_of_target.is_empty() {
            self.set_of_target = vec![NONE; routing.forwarding.target_count()];
        }
        let set = &mut self.set_of_target[target.index()];
        if *set == NONE {
            let leaves = routing.forwarding.leaves(target);
            let next = self.sets.len() as u32;
            *set = *self.sets.entry(leaves.into()).or_insert(next);
        }
        Some(*set)
    }

    /// Takes up new tables. `gone` are the links that died since, by index; `revived` tells whether others came
    /// to life. Returns which pairs have other ways than before.
    pub(super) fn refresh(&mut self, routing: &Routing<'_>, gone: &[LinkId], revived: bool) -> Vec<bool> {
        self.set_of_target.clear();
        let mut changed = vec![false; self.pairs.len()];
        for (number, has_changed) in changed.iter_mut().enumerate() {
            let Pair { leaf, set, nic, .. } = self.pairs[number];
            let Some(old) = self.pairs[number].dag.take() else {
                *has_changed = true;
                continue;
            };
            if !revived && !old.edges.iter().any(|edge| gone.contains(&edge.link)) {
                self.pairs[number].dag = Some(old);
            } else if self.set_of(routing, nic) == Some(set) {
                let new = PathDag::build(routing, leaf, nic, &mut self.tables);
                *has_changed = new != old;
                self.pairs[number].dag = Some(new);
            } else {
                *has_changed = true;
            }
        }
        changed
    }
}
