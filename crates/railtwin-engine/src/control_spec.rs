//! `[control]`: how long decisions of controllers are on their way, and what leaves can hold.
use railtwin_control::crux::CruxOptions;
use railtwin_control::paths::{BalancingOptions, Probing, RepathingOptions};
use railtwin_control::te::{EngineOptions, ZonePolicies, ZonePolicy};
use railtwin_units::SimTime;
use railtwin_units::keys::{Kind, whole};

use crate::balancer::Balancer;
use crate::graph::PRIORITY_MAX;
use crate::hashed_zones::HashedZones;

/// From a run of traffic engineering until its entries hold, where nothing is said: computing and writing. An
/// assumption; the paper gives no time.
const TE_PROGRAMMING: SimTime = SimTime::from_ns(1_000_000_000);

railtwin_units::section! {
    /// How events reach controllers and how their decisions take effect; when they plan is `[routing] replan`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ControlSpec "[control]" {
        /// From a change of routes until a controller hears of it.
        pub report: SimTime = SimTime::ZERO,
        /// From a decision until it holds: computing, telling hosts, writing into switches; default 1 s for te, none
        /// for others. What is decided before the run starts holds from the start.
        pub programming: Option<SimTime> = None,
        /// What hosts plan by under disjoint.
        #[key(sparse)]
        pub hosts: HostsBy = HostsBy::Paths,
        /// Most queue pairs that c4p moves to even out what links carry when one is back; default as many as help.
        pub rebalance: Option<u32> [whole(0..=u32::MAX as i64)] = None,
        /// How often c4p probes the paths between all leaves, to find links that lose packets; default never.
        pub probes: Option<SimTime> [Kind::Span] = None,
        /// Packets along each path in a survey.
        #[key(sparse)]
        pub probe_packets: u32 [whole(1..=1_000_000)] = 100,
        /// Most paths of a pair of leaves that are probed.
        #[key(sparse)]
        pub probe_paths: u32 [whole(1..=4096)] = 64,
        /// Bytes of a probe and of its answer on the wire.
        #[key(sparse)]
        pub probe_size: u32 [whole(64..=9_216)] = 128,
        /// How long a probe is waited for before it counts as lost.
        #[key(sparse)]
        pub probe_timeout: SimTime [Kind::Span] = SimTime::from_ns(100_000_000),
        /// Surveys without a loss after which a faulty link counts as sound again.
        #[key(sparse)]
        pub clean_surveys: u32 [whole(1..=1000)] = 3,
        /// How often hosts and switches tell controllers what completed and what they counted since; default never.
        pub feedback: Option<SimTime> [Kind::Span] = None,
        /// Under c4p with feedback: weight of the newest completion time in what a queue pair's rate is held for.
        #[key(sparse)]
        pub smoothing: f64 [Kind::Share(0.0, 1.0)] = 0.5,
        /// Under c4p with feedback: least share of a queue pair, of an even one.
        #[key(sparse)]
        pub floor: f64 [Kind::Share(0.0, 1.0)] = 0.05,
        /// Under c4p with feedback: shares of a connection are told when one differs by this share of an even one.
        #[key(sparse)]
        pub least_change: f64 [Kind::Share(0.0, 1.0)] = 0.01,
        /// Under multipath-ecn with feedback: share of marked packets from which a round is a congested one.
        #[key(sparse)]
        pub marked: f64 [Kind::Share(0.0, 1.0)] = 0.5,
        /// Under multipath-ecn with feedback: congested rounds in a row after which a queue pair takes another path.
        #[key(sparse)]
        pub rounds: u32 [whole(1..=1_000_000)] = 3,
        /// Under crux: priority levels that the network has for jobs, of the eight classes of traffic.
        #[key(sparse)]
        pub levels: u32 [whole(1..=PRIORITY_MAX as i64 + 1)] = PRIORITY_MAX as u32 + 1,
        /// Under crux: most paths of a queue pair that are weighed.
        #[key(sparse)]
        pub candidates: u32 [whole(1..=4096)] = 64,
        /// Under crux with feedback: for how long a job that comes goes before all others, so that its intensity is
        /// measured; default never, its plan says it.
        #[key(sparse)]
        pub profile: Option<SimTime> [Kind::Span] = None,
        /// Most entries that a leaf holds for te; the largest flows get them.
        pub entries: u32 [whole(0..=1_048_576)] = 16_384,
        /// Which flows te places, the rest being hashed.
        pub zones: Zones = Zones::Inside,
        /// Zones whose hosts te leaves to E-ECMP whatever `zones` says; default none.
        #[key(sparse)]
        pub hashed_zones: HashedZones = HashedZones::default(),
        /// Share of writes into leaves that do not succeed, and are due again in the next period; default none.
        pub lost_writes: Option<f64> [Kind::Share(0.0, 1.0)] = None,
    }
}

railtwin_units::choice! {
    /// What hosts that steer their own queue pairs know of the network (HPN section 6.1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum HostsBy {
        /// The tables and hashes of all switches: whole paths that share no link.
        Paths = "paths",
        /// The groups and hashes of their own leaves, which they read again when these change: with planes the whole
        /// path, elsewhere its first hop.
        Leaf = "leaf",
    }
}

railtwin_units::choice! {
    /// Which flows traffic engineering places (Meta RoCE section 4.4.3). A zone is a pod.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Zones {
        /// Those inside a zone; across zones E-ECMP.
        Inside = "inside",
        /// All.
        Everywhere = "everywhere",
        /// None.
        Nowhere = "nowhere",
    }
}

impl ControlSpec {
    /// From a decision until it holds.
    pub fn programming(&self, balancer: Balancer) -> SimTime {
        let own = if balancer == Balancer::Te { TE_PROGRAMMING } else { SimTime::ZERO };
        self.programming.unwrap_or(own)
    }

    /// How C4P's master probes; none where it does not.
    pub fn probing(&self, draw: u64) -> Option<Probing> {
        let &Self { probes, probe_packets: packets, probe_paths: paths, clean_surveys: clean, .. } = self;
        probes.map(|period| Probing { period, packets, paths, clean, seed: draw })
    }

    /// How the controller decides that ranks jobs; none under balancers that have none. Crux alone measures jobs.
    pub fn crux(&self, balancer: Balancer, seed: u64) -> Option<CruxOptions> {
        let policy = balancer.sharing()?;
        let profile = self.profile.filter(|_| self.feedback.is_some() && policy.is_crux());
        let &Self { levels, candidates: ways, .. } = self;
        Some(CruxOptions { policy, levels, ways, profile, seed })
    }

    /// How hosts weigh queue pairs by completion times.
    pub fn balancing(&self) -> BalancingOptions {
        let &Self { smoothing, floor, least_change, .. } = self;
        BalancingOptions { smoothing, floor, least_change }
    }

    /// How hosts move marked queue pairs.
    pub fn repathing(&self, draw: u64) -> RepathingOptions {
        RepathingOptions { marked: self.marked, rounds: self.rounds, draw }
    }

    /// How traffic engineering places flows.
    pub fn engine_options(&self) -> EngineOptions {
        let usual = match self.zones {
            Zones::Inside => ZonePolicy::InsideZones,
            Zones::Everywhere => ZonePolicy::Everywhere,
            Zones::Nowhere => ZonePolicy::Nowhere,
        };
        let policy = ZonePolicies { usual, hashed: self.hashed_zones.0 };
        EngineOptions { entries_per_leaf: self.entries as usize, policy, ..EngineOptions::default() }
    }
}
