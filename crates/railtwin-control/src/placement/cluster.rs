//! GPUs for jobs that come and go.
use railtwin_fabric::{Fabric, HostId};
use railtwin_units::stream;

use super::ground::Ground;
use super::order::{ordered, shuffled, whole_in_pods};
use super::phases::Phases;
use super::{Place, PlacementPolicy};

/// The map of free GPUs of a cluster, from which jobs take and to which they give back.
///
/// A job takes whole hosts that are free, and for what is no whole host a part of one: of the hosts that hold it the one
/// with the fewest free GPUs, so that hosts which are partly used come first. A job is placed as a whole or not at all.
/// A placement looks at each host a few times.
///
/// ```
/// use railtwin_control::{ClusterPlacer, PlacementPolicy};
/// use railtwin_fabric::preset::Hpn;
///
/// let fabric = Hpn { segments: Some(2), hosts: Some(2), spare_hosts: Some(0), ..Hpn::default() }.build()?;
/// let mut cluster = ClusterPlacer::new(&fabric, 1);
/// let small = cluster.place(0, 3, &PlacementPolicy::SegmentFirst).unwrap();
/// let large = cluster.place(1, 16, &PlacementPolicy::SegmentFirst).unwrap();
/// assert_eq!(cluster.segments_of(&large), 1);
/// cluster.release(&small);
/// assert_eq!(cluster.free_gpus(), 16);
/// # Ok::<(), railtwin_fabric::FabricError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClusterPlacer {
    pub(super) ground: Ground,
    /// Row in `busy` of the first GPU of each host, and their number at the end.
    first: Vec<usize>,
    busy: Vec<bool>,
    /// By GPU the phases of the job that has it; those of nobody mean nothing.
    phases: Vec<Phases>,
    /// GPUs of each host that are free.
    free: Vec<u32>,
    state: Vec<State>,
    free_gpus: u32,
    seed: u64,
}

/// Whether jobs are placed on a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// They are.
    Open,
    /// They are not: it was taken out.
    Closed,
    /// They are not: it waits for a host to be lost.
    Spare,
}

/// What stands before what when a part of a host is chosen: how far, free GPUs, by the policy, id.
type Fit = (u32, u32, u32, HostId);

impl ClusterPlacer {
    /// All active hosts open and free; backup hosts are spares.
    pub fn new(fabric: &Fabric, seed: u64) -> Self {
        let ground = Ground::of(fabric);
        let mut first = vec![0];
        first.extend(ground.gpus.iter().scan(0, |sum, &gpus| {
            *sum += gpus as usize;
            Some(*sum)
        }));
        let open = ground.gpus.iter().zip(&ground.spare).filter(|(_, spare)| !**spare);
        Self {
            free_gpus: open.map(|(gpus, _)| gpus).sum(),
            state: ground.spare.iter().map(|&spare| if spare { State::Spare } else { State::Open }).collect(),
            busy: vec![false; first[ground.gpus.len()]],
            phases: vec![(0.0, 0.0); first[ground.gpus.len()]],
            free: ground.gpus.clone(),
            first,
            ground,
            seed,
        }
    }

    /// Free GPUs of hosts that are open.
    pub fn free_gpus(&self) -> u32 {
        self.free_gpus
    }

    /// Free GPUs of a host; 0 where it is not open.
    pub fn free_on(&self, host: HostId) -> u32 {
        if self.state[host.index()] == State::Open { self.free[host.index()] } else { 0 }
    }

    /// Segments that places are in.
    pub fn segments_of(&self, places: &[Place]) -> usize {
        let mut segments: Vec<u32> = places.iter().map(|place| self.ground.segment(place.host)).collect();
        segments.sort_unstable();
        segments.dedup();
        segments.len()
    }

    /// Takes GPUs for a job, in the order of its ranks; none where it does not fit now. Lots are drawn by the seed and
    /// the job's number.
    pub fn place(&mut self, job: u64, gpus: u32, policy: &PlacementPolicy) -> Option<Vec<Place>> {
        self.place_phased(job, gpus, policy, (0.0, 0.0))
    }

    /// The same for a job of which is known for how long a step computes and communicates.
    pub fn place_phased(
        &mut self,
        job: u64,
        gpus: u32,
        policy: &PlacementPolicy,
        phases: Phases,
    ) -> Option<Vec<Place>> {
        let places = self.find(job, gpus, policy, phases)?;
        self.note(&places, phases);
        Some(places)
    }

    /// Writes down for how long the job that has these GPUs computes and communicates in a step.
    fn note(&mut self, places: &[Place], phases: Phases) {
        for place in places {
            self.phases[self.first[place.host.index()] + place.gpu as usize] = phases;
        }
    }

