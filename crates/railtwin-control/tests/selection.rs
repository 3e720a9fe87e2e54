//! Paths that are chosen anew only where something has changed, against all of them chosen and all loads summed anew.
use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use railtwin_control::crux::burdens::Burdens;
use railtwin_control::crux::demand::{Demand, JobDemand};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::crux::selection::Selection;
use railtwin_control::crux::tenants::{Candidate, Paths, SharedLink, Tenant, Tenants, Transfer};
use railtwin_units::{Bytes, Rate, SimTime};

const LINKS: u32 = 10;

/// The links that a job would cross by each candidate of each of its transfers, and their bytes.
type Places = Vec<(u64, Vec<Vec<u32>>)>;

fn fabric() -> Tenants {
    let link = |number: u32| SharedLink::new("", Rate::from_gbps([100, 200, 400][number as usize % 3]));
    Tenants { links: (0..LINKS).map(link).collect(), jobs: Vec::new() }
}

/// A job by the ways of `places` that no link of `down` is on; all of a transfer where none is left.
fn job(places: &Places, down: &[u32]) -> Tenant {
    let transfer = |(bytes, ways): &(u64, Vec<Vec<u32>>)| {
        let is_up = |way: &&Vec<u32>| !way.iter().any(|link| down.contains(link));
        let up: Vec<&Vec<u32>> = ways.iter().filter(is_up).collect();
        let left = if up.is_empty() { ways.iter().collect() } else { up };
        let candidate = |links: &Vec<u32>| Candidate { links: links.clone(), source_port: None };
        Transfer { bytes: Bytes(*bytes), candidates: left.into_iter().map(candidate).collect() }
    };
    let gpus = places.len() as u32 * 3 + places[0].0 as u32 % 7 + 1;
    Tenant {
        transfers: places.iter().map(transfer).collect(),
        ..Tenant::new("", gpus, SimTime::from_ps(7_000_000_000), 0.5)
    }
}

/// Links of its longest candidate.
fn longest(job: &Tenant) -> usize {
    let candidates = job.transfers.iter().flat_map(|transfer| &transfer.candidates);
    candidates.map(|candidate| candidate.links.len()).max().unwrap_or_default()
}

/// Every candidate's loads summed at every choice.
fn anew(tenants: &Tenants, hashed: &Paths, policy: SharingPolicy) -> Paths {
    let demand = Demand::of(tenants, hashed);
    let mut order: Vec<usize> = (0..tenants.jobs.len()).collect();
    match policy {
        SharingPolicy::Taccl => order.sort_by_key(|&job| std::cmp::Reverse(longest(&tenants.jobs[job]))),
        _ => order
            .sort_by(|&one, &other| demand.jobs[other].intensity().total_cmp(&demand.jobs[one].intensity())),
    }
    let mut paths = tenants.first_paths();
    let mut used = vec![0.0f64; tenants.links.len()];
    for job in order {
        let (transfers, step) = (&tenants.jobs[job].transfers, demand.jobs[job].step_alone());
        let mut largest_first: Vec<usize> = (0..transfers.len()).collect();
        largest_first.sort_by_key(|&transfer| std::cmp::Reverse(transfers[transfer].bytes));
        for transfer in largest_first {
            let mut best: Option<((f64, f64), BTreeMap<u32, f64>)> = None;
            for (number, candidate) in (0..).zip(&transfers[transfer].candidates) {
                let mut loads: BTreeMap<u32, f64> = BTreeMap::new();
                for &link in candidate.links.iter().filter(|_| transfers[transfer].bytes.0 > 0) {
                    let capacity = tenants.links[link as usize].capacity.bytes_per_s();
                    *loads.entry(link).or_insert(0.0) += transfers[transfer].bytes.0 as f64 / capacity;
                }
                let after = loads.iter().map(|(&link, seconds)| used[link as usize] + seconds / step);
                let burden = after.fold((0.0f64, 0.0), |(most, sum), after| (most.max(after), sum + after));
                if best.as_ref().is_none_or(|best| burden < best.0) {
                    (best, paths[job][transfer]) = (Some((burden, loads)), number);
                }
            }
            let loads = best.expect("there is a candidate").1;
            loads.iter().for_each(|(&link, seconds)| used[link as usize] += seconds / step);
        }
    }
    paths
}

/// Jobs that are there, by the numbers that they were given.
struct Fleet {
    tenants: Tenants,
    down: Vec<u32>,
    jobs: BTreeMap<u32, (Places, Tenant, Arc<Burdens>)>,
    selections: [(SharingPolicy, Selection); 3],
}

#[derive(Clone, Debug)]
enum Event {
    /// A job comes under that number; who has it leaves, or moves.
    Comes(u32, Places),
    Leaves(u32),
    /// A link fails, or returns.
    Turns(u32),
}

impl Fleet {
    fn new() -> Self {
        let policies = [SharingPolicy::Crux, SharingPolicy::CruxPsPa, SharingPolicy::Taccl];
        let selections = policies.map(|policy| (policy, Selection::default()));
        Self { tenants: fabric(), down: Vec::new(), jobs: BTreeMap::new(), selections }
    }

    fn profiled(&self, job: &Tenant) -> JobDemand {
        JobDemand::of(&self.tenants, job, &vec![0; job.transfers.len()])
    }

