//! All paths that forwarding permits between a port of a NIC and another NIC.

use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, LinkId};

use crate::route::{NicPort, NoRoute, Routing};

/// Iterates over paths, each a list of links with both access links. Paths come in order of the
/// links of each group, so always in the same order.
#[derive(Debug)]
pub struct Paths<'a> {
    routing: Routing<'a>,
    target: DeviceId,
    /// Links not yet tried, by depth: the first entry holds the access link alone.
    untried: Vec<std::slice::Iter<'a, LinkId>>,
    path: Vec<LinkId>,
    first: Option<(u32, LinkId)>,
}

impl<'a> Routing<'a> {
    /// The distinct paths from `source` to `target_nic` that some hash could choose: those over
    /// ECMP groups, so not detours longer than the shortest. Per-port hashing of the core, which
    /// is a choice too, does not narrow them.
    ///
    /// # Errors
    /// [`NoRoute`] if there is none.
    pub fn paths(&self, source: NicPort, target_nic: DeviceId) -> Result<Paths<'a>, NoRoute> {
        let (leaf, link) = self.enter(source, target_nic)?;
        if self.forwarding.next_links(leaf, target_nic).is_empty() {
            return Err(self.unreachable(leaf, target_nic));
        }
        Ok(Paths {
            routing: *self,
            target: target_nic,
            untried: Vec::new(),
            path: Vec::new(),
            first: Some((leaf, link)),
        })
    }

    /// Number of distinct paths as of [`Self::paths`], without walking each; saturates at
    /// `u64::MAX`.
    ///
    /// # Errors
    /// [`NoRoute`] if there is none.
    pub fn count_paths(&self, source: NicPort, target_nic: DeviceId) -> Result<u64, NoRoute> {
        let (leaf, _) = self.enter(source, target_nic)?;
        match self.count_from(leaf, target_nic, &mut BTreeMap::new()) {
            0 => Err(self.unreachable(leaf, target_nic)),
            count => Ok(count),
        }
    }

    /// Whether there are more distinct paths than `most`; goes through no more of them.
    ///
    /// # Errors
    /// [`NoRoute`] if there is none.
    pub fn has_more_paths(&self, source: NicPort, target_nic: DeviceId, most: u64) -> Result<bool, NoRoute> {
        let (leaf, _) = self.enter(source, target_nic)?;
        match self.count_to(leaf, target_nic, most.saturating_add(1)) {
            0 => Err(self.unreachable(leaf, target_nic)),
            count => Ok(count > most),
        }
    }

    /// Paths from a switch, up to `enough`, which is 1 or more.
    fn count_to(&self, row: u32, target: DeviceId, enough: u64) -> u64 {
        let mut count = 0;
        for &link in self.forwarding.next_links(row, target) {
            count += match self.fabric.switch_row(self.fabric.target(link)) {
                Some(next) => self.count_to(next, target, enough - count),
                None => 1,
            };
            if count >= enough {
                break;
            }
        }
        count
    }

    fn count_from(&self, row: u32, target: DeviceId, known: &mut BTreeMap<u32, u64>) -> u64 {
        if let Some(&count) = known.get(&row) {
            return count;
        }
        let mut count = 0u64;
        for &link in self.forwarding.next_links(row, target) {
            let further = match self.fabric.switch_row(self.fabric.target(link)) {
                Some(next) => self.count_from(next, target, known),
                None => 1,
            };
            count = count.saturating_add(further);
        }
        known.insert(row, count);
        count
    }
}

impl<'a> Paths<'a> {
    fn descend(&mut self, row: u32) {
        let forwarding = self.routing.forwarding;
        self.untried.push(forwarding.next_links(row, self.target).iter());
    }
}

impl Iterator for Paths<'_> {
    type Item = Vec<LinkId>;

    fn next(&mut self) -> Option<Vec<LinkId>> {
        if let Some((leaf, link)) = self.first.take() {
            self.path.push(link);
            self.descend(leaf);
        }
        loop {
            let Some(&link) = self.untried.last_mut()?.next() else {
                self.untried.pop();
                self.path.pop();
                continue;
            };
            let fabric = self.routing.fabric;
            self.path.push(link);
            match fabric.switch_row(fabric.target(link)) {
                Some(row) => self.descend(row),
                None => {
                    let path = self.path.clone();
                    self.path.pop();
                    return Some(path);
                }
            }
        }
    }
}