    fn find(&mut self, job: u64, gpus: u32, policy: &PlacementPolicy, phases: Phases) -> Option<Vec<Place>> {
        if gpus > self.free_gpus {
            return None;
        }
        let hosts = || (0..self.free.len()).map(HostId::from_index);
        let whole: Vec<HostId> =
            hosts().filter(|&host| self.free_on(host) == self.ground.gpus[host.index()]).collect();
        let lot = || stream::named(self.seed, &format!("placement/{job}"));
        let mut taken: Vec<(HostId, u32)> = Vec::new();
        let mut rest = gpus;
        let order = match policy {
            PlacementPolicy::Interleaved => self.by_efficiency(whole, gpus, phases),
            PlacementPolicy::WholeInPods(unit) => self.stages_whole(whole, gpus, *unit),
            _ => ordered(&self.ground, whole, gpus, policy, lot),
        };
        for host in order {
            let size = self.ground.gpus[host.index()];
            if rest < size {
                break;
            }
            taken.push((host, size));
            rest -= size;
        }
        if rest > 0 && *policy == PlacementPolicy::Cells {
            let (host, cell) = self.cell(rest, &taken)?;
            let mut places: Vec<Place> =
                taken.into_iter().flat_map(|(host, gpus)| self.take(host, gpus)).collect();
            places.extend(self.take_among(host, rest, cell));
            return Some(places);
        }
        if rest > 0 && *policy == PlacementPolicy::Interleaved {
            let host = self.most_efficient(rest, &taken, phases)?;
            taken.push((host, rest));
        } else if rest > 0 {
            taken.push((self.part(rest, policy, &taken, lot)?, rest));
        }
        Some(taken.into_iter().flat_map(|(host, gpus)| self.take(host, gpus)).collect())
    }

    /// Free hosts for units of so many GPUs that no pod boundary cuts, with one for what is no whole host; without that one
    /// where there is none.
    fn stages_whole(&self, whole: Vec<HostId>, gpus: u32, unit: u32) -> Vec<HostId> {
        let order = |gpus| whole_in_pods(&self.ground, whole.clone(), gpus, unit);
        let size = self.ground.gpus.iter().copied().max().unwrap_or(1).max(1);
        let (all, hosts) = (order(gpus), gpus / size * size);
        if all.is_empty() && hosts < gpus { order(hosts) } else { all }
    }

    /// The host on which `gpus` fit best, beside what the job has.
    fn part(
        &self,
        gpus: u32,
        policy: &PlacementPolicy,
        taken: &[(HostId, u32)],
        lot: impl FnOnce() -> stream::Stream,
    ) -> Option<HostId> {
        let mut fits: Vec<HostId> =
            (0..self.free.len()).map(HostId::from_index).filter(|&host| self.free_on(host) >= gpus).collect();
        fits.retain(|host| !taken.iter().any(|(other, _)| other == host));
        if let (PlacementPolicy::WholeInPods(unit), Some((last, _))) = (policy, taken.last()) {
            // The rest of a unit stays in its pod.
            let held: u32 = taken.iter().map(|(_, gpus)| gpus).sum();
            let is_begun = !held.is_multiple_of((*unit).max(1));
            fits.retain(|host| !is_begun || self.ground.pod(*host) == self.ground.pod(*last));
        }
        let mut in_segment = vec![0_u32; self.ground.pod_of.len()];
        for host in 0..self.free.len() {
            in_segment[self.ground.segment[host] as usize] += self.free_on(HostId::from_index(host));
        }
        let free_around = |host: HostId| in_segment[self.ground.segment(host) as usize];
        let beside = |host: HostId| {
            taken.iter().map(|(own, _)| self.ground.distance(host, *own)).min().unwrap_or_default()
        };
        let free = |host: HostId| self.free[host.index()];
        let best = |fit: &dyn Fn(HostId) -> Fit| fits.iter().copied().min_by_key(|&host| fit(host));
        match policy {
            PlacementPolicy::Packed => best(&|host| (0, free(host), 0, host)),
            PlacementPolicy::Spread => best(&|host| (0, free(host), u32::MAX - free_around(host), host)),
            PlacementPolicy::SegmentFirst
            | PlacementPolicy::WholeInPods(_)
            | PlacementPolicy::Cells
            | PlacementPolicy::Interleaved => {
                best(&|host| (beside(host), free(host), free_around(host), host))
            }
            PlacementPolicy::Near(anchors) => {
                best(&|host| (self.ground.distance_to_any(host, anchors), free(host), 0, host))
            }
            // The first of the least: lots decide among equals.
            PlacementPolicy::Random => shuffled(fits, &mut lot()).into_iter().min_by_key(|&host| free(host)),
            PlacementPolicy::Hosts(hosts) => {
                hosts.iter().map(|&host| HostId(host)).find(|host| fits.binary_search(host).is_ok())
            }
        }
    }

    /// Takes the first free GPUs of a host.
    fn take(&mut self, host: HostId, gpus: u32) -> Vec<Place> {
        self.take_among(host, gpus, 0..self.ground.gpus[host.index()])
    }