    fn come(&mut self, number: u32, places: Places) {
        let job = job(&places, &self.down);
        let burdens = Arc::new(Burdens::of(&self.tenants, &job, &self.profiled(&job)));
        self.jobs.insert(number, (places, job, burdens));
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Comes(number, places) => self.come(number, places),
            Event::Leaves(number) => {
                self.jobs.remove(&number);
            }
            Event::Turns(link) => {
                let before = self.down.len();
                self.down.retain(|&one| one != link);
                if self.down.len() == before {
                    self.down.push(link);
                }
                // Who has no other ways than before stays as it is.
                let jobs: Vec<(u32, Places)> =
                    self.jobs.iter().map(|(&number, of)| (number, of.0.clone())).collect();
                for (number, places) in jobs {
                    if job(&places, &self.down) != self.jobs[&number].1 {
                        self.come(number, places);
                    }
                }
            }
        }
    }

    /// What was chosen since the last time and what is chosen anew, and what jobs ask by it, to the last bit.
    fn check(&mut self) -> Result<(), TestCaseError> {
        let mut tenants = self.tenants.clone();
        tenants.jobs = self.jobs.values().map(|job| job.1.clone()).collect();
        let burdens: Vec<Arc<Burdens>> = self.jobs.values().map(|job| Arc::clone(&job.2)).collect();
        let hashed = tenants.first_paths();
        for (policy, selection) in &mut self.selections {
            let since = policy.paths_since(selection, &burdens, LINKS as usize);
            let anew = anew(&tenants, &hashed, *policy);
            prop_assert_eq!(since.as_ref(), Some(&anew), "{}", policy);
            prop_assert_eq!(&policy.paths(&tenants, &hashed), &anew, "{}", policy);
            for ((burdens, job), chosen) in burdens.iter().zip(&tenants.jobs).zip(&anew) {
                prop_assert_eq!(burdens.demand(&tenants, chosen), JobDemand::of(&tenants, job, chosen));
            }
        }
        Ok(())
    }
}

fn places() -> impl Strategy<Value = Places> {
    let way = prop::collection::vec(0..LINKS, 1..4);
    let bytes = prop_oneof![1 => Just(0u64), 9 => 1_000_000u64..200_000_000];
    prop::collection::vec((bytes, prop::collection::vec(way, 1..5)), 1..5)
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0u32..8, places()).prop_map(|(number, places)| Event::Comes(number, places)),
        1 => (0u32..8).prop_map(Event::Leaves),
        1 => (0..LINKS).prop_map(Event::Turns),
    ]
}

proptest! {
    #[test]
    fn what_is_kept_is_what_would_be_chosen_anew(events in prop::collection::vec(event(), 1..24)) {
        let mut fleet = Fleet::new();
        for event in events {
            fleet.happens(event);
            fleet.check()?;
        }
    }
}

/// A job by one of two ways of one link each.
fn by_either(first: u32, second: u32) -> Places {
    vec![(100_000_000, vec![vec![first], vec![second]])]
}

fn chosen(fleet: &mut Fleet) -> Paths {
    fleet.check().expect("as anew");
    let burdens: Vec<Arc<Burdens>> = fleet.jobs.values().map(|job| Arc::clone(&job.2)).collect();
    SharingPolicy::Crux.paths_since(&mut fleet.selections[0].1, &burdens, LINKS as usize).expect("it chooses")
}

#[test]
fn who_moves_leaves_its_links_to_others() {
    let mut fleet = Fleet::new();
    fleet.come(0, by_either(0, 3));
    fleet.come(1, by_either(0, 3));
    assert_eq!(chosen(&mut fleet), [[0], [1]]);
    // The first is on other hosts now: the second finds its first way free.
    fleet.come(0, by_either(6, 9));
    assert_eq!(chosen(&mut fleet), [[0], [0]]);
    fleet.come(0, by_either(0, 3));
    assert_eq!(chosen(&mut fleet), [[0], [1]]);
}

#[test]
fn a_link_that_fails_pushes_aside_and_gives_back_as_it_returns() {
    let mut fleet = Fleet::new();
    fleet.come(0, by_either(0, 3));
    fleet.come(1, by_either(3, 6));
    assert_eq!(chosen(&mut fleet), [[0], [0]]);
    // The first has its second way alone, which takes the second's; its only candidate is that.
    fleet.happens(Event::Turns(0));
    assert_eq!(chosen(&mut fleet), [[0], [1]]);
    fleet.happens(Event::Turns(0));
    assert_eq!(chosen(&mut fleet), [[0], [0]]);
}

#[test]
fn who_has_the_number_of_one_that_left_chooses_for_itself() {
    let mut fleet = Fleet::new();
    fleet.come(0, by_either(0, 3));
    fleet.come(1, by_either(3, 0));
    assert_eq!(chosen(&mut fleet), [[0], [0]]);
    fleet.happens(Event::Leaves(0));
    assert_eq!(chosen(&mut fleet), [[0]]);
    fleet.come(0, by_either(3, 0));
    assert_eq!(chosen(&mut fleet), [[0], [1]]);
    // The same again, another job: what it asks is the same, and so is what comes of it.
    fleet.happens(Event::Leaves(0));
    fleet.come(0, by_either(3, 0));
    assert_eq!(chosen(&mut fleet), [[0], [1]]);
}

#[test]
fn who_is_pushed_aside_leaves_its_links_to_those_behind_it() {
    let mut fleet = Fleet::new();
    fleet.come(1, vec![(100_000_000, vec![vec![0, 1], vec![3, 4]])]);
    fleet.come(2, by_either(0, 6));
    assert_eq!(chosen(&mut fleet), [[0], [1]]);
    // Who comes crosses no link of the last one, which finds its first way free all the same.
    fleet.come(0, vec![(100_000_000, vec![vec![1]])]);
    assert_eq!(chosen(&mut fleet), [[0], [1], [0]]);
}
