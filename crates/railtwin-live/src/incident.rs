//! Incidents: opened by signs, updated while these go on, confirmed, closed when they are gone; never repeated.
use railtwin_records::{Component, Evidence};
use serde::{Deserialize, Serialize};

/// A sign that has been gone for so long closes its incident: ten heartbeats of the common 200 ms, so that one window
/// that looks well by chance does not.
const GONE_NS: u64 = 2_000_000_000;
/// A sign that comes back within this time reopens its incident: what comes and goes is one incident, not many.
const AGAIN_NS: u64 = 30_000_000_000;
/// Slowness that has been seen for so long beyond its first window is no passing one.
const LASTING_NS: u64 = 3_000_000_000;

/// A kind of incident.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum LiveKind {
    /// The process of a rank is gone; its peers found their connections closed.
    KilledProcess,
    /// The process of a rank does not run.
    StoppedProcess,
    /// A link carries nothing, and nobody is told.
    SilentLink,
    /// The job stands still, and no direct sign says why.
    Standstill,
    /// A rank computes longer than its peers.
    SlowCompute,
    /// A rank loads data for longer than its peers.
    SlowData,
    /// A link carries less than it did and than others do.
    SlowLink,
    /// A link loses packets.
    LossyLink,
    /// The observer's own timer fires late: nobody is accused meanwhile.
    ObserverStarved,
    /// Records of a rank end while the job goes on with it.
    RecordsMissing,
}

impl LiveKind {
    /// Its name in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KilledProcess => "killed-process",
            Self::StoppedProcess => "stopped-process",
            Self::SilentLink => "silent-link",
            Self::Standstill => "standstill",
            Self::SlowCompute => "slow-compute",
            Self::SlowData => "slow-data",
            Self::SlowLink => "slow-link",
            Self::LossyLink => "lossy-link",
            Self::ObserverStarved => "observer-starved",
            Self::RecordsMissing => "records-missing",
        }
    }

    /// Whether it keeps the job from going on: standing still confirms it.
    pub const fn stops(self) -> bool {
        matches!(self, Self::KilledProcess | Self::StoppedProcess | Self::SilentLink | Self::Standstill)
    }

    /// Whether it says something of the job, and not of who observes it.
    pub const fn is_of_job(self) -> bool {
        !matches!(self, Self::ObserverStarved | Self::RecordsMissing)
    }

    /// The next step of who reads it.
    pub const fn next_step(self) -> &'static str {
        match self {
            Self::KilledProcess => {
                "read the log of the process and the kernel's, then restart the job without its host"
            }
            Self::StoppedProcess => "look at the state of the process (ps, a debugger, a stopped container)",
            Self::SilentLink => {
                "take the NIC out of use; look at its cable, its port and the port of the switch"
            }
            Self::Standstill => "dump the stacks of the suspects, or of all ranks where there are none",
            Self::SlowCompute => "look at clocks, heat and neighbors of the rank's GPU or processor",
            Self::SlowData => {
                "look at the loader of the rank: its storage mount, its processors, its share of the data"
            }
            Self::SlowLink => {
                "look at rate, errors and pauses of the NIC and of the port of the switch that it is at"
            }
            Self::LossyLink => "read error counters at both ends of the link, clean or replace its cable",
            Self::ObserverStarved => "give the observer a processor of its own, or a higher priority",
            Self::RecordsMissing => {
                "look at the rank's writer of records: a full disk, a lost mount, a cut file"
            }
        }
    }
}

/// Something that can be at fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum SuspectPlace {
    /// The process of a rank, by its number.
    Rank(u32),
    /// The NIC that a rank sends over and its link to the switch, by the number of the rank.
    Nic(u32),
}

impl SuspectPlace {
    /// The rank that it is of.
    pub const fn rank(self) -> u32 {
        match self {
            Self::Rank(rank) | Self::Nic(rank) => rank,
        }
    }

    /// The component of a job: `job/3`, `rank-3/nic`.
    pub fn component(self, job: &str) -> Component {
        match self {
            Self::Rank(rank) => Component::Rank(format!("{job}/{rank}")),
            Self::Nic(rank) => Component::Nic(format!("rank-{rank}/nic")),
        }
    }
}

/// A suspect, and which share of the confidence is on it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Suspect {
    /// Kind.
    pub place: SuspectPlace,
    /// Probability that it is the cause, 0 to 1.
    pub share: f64,
}

/// A sign that a judge sees at one moment.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sign {
    pub(crate) kind: LiveKind,
    pub(crate) suspects: Vec<Suspect>,
    /// The connection that shows it: from, to.
    pub(crate) edge: Option<(u32, u32)>,
    pub(crate) evidence: Vec<Evidence>,
    /// Whether it can be nothing else: no time is waited for.
    pub(crate) is_sure: bool,
}