    /// Takes the first free GPUs among some of a host.
    fn take_among(&mut self, host: HostId, gpus: u32, among: std::ops::Range<u32>) -> Vec<Place> {
        let (first, row) = (self.first[host.index()], host.index());
        let free = among.filter(|&gpu| !self.busy[first + gpu as usize]);
        let taken: Vec<u32> = free.take(gpus as usize).collect();
        taken.iter().for_each(|&gpu| self.busy[first + gpu as usize] = true);
        self.free[row] -= gpus;
        self.free_gpus -= gpus;
        taken.into_iter().map(|gpu| Place { host, gpu }).collect()
    }

    /// Takes these GPUs for a job of such phases where all of them are free on hosts that are open; says whether they
    /// were.
    pub fn take_these(&mut self, places: &[Place], phases: Phases) -> bool {
        let is_free = |place: &Place| {
            let row = place.host.index();
            self.state.get(row) == Some(&State::Open)
                && place.gpu < self.ground.gpus[row]
                && !self.busy[self.first[row] + place.gpu as usize]
        };
        let are_free = places.iter().all(is_free);
        if are_free {
            self.occupy(places, phases);
        }
        are_free
    }

    /// Takes the first free GPUs of a host for a job of such phases.
    ///
    /// # Panics
    /// Where it is not open, or fewer are free.
    pub fn take_of(&mut self, host: HostId, gpus: u32, phases: Phases) -> Vec<Place> {
        assert!(self.free_on(host) >= gpus, "{host:?} has fewer than {gpus} free GPUs");
        let places = self.take(host, gpus);
        self.note(&places, phases);
        places
    }

    /// Whether a GPU is free, counted in its host.
    pub(super) fn is_free(&self, host: HostId, gpu: u32) -> bool {
        self.free_on(host) > 0 && !self.busy[self.first[host.index()] + gpu as usize]
    }

    /// Phases of the jobs that have GPUs of a host, once for each GPU.
    pub(super) fn phases_on(&self, host: HostId) -> impl Iterator<Item = Phases> + '_ {
        let rows = self.first[host.index()]..self.first[host.index() + 1];
        rows.filter(|&row| self.busy[row]).map(|row| self.phases[row])
    }

    /// Takes these GPUs, as those to which a job of such phases moves.
    ///
    /// # Panics
    /// Where one of them is not free.
    pub fn occupy(&mut self, places: &[Place], phases: Phases) {
        self.note(places, phases);
        for place in places {
            let row = place.host.index();
            let busy = &mut self.busy[self.first[row] + place.gpu as usize];
            assert!(!std::mem::replace(busy, true), "{place:?} is taken");
            self.free[row] -= 1;
            self.free_gpus -= u32::from(self.state[row] == State::Open);
        }
    }

    /// Gives GPUs of a job back.
    ///
    /// # Panics
    /// Where one of them is free already.
    pub fn release(&mut self, places: &[Place]) {
        for place in places {
            let row = place.host.index();
            let busy = &mut self.busy[self.first[row] + place.gpu as usize];
            assert!(std::mem::take(busy), "{place:?} is free");
            self.free[row] += 1;
            self.free_gpus += u32::from(self.state[row] == State::Open);
        }
    }

    /// Closes a host: nothing is placed on it until it is opened. Jobs keep what they have of it.
    pub fn close(&mut self, host: HostId) {
        self.enter(host, State::Closed);
    }

    /// Opens a host, also one that was a spare.
    pub fn open(&mut self, host: HostId) {
        self.enter(host, State::Open);
    }

    /// Makes a host a spare, such as one that comes back from repair; jobs that run on it keep what they have.
    pub fn keep(&mut self, host: HostId) {
        self.enter(host, State::Spare);
    }

    /// Spares on which nothing runs.
    pub fn spares(&self) -> impl Iterator<Item = HostId> {
        let is_spare =
            |&row: &usize| self.state[row] == State::Spare && self.free[row] == self.ground.gpus[row];
        (0..self.free.len()).filter(is_spare).map(HostId::from_index)
    }

    fn enter(&mut self, host: HostId, state: State) {
        self.free_gpus -= self.free_on(host);
        self.state[host.index()] = state;
        self.free_gpus += self.free_on(host);
    }

    /// Puts a spare of the same segment in the place of a host that is lost (HPN section 5.1): it has the same GPUs taken
    /// and is as open as the lost host was, which is closed and empty. None, and nothing done, where the segment has no
    /// spare. [`substituted`](super::substituted) says the same of a job's places.
    pub fn substitute(&mut self, lost: HostId) -> Option<HostId> {
        let fits = |&spare: &HostId| {
            spare != lost
                && self.ground.segment(spare) == self.ground.segment(lost)
                && self.ground.gpus[spare.index()] == self.ground.gpus[lost.index()]
        };
        let spare = self.spares().find(fits)?;
        let state = self.state[lost.index()];
        self.close(lost);
        for gpu in 0..self.ground.gpus[lost.index()] as usize {
            let (from, to) = (self.first[lost.index()] + gpu, self.first[spare.index()] + gpu);
            self.busy.swap(from, to);
        }
        self.free.swap(lost.index(), spare.index());
        self.enter(spare, state);
        Some(spare)
    }
}
