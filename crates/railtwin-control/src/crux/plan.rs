//! One policy, from paths to levels.
use std::sync::Arc;

use super::burdens::Burdens;
use super::cassini::{TimeShift, time_shifts};
use super::coflow::{distinct, evenly, first_alone, sincronia_order, varys_order};
use super::compress::ContentionDag;
use super::contention::Start;
use super::correction::{Factors, Priorities};
use super::demand::Demand;
use super::select::{by_distance, by_hash, by_intensity, order_by_distance, order_by_intensity};
use super::selection::Selection;
use super::slots::{Slot, Slots};
use super::tenants::{Paths, Tenants};

railtwin_units::choice! {
    /// Who decides about paths, priorities and times.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum SharingPolicy {
        /// Paths by hash, all jobs alike.
        Ecmp = "ecmp",
        /// Crux's priorities, a level for each job, over paths by hash.
        CruxPa = "crux-pa",
        /// Crux's paths and priorities, a level for each job.
        CruxPsPa = "crux-ps-pa",
        /// Crux: paths, priorities, levels as the network has them.
        Crux = "crux",
        /// Sincronia's order over paths by hash; the first jobs have a level each.
        Sincronia = "sincronia",
        /// Varys's order over paths by hash; as many jobs on each level.
        Varys = "varys",
        /// TACCL* of the Crux paper: least congested links, longer ways first.
        Taccl = "taccl",
        /// CASSINI: all alike over paths by hash, shifted in time.
        Cassini = "cassini",
    }
}

/// What a policy decided.
#[derive(Clone, Debug, PartialEq)]
pub struct SharingPlan {
    /// The candidate of each transfer.
    pub paths: Paths,
    /// By job; 0 goes first.
    pub levels: Vec<u32>,
    /// By job: how its steps are put off.
    pub shifts: Vec<TimeShift>,
    /// Crux's priorities; none under policies that have others.
    pub priorities: Option<Priorities>,
}

impl SharingPolicy {
    /// Whether it is Crux, or a part of it.
    pub fn is_crux(self) -> bool {
        matches!(self, Self::Crux | Self::CruxPa | Self::CruxPsPa)
    }

    /// Whether it plans again when jobs come and go; others leave every job on its paths and all jobs alike.
    pub fn replans(self) -> bool {
        !matches!(self, Self::Ecmp | Self::Cassini)
    }

    /// Whether it puts jobs on as many levels as the network has: others have all alike, or a level for each job.
    pub fn keeps_levels(self) -> bool {
        self.replans() && !matches!(self, Self::CruxPa | Self::CruxPsPa)
    }

    /// Decides for `tenants` that begin at `start` on a network of `levels` priority levels, 1 or more. Hashes and
    /// random orders are of `seed`; jobs were profiled by the paths of that hash.
    pub fn plan(self, tenants: &Tenants, start: &Start, levels: u32, seed: u64) -> SharingPlan {
        self.plan_from(tenants, &by_hash(tenants, seed), start, levels, seed)
    }

    /// The same for jobs that were profiled by the paths `held`, on which policies leave them that choose none.
    pub fn plan_from(
        self,
        tenants: &Tenants,
        held: &Paths,
        start: &Start,
        levels: u32,
        seed: u64,
    ) -> SharingPlan {
        let paths = self.paths(tenants, held);
        let demand = Demand::of(tenants, &paths);
        let distance = |job: usize| tenants.jobs[job].distance();
        let (of, priorities) = self.levels(&demand, distance, levels, seed, &mut Factors::default());
        let shifts = match self {
            Self::Cassini => time_shifts(&demand, start),
            _ => vec![TimeShift::default(); tenants.jobs.len()],
        };
        SharingPlan { paths, levels: of, shifts, priorities }
    }

    /// The candidate of each transfer, where a hash that knows of nothing would take `hashed`.
    pub fn paths(self, tenants: &Tenants, hashed: &Paths) -> Paths {
        match self {
            Self::CruxPsPa | Self::Crux => by_intensity(tenants, hashed),
            Self::Taccl => by_distance(tenants, hashed),
            _ => hashed.clone(),
        }
    }

    /// Whether it chooses paths; others leave those of hashes.
    pub fn chooses_paths(self) -> bool {
        matches!(self, Self::CruxPsPa | Self::Crux | Self::Taccl)
    }

    /// What [`SharingPolicy::paths`] says of jobs with these burdens on so many links. Who finds its links used as when
    /// `selection` was made last is not asked again. None where hashes choose.
    pub fn paths_since(
        self,
        selection: &mut Selection,
        jobs: &[Arc<Burdens>],
        links: usize,
    ) -> Option<Paths> {
        let order = match self {
            Self::CruxPsPa | Self::Crux => order_by_intensity(jobs),
            Self::Taccl => order_by_distance(jobs),
            _ => return None,
        };
        Some(selection.choose(jobs, &order, links))
    }

    /// By job its level below `levels`, 0 first, for what they ask by the chosen paths; a level for each job under
    /// policies that want as many. Priorities where the policy has Crux's. `distance` says how many links a job's longest
    /// candidate has.
    pub fn levels(
        self,
        demand: &Demand,
        distance: impl Fn(usize) -> usize,
        levels: u32,
        seed: u64,
        known: &mut Factors,
    ) -> (Vec<u32>, Option<Priorities>) {
        match self {
            Self::Ecmp | Self::Cassini => (vec![0; demand.jobs.len()], None),
            Self::Sincronia => (first_alone(&sincronia_order(demand), levels), None),
            Self::Varys => (evenly(&varys_order(demand), levels), None),
            Self::Taccl => (by_way((0..demand.jobs.len()).map(distance).collect(), levels), None),
            Self::CruxPa | Self::CruxPsPa | Self::Crux => {
                let ours = Priorities::with(demand, known);
                let of = match self {
                    Self::Crux => ContentionDag::of(demand, &ours.order).compress(levels, seed).levels,
                    _ => distinct(&ours.order),
                };
                (of, Some(ours))
            }
        }
    }
}

impl SharingPlan {
    /// `start` with each job put off as the plan says.
    pub fn shifted(&self, start: &Start) -> Start {
        Start(start.0.iter().zip(&self.shifts).map(|(start, shift)| start + shift.by).collect())
    }

    /// The slots of jobs whose first steps begin at `shifted`.
    pub fn slots(&self, shifted: &Start) -> Slots {
        let slot = |(shift, &begin): (&TimeShift, &f64)| {
            let period = shift.period?;
            Some(Slot { next: begin + period, period })
        };
        Slots(self.shifts.iter().zip(&shifted.0).map(slot).collect())
    }
}

/// A level for each length of the longest path, the longest first; what is left shares the last.
fn by_way(ways: Vec<usize>, levels: u32) -> Vec<u32> {
    let mut lengths = ways.clone();
    lengths.sort_unstable_by(|first, second| second.cmp(first));
    lengths.dedup();
    let place = |way: &usize| lengths.iter().position(|one| one == way).expect("it is one of them") as u32;
    ways.iter().map(|way| place(way).min(levels - 1)).collect()
}
