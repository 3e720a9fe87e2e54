//! Sightings of ends as cables.
use std::collections::BTreeMap;

use railtwin_fabric::NONE;

use super::blueprint::Blueprint;
use super::names::{End, Ports};

/// What a port itself reports of its far end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Own {
    /// Nothing.
    Unseen,
    /// It is free.
    Free,
    /// A device, and a port of it; [`NONE`] where that is not known.
    Leads([u32; 2]),
    /// Different things.
    Several,
}

/// The state of all ports.
#[derive(Debug)]
pub(super) struct Observed {
    /// The far end of each port; [`NONE`] where none is known.
    pub(super) partner: Vec<u32>,
    /// Whether a port was seen free.
    pub(super) is_free: Vec<bool>,
    /// Whether the far end is assumed: only the device was seen.
    pub(super) assumed: Vec<bool>,
    /// Ports that contradict each other, and how.
    pub(super) contradictions: Vec<(Vec<u32>, &'static str)>,
}

impl Observed {
    /// Joins the ends; ports without a name become new ones of `ports`.
    pub(super) fn of(blueprint: &Blueprint, ports: &mut Ports<'_>, ends: &[End], complete: bool) -> Self {
        let mut own = vec![Own::Unseen; ports.count()];
        for end in ends {
            let (port, new) = match *end {
                End::Free(port) => (port, Own::Free),
                End::Leads(port, far) => (port, Own::Leads(far)),
            };
            let old = own[port as usize];
            own[port as usize] = joined(old, new);
        }
        let mut observed = Self {
            partner: vec![NONE; own.len()],
            is_free: own.iter().map(|own| *own == Own::Free).collect(),
            assumed: vec![false; own.len()],
            contradictions: Vec::new(),
        };
        let refused = observed.join_ports(ports, &own);
        observed.join_devices(blueprint, ports, &own, &refused);
        observed.join_nameless(ports, &own, &refused);
        if complete {
            for port in 0..blueprint.list.ports().len() {
                observed.is_free[port] |=
                    observed.partner[port] == NONE && own[port] == Own::Unseen && !refused[port];
            }
        }
        observed
    }

    fn join(&mut self, a: u32, b: u32) {
        (self.partner[a as usize], self.partner[b as usize]) = (b, a);
        (self.is_free[a as usize], self.is_free[b as usize]) = (false, false);
    }

    /// Joins ports whose ends are both known by name. Returns ports that are not judged.
    fn join_ports(&mut self, ports: &Ports<'_>, own: &[Own]) -> Vec<bool> {
        let mut refused: Vec<bool> = own.iter().map(|own| *own == Own::Several).collect();
        let several = (0..own.len() as u32).filter(|&port| refused[port as usize]).collect::<Vec<_>>();
        for port in several {
            self.contradictions.push((vec![port], "reports several far ends"));
        }
        let far = |port: u32| match own[port as usize] {
            Own::Leads([_, far]) if far != NONE => Some(far),
            _ => None,
        };
        let all = 0..own.len() as u32;
        for port in all.clone() {
            if let Some(end) = far(port).filter(|&end| end > port && far(end) == Some(port)) {
                self.join(port, end);
            }
        }
        let mut claims: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for port in all.filter(|&port| self.partner[port as usize] == NONE) {
            let Some(end) = far(port) else { continue };
            let agrees = match own[end as usize] {
                Own::Unseen | Own::Several => true,
                Own::Leads([device, NONE]) => device == ports.device_of(port),
                _ => false,
            };
            if self.partner[end as usize] != NONE {
                refused[port as usize] = true;
                let both = vec![port, end, self.partner[end as usize]];
                self.contradictions
                    .push((both, "the first says that it leads to the second, which the third holds"));
            } else if agrees {
                claims.entry(end).or_default().push(port);
            } else {
                (refused[port as usize], refused[end as usize]) = (true, true);
                self.contradictions
                    .push((vec![port, end], "the first says that it leads to the second, which denies it"));
            }
        }
        for (end, of) in claims {
            match of[..] {
                [port] if !refused[end as usize] || own[end as usize] == Own::Several => self.join(port, end),
                _ => {
                    of.iter().for_each(|&port| refused[port as usize] = true);
                    refused[end as usize] = true;
                    let all = [vec![end], of].concat();
                    self.contradictions.push((all, "the others all say that they lead to the first"));
                }
            }
        }
        refused
    }

