//! What is so, whoever knows of it: where probes get lost.
use railtwin_control::controller::{Action, Answer};
use railtwin_fabric::{Fabric, LinkId};
use railtwin_routing::{EcmpConfig, FiveTuple, Forwarding, HashKey, LinkMask, Routing, nic_ip};
use railtwin_units::{SimTime, stream};

use crate::fault::{Change, Impairment, Moment};

/// Links that carry nothing, and links that lose.
#[derive(Clone, Debug)]
pub(super) struct Ground<'a> {
    fabric: &'a Fabric,
    ecmp: EcmpConfig,
    dead: LinkMask,
    impairments: &'a [Impairment],
    draw: u64,
    /// The switches' tables, as of the links that they leave out.
    tables: Option<(LinkMask, Forwarding)>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(
        fabric: &'a Fabric,
        ecmp: EcmpConfig,
        impairments: &'a [Impairment],
        draw: u64,
    ) -> Self {
        Self { fabric, ecmp, dead: LinkMask::none(fabric), impairments, draw, tables: None }
    }

    /// Takes note of what happens.
    pub(super) fn pass(&mut self, moment: &Moment) {
        let (cable, ways, dead) = match moment.change {
            Change::Dies(cable, ways) => (cable, ways, true),
            Change::Carries(cable, ways) => (cable, ways, false),
            _ => return,
        };
        ways.links(cable).for_each(|link| self.dead.set_link(link, dead));
    }

    /// After when nothing changes any more.
    pub(super) fn last_change(&self, moments: &[Moment]) -> SimTime {
        let ends = self.impairments.iter().flat_map(|ill| [ill.from, ill.until]);
        let all = moments.iter().map(|moment| moment.at).chain(ends);
        all.filter(|&at| at < SimTime::NEVER).max().unwrap_or(SimTime::ZERO)
    }

    /// What becomes of probes at `now`, packet by packet, where switches leave out the links of `routed`. Each packet
    /// has a draw of its own.
    pub(super) fn answer(&mut self, now: SimTime, routed: &LinkMask, probes: &[Action]) -> Vec<Answer> {
        if self.tables.as_ref().is_none_or(|(mask, _)| mask != routed) {
            self.tables = Some((routed.clone(), Forwarding::new(self.fabric, routed)));
        }
        let (_, forwarding) = self.tables.as_ref().expect("made above");
        let routing = Routing::new(self.fabric, forwarding, &self.ecmp);
        let mut kept = vec![1.0; self.fabric.link_count()];
        for ill in self.impairments.iter().filter(|ill| ill.acts_at(now)) {
            kept[ill.link.index()] *= if ill.capacity > 0.0 { 1.0 - ill.loss } else { 0.0 };
        }
        let arrives = |link: &LinkId| if self.dead.is_down(*link) { 0.0 } else { kept[link.index()] };
        let mut path = Vec::new();
        let answer = |(row, action): (u64, &Action)| {
            let Action::Probe { source, target, source_port, packets } = *action else {
                return Answer { sent: 0, lost: 0 };
            };
            let key = HashKey::of(FiveTuple::roce(nic_ip(source.nic), nic_ip(target), source_port));
            path.clear();
            let landed = routing.route(source, target, &key, &mut path).is_ok();
            let share: f64 = if landed { path.iter().map(arrives).product() } else { 0.0 };
            let lost = match share {
                1.0 => 0,
                0.0 => packets,
                _ => {
                    let draw = stream::mix(self.draw ^ stream::mix(now.ps()) ^ row);
                    let is_lost = |packet: u32| {
                        let bits = stream::mix(draw ^ stream::mix(u64::from(packet))) >> 11;
                        bits as f64 / (1_u64 << 53) as f64 >= share
                    };
                    (0..packets).filter(|&packet| is_lost(packet)).count() as u32
                }
            };
            Answer { sent: packets, lost }
        };
        (0..).zip(probes).map(answer).collect()
    }
}
