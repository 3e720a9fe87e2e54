//! Probes that were asked for together: where they go, and what became of them.
use std::collections::{BTreeMap, VecDeque};

use railtwin_control::controller::{Action, Answer};
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_routing::NicPort;
use railtwin_units::SimTime;

/// One probe of a survey.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// The port that sends.
    pub source: NicPort,
    /// The NIC that answers.
    pub target: DeviceId,
    /// The UDP source port of the packets.
    pub source_port: u16,
    /// Packets.
    pub packets: u32,
    /// Whether switches have a way to the target; without one the first of them loses what it gets.
    pub lands: bool,
}

/// Probes that a controller asked for at one time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survey {
    /// When they are sent.
    pub at: SimTime,
    /// The name of who asked.
    pub controller: &'static str,
    /// Its row among the controllers.
    row: usize,
    /// Among those of its controller.
    number: u32,
    /// Bytes of a packet and of its answer on the wire.
    pub size: u32,
    /// The probes, in the order in which they were asked for.
    pub probes: Vec<Probe>,
    /// CSR: links of probe `p` are `link_start[p]..link_start[p + 1]`.
    link_start: Vec<u32>,
    links: Vec<LinkId>,
    /// What became of them, once that is known; none as long as it is not.
    pub answers: Vec<Answer>,
    /// When whoever asked is told.
    pub told: SimTime,
}

impl Survey {
    /// Nothing probed yet.
    pub(super) fn new(at: SimTime, (row, number, controller): (usize, u32, &'static str), size: u32) -> Self {
        Self {
            at,
            controller,
            row,
            number,
            size,
            probes: Vec::new(),
            link_start: vec![0],
            links: Vec::new(),
            answers: Vec::new(),
            told: SimTime::NEVER,
        }
    }

    /// Adds the probe of an action with the links that its packets take, from NIC to NIC or into the first switch.
    pub(super) fn add(&mut self, action: &Action, lands: bool, links: &[LinkId]) {
        let Action::Probe { source, target, source_port, packets } = *action else { return };
        self.probes.push(Probe { source, target, source_port, packets, lands });
        self.links.extend_from_slice(links);
        self.link_start.push(self.links.len() as u32);
    }

    /// The links that a probe's packets take; answers take the same cables back, as acknowledgements do.
    pub fn links_of(&self, probe: usize) -> &[LinkId] {
        &self.links[self.link_start[probe] as usize..self.link_start[probe + 1] as usize]
    }

    /// From the last packet sent until all is known: the longest time there and back, and where packets were lost
    /// `timeout` at least.
    pub fn lasts(&self, timeout: SimTime) -> SimTime {
        let delays = self.answers.iter().map(|one| one.delay_max).filter(|&delay| delay < SimTime::NEVER);
        let longest = delays.max().unwrap_or(SimTime::ZERO);
        if self.answers.iter().any(|one| one.lost > 0) { longest.max(timeout) } else { longest }
    }
}

/// Answers on their way, in order of time: when they are back, and to whom.
pub(super) type Answers = VecDeque<(SimTime, usize, Vec<Answer>)>;

/// Surveys by controller that it was not told of yet: it hears of them in the order in which it asked.
#[derive(Clone, Default, Debug)]
pub(super) struct Outstanding {
    /// By controller: surveys asked for, how many of them were handed on, and when the last of these is told.
    asked: BTreeMap<usize, (u32, u32, SimTime)>,
    /// Surveys that are answered and wait for earlier ones, by controller and number.
    early: BTreeMap<(usize, u32), (SimTime, Vec<Answer>)>,
}

impl Outstanding {
    /// The number of a controller's next survey.
    pub(super) fn ask(&mut self, row: usize) -> u32 {
        let (asked, ..) = self.asked.entry(row).or_default();
        *asked += 1;
        *asked - 1
    }

    /// A survey is answered: adds to what is on its way.
    pub(super) fn hear(&mut self, survey: &Survey, mut on_way: Answers) -> Answers {
        let Survey { row, number, told, ref answers, .. } = *survey;
        self.early.insert((row, number), (told, answers.clone()));
        let (_, next, last) = self.asked.entry(row).or_default();
        while let Some((told, answers)) = self.early.remove(&(row, *next)) {
            *next += 1;
            *last = told.max(*last);
            let place = on_way.partition_point(|&(at, ..)| at <= *last);
            on_way.insert(place, (*last, row, answers));
        }
        on_way
    }
}