    /// Joins ports of which only the device at the far end is known. Where that is the planned one, so is the port; where it
    /// is another one, the port is taken to be one that a cable left that is seen elsewhere: first those of two cables that
    /// changed places, then along longer cycles.
    fn join_devices(&mut self, blueprint: &Blueprint, ports: &Ports<'_>, own: &[Own], refused: &[bool]) {
        let mut wrong: Vec<(u32, u32, u32)> = Vec::new();
        for port in 0..own.len() as u32 {
            let Own::Leads([device, NONE]) = own[port as usize] else { continue };
            if self.partner[port as usize] != NONE || refused[port as usize] {
                continue;
            }
            let Some(planned) = blueprint.planned(port) else { continue };
            let should = ports.device_of(planned);
            let is_taken = self.partner[planned as usize] != NONE || refused[planned as usize];
            match should == device {
                true if is_taken => {}
                true => self.join(port, planned),
                false => wrong.push((port, should, device)),
            }
        }
        // Ports by the device that they should lead to and the one that they do.
        let mut waiting: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for &(port, should, device) in wrong.iter().rev() {
            waiting.entry((should, device)).or_default().push(port);
        }
        for &(port, should, device) in &wrong {
            if self.partner[port as usize] != NONE || should > device {
                continue;
            }
            let other = waiting.get_mut(&(device, should)).and_then(Vec::pop);
            if let Some(other) = other {
                self.assume(blueprint, port, other);
                self.assume(blueprint, other, port);
            }
        }
        let mut left: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &(port, should, _) in wrong.iter().rev() {
            if self.partner[port as usize] == NONE {
                left.entry(should).or_default().push(port);
            }
        }
        for &(port, _, device) in &wrong {
            if self.partner[port as usize] != NONE {
                continue;
            }
            while let Some(other) = left.get_mut(&device).and_then(Vec::pop) {
                if self.assume(blueprint, port, other) {
                    break;
                }
            }
        }
    }

    /// Ports that lead to another device than planned, and nothing tells to which port of it: to one without a name.
    fn join_nameless(&mut self, ports: &mut Ports<'_>, own: &[Own], refused: &[bool]) {
        for port in 0..own.len() as u32 {
            let Own::Leads([device, NONE]) = own[port as usize] else { continue };
            if self.partner[port as usize] == NONE && !refused[port as usize] {
                let end = ports.nameless(device);
                self.partner.push(port);
                self.is_free.push(false);
                self.assumed.push(true);
                self.partner[port as usize] = end;
            }
        }
    }

    /// Takes `port` to be in the planned port of `other`. Returns whether that was free to take.
    fn assume(&mut self, blueprint: &Blueprint, port: u32, other: u32) -> bool {
        let Some(end) = blueprint.planned(other).filter(|&end| self.partner[end as usize] == NONE) else {
            return false;
        };
        self.join(port, end);
        (self.assumed[port as usize], self.assumed[end as usize]) = (true, true);
        true
    }
}

fn joined(old: Own, new: Own) -> Own {
    match (old, new) {
        (Own::Unseen, new) => new,
        (old, new) if old == new => old,
        (Own::Leads([a, NONE]), Own::Leads([b, port])) if a == b => Own::Leads([a, port]),
        (Own::Leads([a, port]), Own::Leads([b, NONE])) if a == b => Own::Leads([a, port]),
        _ => Own::Several,
    }
}
