//! What is so, whoever knows of it: where probes go and get lost.
use railtwin_control::controller::{Action, Answer};
use railtwin_fabric::{Fabric, LinkId};
use railtwin_routing::{EcmpConfig, FiveTuple, Forwarding, HashKey, LinkMask, Routing, nic_ip};
use railtwin_units::{Bytes, SimTime, stream};

use super::survey::{Probe, Survey};
use crate::fault::{Change, Impairment, Moment};

/// How exactly the load of a link is known: a survey of microseconds lasts whole picoseconds, and bytes that a link
/// carried in it are the difference of two sums. What carries half of what it can carries no more than that.
const ROUNDING: f64 = 1e-6;

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

    /// Where probes go that are sent at `now`, where switches leave out the links of `routed`.
    pub(super) fn survey(
        &mut self,
        (now, size): (SimTime, u32),
        asker: (usize, u32, &'static str),
        routed: &LinkMask,
        probes: &[Action],
    ) -> Survey {
        if self.tables.as_ref().is_none_or(|(mask, _)| mask != routed) {
            self.tables = Some((routed.clone(), Forwarding::new(self.fabric, routed)));
        }
        let (_, forwarding) = self.tables.as_ref().expect("made above");
        let routing = Routing::new(self.fabric, forwarding, &self.ecmp);
        let mut survey = Survey::new(now, asker, size);
        let mut path = Vec::new();
        for action in probes {
            let Action::Probe { source, target, source_port, .. } = *action else { continue };
            let key = HashKey::of(FiveTuple::roce(nic_ip(source.nic), nic_ip(target), source_port));
            path.clear();
            let lands = routing.route(source, target, &key, &mut path).is_ok();
            if !lands {
                path.extend(forwarding.access(source.nic, source.port).map(|access| access.link));
            }
            survey.add(action, lands, &path);
        }
        survey
    }

    /// What becomes of a survey where no packet is followed. Each packet has a draw of its own, which links lose it
    /// that lose packets; `load` tells the share of a link that is taken while it is probed, and for how long a packet
    /// waits for it. An answer that takes longer than `timeout` is none.
    pub(super) fn answer(
        &self,
        survey: &Survey,
        timeout: SimTime,
        load: &dyn Fn(LinkId) -> (f64, SimTime),
    ) -> Vec<Answer> {
        let now = survey.at;
        let links = self.fabric.link_count();
        let (mut kept, mut added) = (vec![1.0; links], vec![SimTime::ZERO; links]);
        for ill in self.impairments.iter().filter(|ill| ill.acts_at(now)) {
            kept[ill.link.index()] *= if ill.capacity > 0.0 { 1.0 - ill.loss } else { 0.0 };
            added[ill.link.index()] += ill.delay;
        }
        let arrives = |link: LinkId| if self.dead.is_down(link) { 0.0 } else { kept[link.index()] };
        let size = Bytes(u64::from(survey.size));
        let takes = |link: LinkId| {
            let switch = self.fabric.place(self.fabric.target(link)).is_some();
            let latency = if switch { self.fabric.switch_latency() } else { SimTime::ZERO };
            let wires = self.fabric.delay(link) + added[link.index()] + latency;
            size.time_at(self.fabric.capacity(link)).saturating_add(wires).saturating_add(load(link).1)
        };
        let answer = |(row, probe): (usize, &Probe)| {
            let there = survey.links_of(row);
            let both = || there.iter().flat_map(|&link| [link, link.reverse()]);
            let share: f64 = if probe.lands { both().map(arrives).product() } else { 0.0 };
            let packets = probe.packets;
            let lost = match share {
                1.0 => 0,
                0.0 => packets,
                _ => {
                    let draw = stream::mix(self.draw ^ stream::mix(now.ps()) ^ row as u64);
                    let is_lost = |packet: u32| {
                        let bits = stream::mix(draw ^ stream::mix(u64::from(packet))) >> 11;
                        bits as f64 / (1_u64 << 53) as f64 >= share
                    };
                    (0..packets).filter(|&packet| is_lost(packet)).count() as u32
                }
            };
            let delay = both().map(takes).fold(SimTime::ZERO, SimTime::saturating_add);
            let mut answer = Answer::of(packets, if delay > timeout { packets } else { lost });
            if answer.lost < packets {
                (answer.delay, answer.delay_max) = (delay, delay);
            }
            answer.loaded = both().any(|link| load(link).0 > Answer::LOADED * (1.0 + ROUNDING));
            answer
        };
        survey.probes.iter().enumerate().map(answer).collect()
    }
}