/// Something that went wrong, from its first sign to its end.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LiveIncident {
    /// Number of the incident, from 1 on in the order of opening.
    pub id: u32,
    /// Its kind. A loss of packets that proves to be the full queue of a slow link becomes that.
    pub kind: LiveKind,
    /// When a sign was first seen, ns.
    pub opened_ns: u64,
    /// When kind, suspects or state last changed, ns.
    pub updated_ns: u64,
    /// When it was confirmed, ns.
    pub confirmed_ns: Option<u64>,
    /// When it was closed, ns.
    pub closed_ns: Option<u64>,
    /// Suspects, the likeliest first; none where nothing tells, and for the observer's own.
    pub suspects: Vec<Suspect>,
    /// The connection that shows it, from and to; none where it is none of one connection.
    pub edge: Option<(u32, u32)>,
    /// Its evidence, of the last time that the sign was seen; not stored.
    #[serde(skip)]
    pub evidence: Vec<Evidence>,
    /// When the sign was last seen, ns.
    pub seen_ns: u64,
}

impl LiveIncident {
    /// Whether it accuses: it is of the job and names somebody.
    pub fn accuses(&self) -> bool {
        self.kind.is_of_job() && !self.suspects.is_empty()
    }
}

/// All incidents.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Book {
    pub(crate) incidents: Vec<LiveIncident>,
}

impl Book {
    /// Whether an incident is open that keeps the job from going on.
    pub(crate) fn is_stopped(&self) -> bool {
        self.open().any(|incident| incident.kind.stops())
    }

    pub(crate) fn open(&self) -> impl Iterator<Item = &LiveIncident> {
        self.incidents.iter().filter(|incident| incident.closed_ns.is_none())
    }

    /// Keeps all incidents as they are for a moment at which nobody can be believed.
    pub(crate) fn hold(&mut self, now_ns: u64) {
        let of_job = |incident: &&mut LiveIncident| incident.closed_ns.is_none() && incident.kind.is_of_job();
        self.incidents.iter_mut().filter(of_job).for_each(|incident| incident.seen_ns = now_ns);
    }

    /// Takes what is seen at a moment; `still_ns` is for how long nothing moved in the job.
    pub(crate) fn take(&mut self, now_ns: u64, signs: Vec<Sign>, still_ns: u64, hang_ns: u64) {
        for sign in signs {
            let known = self.incidents.iter_mut().rev().find(|incident| incident.is_of(&sign, now_ns));
            match known {
                Some(incident) => incident.see(now_ns, sign, still_ns, hang_ns),
                None => {
                    let mut incident = LiveIncident {
                        id: self.incidents.len() as u32 + 1,
                        kind: sign.kind,
                        opened_ns: now_ns,
                        updated_ns: now_ns,
                        confirmed_ns: None,
                        closed_ns: None,
                        suspects: Vec::new(),
                        edge: None,
                        evidence: Vec::new(),
                        seen_ns: now_ns,
                    };
                    incident.see(now_ns, sign, still_ns, hang_ns);
                    self.incidents.push(incident);
                }
            }
        }
        for incident in self.incidents.iter_mut().filter(|incident| incident.closed_ns.is_none()) {
            let is_gone = now_ns.saturating_sub(incident.seen_ns) >= GONE_NS;
            if is_gone && !(incident.kind.stops() && still_ns >= GONE_NS) {
                incident.closed_ns = Some(now_ns);
                incident.updated_ns = now_ns;
            }
        }
    }
}

impl LiveIncident {
    /// Whether a sign is of it: the same kind of the same place, open or just closed.
    fn is_of(&self, sign: &Sign, now_ns: u64) -> bool {
        let kept = self.closed_ns.is_none_or(|closed| now_ns.saturating_sub(closed) <= AGAIN_NS);
        // The queue of a slow link overflows, so that a loss may be seen first.
        let becomes =
            self.kind == LiveKind::LossyLink && sign.kind == LiveKind::SlowLink && self.closed_ns.is_none();
        let shares = || {
            let places = |of: &[Suspect]| of.iter().map(|suspect| suspect.place).collect::<Vec<_>>();
            let (mine, others) = (places(&self.suspects), places(&sign.suspects));
            mine.iter().any(|place| others.contains(place)) || (mine.is_empty() && others.is_empty())
        };
        let same_stop = self.kind == sign.kind
            && matches!(self.kind, LiveKind::KilledProcess | LiveKind::Standstill)
            && self.closed_ns.is_none();
        kept && (same_stop || (self.kind == sign.kind || becomes) && shares())
    }

    fn see(&mut self, now_ns: u64, sign: Sign, still_ns: u64, hang_ns: u64) {
        let places = |of: &[Suspect]| of.iter().map(|suspect| suspect.place).collect::<Vec<_>>();
        let changed = self.kind != sign.kind
            || places(&self.suspects) != places(&sign.suspects)
            || self.closed_ns.is_some();
        self.kind = sign.kind;
        self.suspects = sign.suspects;
        self.edge = sign.edge;
        self.evidence = sign.evidence;
        self.closed_ns = None;
        self.seen_ns = now_ns;
        let lasts = match self.kind {
            LiveKind::ObserverStarved | LiveKind::RecordsMissing => true,
            kind if kind.stops() => still_ns >= hang_ns,
            _ => now_ns.saturating_sub(self.opened_ns) >= LASTING_NS,
        };
        let confirms = self.confirmed_ns.is_none() && (sign.is_sure || lasts);
        if confirms {
            self.confirmed_ns = Some(now_ns);
        }
        if changed || confirms {
            self.updated_ns = now_ns;
        }
    }
}
